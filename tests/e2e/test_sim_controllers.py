"""What the simulator's controllers decide."""

from __future__ import annotations

from typing import Any

from simulator import jobs, jobsets
from simulator.expansion import jobs as made_of

Json = dict[str, Any]


def jobset(*replicated: Json, **spec: Any) -> Json:
    template = {"spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}}
    template["spec"]["template"] = {"spec": {"containers": []}}
    every = [{"template": template, "replicas": 1, **each} for each in replicated]
    return {"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": {"replicatedJobs": every, **spec}}


def job(found: Json, name: str, over: str = "", **status: Any) -> Json:
    """Return the Job of a replicated job, as it stands."""
    (made,) = [job for each in found["spec"]["replicatedJobs"] if each["name"] == name for job in made_of(found, each)]
    reason = status.pop("reason", "BackoffLimitExceeded")
    conditions = [{"type": over, "status": "True", "reason": reason, "message": "m", "lastTransitionTime": "t"}]
    return {**made, "status": {**status, "conditions": conditions if over else []}}


def names(plan: jobsets.Plan) -> list[str]:
    return [each["metadata"]["name"] for each in plan.create if each["kind"] == "Job"]


def test_restarts() -> None:
    found = jobset({"name": "a"}, failurePolicy={"maxRestarts": 1})
    failed = job(found, "a", "Failed")
    plan = jobsets.plan(found, [failed])
    assert plan.status["restarts"] == 1
    found = {**found, "status": plan.status}
    again = jobsets.plan(found, [failed])
    assert (again.delete, names(again)) == (["j-a-0"], [])
    (made,) = [each for each in jobsets.plan(found, []).create if each["kind"] == "Job"]
    assert made["metadata"]["labels"]["jobset.sigs.k8s.io/restart-attempt"] == "1"
    last = jobsets.plan(found, [job(found, "a", "Failed")])
    ended = jobsets.ended({"status": last.status})
    assert ended is not None
    assert ended["reason"] == "ReachedMaxRestarts"


def simple(**spec: Any) -> Json:
    template = {"spec": {"restartPolicy": "Never"}}
    return {"metadata": {"name": "x", "namespace": "n"}, "spec": {"template": template, **spec}}


def a_pod(phase: str, index: int | None = None, code: int = 0, **more: Any) -> Json:
    metadata: Json = {"name": f"{phase}-{index}", "namespace": "n"}
    if index is not None:
        metadata["annotations"] = {"batch.kubernetes.io/job-completion-index": str(index)}
    containers = [{"name": "c", "state": {"terminated": {"exitCode": code}}}]
    conditions = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
    return {
        "metadata": metadata,
        "status": {"phase": phase, "containerStatuses": containers, "conditions": conditions, **more},
    }


def ends(plan: jobs.Plan) -> tuple[str, str] | None:
    over = jobsets.job_ended({"status": plan.status})
    return None if over is None else (over["type"], over["reason"])


def test_as_many_as_fit() -> None:
    found = simple(completionMode="Indexed", parallelism=2, completions=3)
    assert jobs.plan(found, [], 0, 0).create == [0, 1]
    plan = jobs.plan(found, [a_pod("Succeeded", 0), a_pod("Running", 1)], 0, 0)
    assert plan.create == [2]
    assert (plan.status["ready"], plan.status["succeeded"], plan.status["active"]) == (1, 1, 2)


def test_failed_pods_are_replaced_after_a_while() -> None:
    found = simple(backoffLimit=2)
    assert jobs.plan(found, [a_pod("Failed")], 0, 0.0).create == []
    assert jobs.plan(found, [a_pod("Failed")], 0, 10.0).create == [None]
    assert ends(jobs.plan(found, [a_pod("Failed")] * 2, 0, 10.0)) is None
    assert ends(jobs.plan(found, [a_pod("Failed")] * 3, 0, 10.0)) == ("Failed", "BackoffLimitExceeded")


def test_a_failed_job_ends_after_its_pods() -> None:
    found = simple(completionMode="Indexed", parallelism=2, completions=2, backoffLimit=0)
    plan = jobs.plan(found, [a_pod("Failed", 0), a_pod("Running", 1)], 0, 10.0)
    assert (plan.delete, ends(plan)) == (["Running-1"], None)
    leaving = a_pod("Running", 1)
    leaving["metadata"]["deletionTimestamp"] = "t"
    assert ends(jobs.plan(found, [a_pod("Failed", 0), leaving], 0, 10.0)) is None
    assert ends(jobs.plan(found, [a_pod("Failed", 0)], 0, 10.0)) == ("Failed", "BackoffLimitExceeded")


def test_deadline() -> None:
    found = simple(activeDeadlineSeconds=5)
    assert jobs.plan(found, [a_pod("Running")], 4.9, 0).delete == []
    assert jobs.plan(found, [a_pod("Running")], 5.0, 0).delete == ["Running-None"]
    assert ends(jobs.plan(found, [], 5.0, 0)) == ("Failed", "DeadlineExceeded")


def test_restarts_of_containers_count() -> None:
    found = simple(backoffLimit=2)
    found["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"

    def running(restarts: int) -> list[Json]:
        return [a_pod("Running", containerStatuses=[{"name": "c", "restartCount": restarts}])]

    assert jobs.plan(found, running(1), 0, 0).delete == []
    assert jobs.plan(found, running(2), 0, 0).delete == ["Running-None"]
