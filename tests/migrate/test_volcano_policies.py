"""What becomes of the policies of Volcano Jobs, where the operator is asked about pods only."""

from __future__ import annotations

from typing import Any

import pytest

from trainc import Source
from trainc.basics.jsonvalues import get, objects
from trainc.documents.load import load
from trainc.migrate import Imported, import_documents

_JOB = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {{name: a}}
spec:
  policies: [{policies}]
  tasks:
  - name: main
    replicas: 1
    policies: [{of_task}]
    template: {{spec: {{restartPolicy: {restarts}, containers: [{{name: c, image: "r/a:1"}}]}}}}
  - name: other
    replicas: 1
    template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: "r/a:1"}}]}}}}
"""


def imported(policies: str, of_task: str = "", restarts: str = "Never") -> Imported:
    return import_documents([Source("old.yaml", _JOB.format(policies=policies, of_task=of_task, restarts=restarts))])


def rules(policies: str, of_task: str = "", restarts: str = "Never") -> tuple[Any, ...]:
    """Return the rules of the JobSet by name, None without a failurePolicy, and those of each Job by action."""
    file = next(file for file in imported(policies, of_task, restarts).files if file.path.startswith("runtimes/"))
    spec = get(load(Source(file.path, file.text))[0][0].data, "spec", "template", "spec")
    jobs = (get(job, "template", "spec", "podFailurePolicy", "rules") for job in objects(get(spec, "replicatedJobs")))
    failure = get(spec, "failurePolicy")
    of_jobset = None if failure is None else [rule["name"] for rule in objects(get(failure, "rules"))]
    return of_jobset, *([rule["action"] for rule in objects(job)] for job in jobs)


@pytest.mark.parametrize(
    ("policy", "restarts", "expected"),
    [
        ("{event: PodFailed, action: RestartJob, timeout: 10m}", "Never", ([], ["Ignore"], ["Ignore"])),
        ('{event: "*", action: AbortJob}', "Never", (None, [], [])),
        ("{event: PodFailed, action: RestartJob}", "OnFailure", (["noRestart"], [], ["Ignore"])),
    ],
)
def test_policies_of_a_job_apply_to_all_of_its_tasks(policy: str, restarts: str, expected: Any) -> None:
    """Also where there is a finding about one, which appears once."""
    assert rules(policy, restarts=restarts) == expected
    found = [(each.path, each.message) for each in imported(policy, restarts=restarts).findings]
    assert len(found) == len(set(found))


_EVICTED = "{event: PodEvicted, action: %s}"


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        (_EVICTED % "RestartJob", (["exitCodes", "noRestart"], ["Count", "FailJob"])),
        (f"{_EVICTED % 'RestartJob'}, {{event: PodFailed, action: RestartJob}}", (["noRestart"], [])),
        (
            f"{_EVICTED % 'AbortJob'}, {{event: PodFailed, action: RestartJob}}",
            (["exitCodes", "noRestart"], ["FailJob"]),
        ),
        (f"{_EVICTED % 'AbortJob'}, {{event: PodFailed, action: RestartPod}}", (None, ["FailJob"])),
        (_EVICTED % "AbortJob", (None, [])),
        ("{exitCode: 3, action: AbortJob}, {event: PodFailed, action: RestartPod}", (None, ["Ignore", "FailJob"])),
        ("{event: TaskFailed, action: RestartJob}", (None, ["Ignore"])),
    ],
)
def test_evictions_and_exit_codes_have_their_own_action(policies: str, expected: Any) -> None:
    assert rules("", policies)[:2] == expected


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        (
            f"{_EVICTED % 'RestartJob'}, {{event: PodFailed, action: RestartPod}}",
            "a Job cannot restart the pod when it",
        ),
        ("{exitCode: 3, action: RestartJob}, {event: PodFailed, action: RestartPod}", "a Job cannot restart the pod"),
        (", ".join(f"{{exitCode: {code}, action: RestartJob}}" for code in range(1, 256)), "254 exit codes at most"),
        ('{event: "*", action: RestartJob}', "also means that a task completes"),
    ],
)
def test_policies_without_an_equal_are_reported(policies: str, message: str) -> None:
    assert any(message in each.message for each in imported("", policies).findings)
