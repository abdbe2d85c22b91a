"""What the Job controller does next, as a pure function of a Job and its pods.

Source: Kubernetes 1.34 pkg/controller/job (syncJob, manageJob). The wait before a failed pod is
replaced is 10 s, 20 s, ... there, and FIRST_WAIT, twice that, ... here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from .jobsets import job_ended
from .objects import Object, now
from .pods import index_of, indexed

FIRST_WAIT: Final = 0.2
LONGEST_WAIT: Final = 5.0


@dataclass
class Plan:
    """What to do: indexes of pods to make (None: a pod without), names of pods to delete, the new status."""

    status: Object
    create: list[int | None] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)


def plan(job: Object, pods: list[Object], active_for: float, since_failure: float) -> Plan:
    """Return what one synchronization does.

    Args:
        job: The Job.
        pods: All its pods that are there.
        active_for: How long it has been running, in seconds.
        since_failure: How long ago the last pod failed, in seconds.
    """
    old = job.get("status") or {}
    if job_ended(job) is not None:
        return Plan(old)
    active = [pod for pod in pods if _phase(pod) in ("Pending", "Running") and not _leaving(pod)]
    failures = [pod for pod in pods if _phase(pod) == "Failed"]
    succeeded = _succeeded(job, pods)
    status: Object = {
        "startTime": old.get("startTime", now()),
        "conditions": old.get("conditions", []),
        "failed": len(failures),
        "succeeded": succeeded,
        "ready": sum(map(_is_ready, active)),
        "active": len(active),
    }
    found = Plan(status)
    failure = _failure(job, pods, len(failures), active_for)
    if failure is not None:
        found.delete = [pod["metadata"]["name"] for pod in active]
        if not active and not any(_leaving(pod) and _phase(pod) in ("Pending", "Running") for pod in pods):
            _end(status, "Failed", *failure)
    elif _complete(job, succeeded, len(active)):
        _end(status, "Complete", "CompletionsReached", "Reached expected number of succeeded pods")
    else:
        _fill(job, pods, active, succeeded, found)
        if failures and since_failure < min(FIRST_WAIT * 2 ** (len(failures) - 1), LONGEST_WAIT):
            found.create = []
        status["active"] += len(found.create)
    return found


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", "Pending"))


def _leaving(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _succeeded(job: Object, pods: list[Object]) -> int:
    done = [pod for pod in pods if _phase(pod) == "Succeeded"]
    return len({index_of(pod) for pod in done}) if indexed(job) else len(done)


def _complete(job: Object, succeeded: int, active: int) -> bool:
    spec = job["spec"]
    wanted = spec.get("completions", spec.get("parallelism", 1) if indexed(job) else None)
    if wanted is None and "parallelism" not in spec:
        wanted = 1  # the server's default where both are unset
    if wanted is None:
        return succeeded > 0 and active == 0
    return succeeded >= wanted and active == 0


def _failure(job: Object, pods: list[Object], failed: int, active_for: float) -> tuple[str, str] | None:
    """Return reason and message where the Job is to fail."""
    spec = job["spec"]
    limit = int(spec.get("backoffLimit", 6))
    restarts = _restarts(job, pods)
    if failed > limit or (restarts > 0 and restarts >= limit):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and active_for >= deadline:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    return None


def _restarts(job: Object, pods: list[Object]) -> int:
    """Return how often containers were started anew, where that counts: restartPolicy OnFailure."""
    if job["spec"]["template"]["spec"].get("restartPolicy") != "OnFailure":
        return 0
    running = [pod.get("status") or {} for pod in pods if _phase(pod) in ("Pending", "Running")]
    return sum(int(each.get("restartCount", 0)) for status in running for each in _containers(status))


def _containers(status: Object) -> list[Any]:
    return [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]


def _fill(job: Object, pods: list[Object], active: list[Object], succeeded: int, found: Plan) -> None:
    """Say which pods are missing, or too many."""
    spec = job["spec"]
    parallel = int(spec.get("parallelism", 1))
    completions = spec.get("completions")
    if completions is None and "parallelism" not in spec:
        completions = 1
    if completions is None:
        wanted = len(active) if succeeded else parallel
    else:
        wanted = max(min(int(completions) - succeeded, parallel), 0)
    if len(active) > wanted:
        found.delete = [pod["metadata"]["name"] for pod in active[wanted:]]
        return
    room = wanted - len(active)
    if not indexed(job):
        found.create = [None] * max(room, 0)
        return
    taken = {index_of(pod) for pod in pods if pod in active or _phase(pod) == "Succeeded"}
    free = [index for index in range(int(completions if completions is not None else parallel)) if index not in taken]
    found.create = [*free[: max(room, 0)]]


def _end(status: Object, kind: str, reason: str, message: str) -> None:
    made = {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
    status["conditions"] = [*status["conditions"], made]
    status["active"] = status["ready"] = 0
