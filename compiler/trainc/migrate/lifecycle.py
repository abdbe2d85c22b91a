"""The policies of a Volcano Job (events and actions), as policies of JobSet and of its Jobs.

Facts: pkg/controllers/job of Volcano (applyPolicies, state/running.go, state/restarting.go), the Job API of Kubernetes
1.34 (podFailurePolicy, successPolicy) and the failure policy of JobSet v0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import JsonObject, Path, as_list, objects
from trainc.migrate.documents import INT32_MAX, Old
from trainc.migrate.trees import in_brackets, mapping, sequence

_MAX_RETRY: Final = 3
"""Volcano's default for maxRetry. The job fails when the count of restarts reaches it."""
_UNLIMITED: Final = INT32_MAX
"""A backoffLimit for containers that the kubelet restarts: Volcano does not limit those restarts."""

_RESTART, _RESTART_TASK, _RESTART_POD, _COMPLETE = "RestartJob", "RestartTask", "RestartPod", "CompleteJob"
_ENDS: Final = ("AbortJob", "TerminateJob")
_ANY: Final = "*"
_KNOWN: Final = ("PodFailed", "TaskFailed", "PodEvicted", "TaskCompleted", _ANY)
_MAX_EXIT_CODES: Final = 254
"""The most exit codes besides 0 in a rule of a podFailurePolicy."""


class Lifecycle(msgspec.Struct):
    """What a task does when its pods end; ``never`` is whether the kubelet leaves ended containers alone.

    ``codes`` has the action of an exit code; ``completes`` is whether the job completes with the task.
    """

    name: str
    never: bool
    failed: str | None = None
    evicted: str | None = None
    codes: dict[int, str] = msgspec.field(default_factory=dict)
    completes: bool = False

    @property
    def restarts(self) -> bool:
        """Whether something restarts the whole job."""
        return self.never and _RESTART in (self.failed, self.evicted, *self.codes.values())

    def follow(self, job: Lifecycle) -> None:
        """Add the policies of the job, which count where the task has none."""
        if self.failed is None:
            self.codes = {**job.codes, **self.codes}
        self.failed = self.failed or job.failed
        self.evicted = self.evicted or job.evicted
        self.completes |= job.completes

    def codes_that(self, *actions: str) -> list[int]:
        """Return the exit codes with one of the actions."""
        return sorted(code for code, action in self.codes.items() if action in actions)


def lifecycle_of(old: Old, path: Path, name: str, *, never: bool) -> Lifecycle:
    """Return what happens to a task by the policies below a path: its own, or those of the job."""
    found = Lifecycle(name, never)
    for index, policy in enumerate(objects(old.get(*path, "policies"))):
        _apply(old, (*path, "policies", index), policy, found)
    return found


def check_restarts(old: Old, path: Path, lifecycle: Lifecycle) -> None:
    """Report a task that restarts its pods and also the whole job, and one with too many exit codes."""
    if lifecycle.failed == _RESTART_POD and lifecycle.restarts:
        message = f"a Job cannot restart the pod when it fails ({_RESTART_POD}), and all jobs otherwise ({_RESTART})"
        old.refuse(path, message, "use one of the two actions")
    if len(lifecycle.codes) > _MAX_EXIT_CODES:
        old.refuse(path, f"a Job can have {_MAX_EXIT_CODES} exit codes at most, not {len(lifecycle.codes)}")
        lifecycle.codes.clear()


def _apply(old: Old, path: Path, policy: JsonObject, found: Lifecycle) -> None:
    """Take over one policy; earlier ones win."""
    action = str(policy.get("action") or "")
    events = [str(event) for event in (policy.get("event"), *as_list(policy.get("events"))) if event]
    if policy.get("timeout") is not None:
        old.warn((*path, "timeout"), f"JobSet acts at once: the delay of {policy['timeout']} is left out")
    code = policy.get("exitCode")
    if isinstance(code, int):
        if action not in (_RESTART, *_ENDS):
            old.refuse((*path, "action"), f"JobSet does not {action} for an exit code")
        elif found.failed is None:
            found.codes.setdefault(code, action)
        if not found.never:
            _report_kubelet(old, path)
    for event in events:
        if event not in _KNOWN:
            old.refuse(path, f"JobSet has no policy for event {event} (action {action})")
            return
    if action == _COMPLETE:
        found.completes |= "TaskCompleted" in events
        if set(events) - {"TaskCompleted"}:
            old.refuse((*path, "action"), "a JobSet completes when jobs succeed, not when pods fail")
    elif "TaskCompleted" in events:
        old.refuse((*path, "action"), f"JobSet does not {action} when a task completes")
    elif events:
        if _ANY in events and not found.completes:
            old.warn(path, f"event {_ANY} also means that a task completes: JobSet does not {action} then")
        _apply_failures(old, path, action, events, found)
    old.done(*path)


def _apply_failures(old: Old, path: Path, action: str, events: list[str], found: Lifecycle) -> None:
    if action not in (_RESTART, _RESTART_POD, *_ENDS):
        hint = f"use {_RESTART} or {_RESTART_POD}" if action in (_RESTART_TASK, "RestartPartition") else None
        old.refuse((*path, "action"), f"JobSet v0.12.0 does not {action}", hint)
        return
    if action == "AbortJob":
        old.note(
            (*path, "action"), "a failed JobSet cannot be resumed as an aborted Volcano Job can: run the job again"
        )
    if any(event in ("PodFailed", _ANY) for event in events):
        found.failed = found.failed or action
    elif found.never and "TaskFailed" in events:
        old.note(path, "TaskFailed never happens with restartPolicy Never: it counts how often containers restart")
    if any(event in ("PodEvicted", _ANY) for event in events):
        found.evicted = found.evicted or action
    if not found.never and action != _RESTART_POD:
        _report_kubelet(old, path)


def _report_kubelet(old: Old, path: Path) -> None:
    message = "containers with restartPolicy OnFailure restart in their pods, and a deleted pod is replaced alone"
    old.warn(path, message, "to restart the whole job, set restartPolicy: Never in the pod template")


def job_policies(old: Old, lifecycle: Lifecycle) -> CommentedMap:
    """Return the fields of a Job: what it does when its pods fail."""
    if not lifecycle.never:
        return mapping(backoffLimit=_UNLIMITED)
    limit = max_retry(old) - 1 if lifecycle.failed == _RESTART_POD else 0
    rules = [*_pod_rules(lifecycle)]
    return mapping(backoffLimit=limit, **({"podFailurePolicy": mapping(rules=sequence(*rules))} if rules else {}))


def _pod_rules(lifecycle: Lifecycle) -> Iterator[CommentedMap]:
    """Yield the rules for failed pods of a Job, of which the first that matches counts.

    FailJob ends the JobSet. What no rule matches counts for the backoffLimit, beyond which the JobSet restarts if
    anything restarts it. The containers of an evicted pod end with an exit code, too.
    """
    restarting, ending = lifecycle.codes_that(_RESTART), lifecycle.codes_that(*_ENDS)
    codes = None
    if lifecycle.failed in (_RESTART, _RESTART_POD):
        codes = _exit_codes("In", ending) if ending else None
    elif lifecycle.restarts:
        codes = _exit_codes("NotIn", [0, *restarting])
    if lifecycle.evicted in (None, _RESTART_POD):
        yield _eviction("Ignore")
    elif lifecycle.evicted in _ENDS and (lifecycle.restarts or lifecycle.failed == _RESTART_POD):
        yield _eviction("FailJob")
    elif codes is not None:
        yield _eviction("Count")
    if codes is not None:
        yield codes


def _eviction(action: str) -> CommentedMap:
    return mapping(action=action, onPodConditions=sequence(mapping(type="DisruptionTarget", status="True")))


def _exit_codes(operator: str, codes: list[int]) -> CommentedMap:
    return mapping(action="FailJob", onExitCodes=mapping(operator=operator, values=in_brackets(*codes)))


def max_retry(old: Old) -> int:
    """Return after how many failures the job fails."""
    return old.count("spec", "maxRetry") or _MAX_RETRY


def jobset_policies(old: Old, tasks: Sequence[Lifecycle]) -> dict[str, Any]:
    """Return successPolicy and failurePolicy of the JobSet. maxRetry 3 allows two restarts."""
    found: dict[str, Any] = {}
    old.done("spec", "maxRetry")  # it counts restarts, so without a policy that restarts it has no effect
    completing = [task.name for task in tasks if task.completes]
    if completing:
        targets = {} if len(completing) == len(tasks) else {"targetReplicatedJobs": sequence(*completing)}
        operator = "All" if len(completing) == 1 else "Any"
        if len(tasks) > 1:
            found["successPolicy"] = mapping(operator=operator, **targets)
    if any(task.restarts for task in tasks):
        rules = sequence(*_failure_rules(tasks))
        found["failurePolicy"] = mapping(maxRestarts=max_retry(old) - 1, **({"rules": rules} if rules else {}))
    return found


def _failure_rules(tasks: Sequence[Lifecycle]) -> Iterator[CommentedMap]:
    """Yield the rules for what does not restart the whole JobSet, which is the default."""
    if any(task.restarts and rule["action"] == "FailJob" for task in tasks for rule in _pod_rules(task)):
        reasons = sequence("PodFailurePolicy")
        yield mapping(name="exitCodes", action="FailJobSet", onJobFailureReasons=reasons)
    ending = [task.name for task in tasks if not task.restarts]
    if ending:
        yield mapping(name="noRestart", action="FailJobSet", targetReplicatedJobs=sequence(*ending))
