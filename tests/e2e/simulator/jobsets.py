"""What the JobSet controller does next, as a pure function of a JobSet and its Jobs.

Source: JobSet v0.12.0 pkg/controllers (jobset_controller.go, depends_on.go, success_policy.go, failure_policy.go) with
its feature gates as they are by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .expansion import REPLICATED_JOB, RESTARTS, claims, jobs, replicas, service
from .objects import Object, now


@dataclass
class Plan:
    """What to do: objects to make, names of Jobs to delete, the new status."""

    status: Object
    create: list[Object] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)


@dataclass
class _Children:
    active: list[Object] = field(default_factory=list)
    successful: list[Object] = field(default_factory=list)
    failed: list[Object] = field(default_factory=list)
    previous: list[Object] = field(default_factory=list)


def plan(jobset: Object, owned: list[Object]) -> Plan:
    """Return what one reconciliation does."""
    status = dict(jobset.get("status") or {"restarts": 0, "restartsCountTowardsMax": 0, "conditions": []})
    children = _sorted(owned, int(status["restarts"]))
    counts = {each["name"]: _counted(each["name"], children) for each in jobset["spec"]["replicatedJobs"]}
    status["replicatedJobsStatus"] = [{"name": name, **values} for name, values in counts.items()]
    found = Plan(status, delete=[job["metadata"]["name"] for job in children.previous])
    if ended(jobset) is not None:
        found.delete = [job["metadata"]["name"] for job in children.active]
    elif children.failed:
        _fail(jobset, children.failed, status)
    elif not (children.successful and _succeeded(jobset, children.successful, status)):
        _start(jobset, children, counts, found)
    return found


def ended(jobset: Object) -> Object | None:
    """Return the condition by which a JobSet is over, or None."""
    return _true((jobset.get("status") or {}).get("conditions") or [], ("Completed", "Failed"))


def job_ended(job: Object) -> Object | None:
    """Return the condition by which a Job is over, or None."""
    return _true((job.get("status") or {}).get("conditions") or [], ("Complete", "Failed"))


def _true(conditions: list[Any], types: tuple[str, ...]) -> Object | None:
    return next((each for each in conditions if each["type"] in types and each["status"] == "True"), None)


def _sorted(owned: list[Object], restarts: int) -> _Children:
    found = _Children()
    for job in owned:
        over = job_ended(job)
        if int(job["metadata"]["labels"][RESTARTS]) < restarts:
            found.previous.append(job)
        elif over is None:
            found.active.append(job)
        else:
            (found.successful if over["type"] == "Complete" else found.failed).append(job)
    return found


def _counted(name: str, children: _Children) -> dict[str, int]:
    def of(every: list[Object]) -> list[Object]:
        return [job for job in every if job["metadata"]["labels"][REPLICATED_JOB] == name]

    active = of(children.active)
    return {
        "ready": sum(map(_ready, active)),
        "succeeded": len(of(children.successful)),
        "failed": len(of(children.failed)),
        "active": sum((job.get("status") or {}).get("active", 0) > 0 for job in active),
        "suspended": 0,
    }


def _ready(job: Object) -> bool:
    spec, status = job["spec"], job.get("status") or {}
    pods = int(spec.get("parallelism", 1))
    if spec.get("completions") is not None:
        pods = min(pods, int(spec["completions"]))
    return int(status.get("succeeded", 0)) + int(status.get("ready", 0)) >= pods


def _start(jobset: Object, children: _Children, counts: dict[str, dict[str, int]], found: Plan) -> None:
    """Make the Jobs that may begin now."""
    replicated = jobset["spec"]["replicatedJobs"]
    headless = service(jobset)
    found.create = [*([headless] if headless else []), *claims(jobset)]
    there = {job["metadata"]["name"] for group in vars(children).values() for job in group}
    for each in replicated:
        if _may_start(each, replicated, counts):
            found.create += [job for job in jobs(jobset, each) if job["metadata"]["name"] not in there]


def _begun(count: dict[str, int]) -> int:
    return count["failed"] + count["ready"] + count["succeeded"]


def _may_start(replicated: Object, every: list[Any], counts: dict[str, dict[str, int]]) -> bool:
    """Say whether what a replicated job depends on has come so far."""
    wanted = {each["name"]: replicas(each) for each in every}
    for needed in replicated.get("dependsOn") or []:
        count = counts[needed["name"]]
        reached = count["succeeded"] if needed["status"] == "Complete" else _begun(count)
        if reached != wanted[needed["name"]]:
            return False
    return True


def _succeeded(jobset: Object, successful: list[Object], status: Object) -> bool:
    """Complete the JobSet where its success policy says so, and say whether it did."""
    policy = jobset["spec"].get("successPolicy") or {}
    targets = policy.get("targetReplicatedJobs") or [each["name"] for each in jobset["spec"]["replicatedJobs"]]
    matching = sum(job["metadata"]["labels"][REPLICATED_JOB] in targets for job in successful)
    every = sum(replicas(each) for each in jobset["spec"]["replicatedJobs"] if each["name"] in targets)
    if matching < every:
        return False
    _end(status, "Completed", "AllJobsCompleted", "jobset completed successfully")
    return True


def _fail(jobset: Object, failed: list[Object], status: Object) -> None:
    """Fail the JobSet or have it begin anew, as its failure policy says."""
    policy = jobset["spec"].get("failurePolicy")
    job = min(failed, key=lambda job: str((job_ended(job) or {}).get("lastTransitionTime", "")))
    first = f" (first failed job: {job['metadata']['name']})"
    if policy is None:
        _end(status, "Failed", "FailedJobs", f"jobset failed due to one or more job failures{first}")
    elif status["restartsCountTowardsMax"] >= policy.get("maxRestarts", 0):
        _end(status, "Failed", "ReachedMaxRestarts", f"jobset failed due to reaching max number of restarts{first}")
    else:
        status["restarts"] += 1
        status["restartsCountTowardsMax"] += 1


def _end(status: Object, kind: str, reason: str, message: str) -> None:
    made = {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
    status["conditions"] = [*(status.get("conditions") or []), made]
    status["terminalState"] = kind
