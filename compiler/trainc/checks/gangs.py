"""PodGroups that their scheduler does not enforce as meant.

Source: Volcano pkg/scheduler/cache/util.go, responsibleForPod: a pod of another scheduler is not Volcano's, whatever
its PodGroup. pkg/webhooks/admission/pods/mutate: only a resource group changes the scheduler of a pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.diagnostics import Diagnostic, report
from trainc.model import Model, Object
from trainc.origins import blamed
from trainc.plugins.podgroup import members
from trainc.source import JsonObject, Path, get, objects

SCHEDULER, RESOURCES = "TC831", "TC832"
POLICY: Final[Path] = ("spec", "podGroupPolicy")
TEMPLATE: Final[Path] = ("template", "spec", "template")
GROUP: Final = "volcano.sh/resource-group"
"""The annotation of pods by which Volcano's admission webhook chooses their scheduler."""

OTHERS: Final = ("volcano", "kai-scheduler", "yunikorn")
"""Schedulers that are known not to run the coscheduling plugin."""


def check_gangs(model: Model, jobset: Object) -> Iterator[Diagnostic]:
    """Yield warnings of pods that name another scheduler, and of a PodGroup without resources."""
    volcano, coscheduling = (model.pod_group(name) is not None for name in ("volcano", "coscheduling"))
    if not (volcano or coscheduling):
        return
    if volcano != coscheduling:
        for index, job in enumerate(objects(get(jobset.data, "spec", "replicatedJobs"))):
            path: Path = ("spec", "replicatedJobs", index, *TEMPLATE, "spec", "schedulerName")
            assigned = volcano and get(job, *TEMPLATE, "metadata", "annotations", GROUP)
            foreign = _is_foreign(get(jobset.data, *path), volcano=volcano)
            if foreign and not assigned and job.get("name") not in model.ungrouped:
                yield _foreign(model, jobset, job, path, volcano=volcano)
    count, resources = members(model)
    if count > 0 and not resources:
        message = "no container has requests, so minResources of the PodGroup is empty"
        yield report(RESOURCES, model.runtime, (*POLICY, "volcano" if volcano else "coscheduling"), message)


def _is_foreign(name: object, *, volcano: bool) -> bool:
    return "volcano" not in str(name or "") if volcano else name in OTHERS


def _foreign(model: Model, jobset: Object, job: JsonObject, path: Path, *, volcano: bool) -> Diagnostic:
    name = get(jobset.data, *path)
    kind = "volcano" if volcano else "coscheduling"
    document, where = (model.runtime, (*POLICY, kind)) if name is None else blamed(model, jobset, path)
    message = f"podGroupPolicy is for {kind}, but {_called(name)} places the pods of job {job.get('name')!r}"
    wanted = "volcano" if volcano else "scheduler-plugins-scheduler"
    hint = f"set schedulerName in the pod template: {wanted}, or the name that it has in your cluster"
    return report(SCHEDULER, document, where, message, found=None if name is None else str(name), hint=hint)


def _called(name: object) -> str:
    return "the default scheduler" if name is None else f"scheduler {name}"
