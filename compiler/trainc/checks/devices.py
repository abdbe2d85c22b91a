"""Devices of a node: those that Trainer does not count, and limits that the Kubeflow SDK cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, get, objects
from trainc.basics.regex import lazy
from trainc.checks.containers import TEMPLATE, containers
from trainc.findings import Finding, report
from trainc.inputs.source import Document
from trainc.plugins.base import gpu_count, node_resources, quantities
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import blamed
from trainc.plugins.podgroup import members
from trainc.plugins.torch import processes
from trainc.upstream import ANCESTOR_LABEL, FRAMEWORK_LABEL, NODE

COUNT, LISTED = "TC833", "TC838"
NODE_RESOURCES: Final[Path] = ("spec", "trainer", "resourcesPerNode")
UNCOUNTED: Final = lazy(
    r"google\.com/tpu|habana\.ai/gaudi|aws\.amazon\.com/neuron(?:core|device)?|nvidia\.com/mig-.+|huawei\.com/Ascend.+"
)
READ: Final = ("cpu", "nvidia.com/gpu", "google.com/tpu", "huawei.com/Ascend910")
"""What kubeflow 0.5's get_container_devices knows, beside MIG devices."""

MIG: Final = "nvidia.com/mig-"


def check_devices(model: Model) -> Iterator[Finding]:
    """Yield a warning where the processes of a node are not as many as its devices, and nobody has set them."""
    if model.num_proc_per_node is not None:
        return
    resources = node_resources(model)
    found = _uncounted(resources)
    if found is None or gpu_count(resources) != 0:
        return
    name, count = found
    started, variable = _started(model)
    if started is None or started == count:
        return
    s = "" if started == 1 else "es"
    message = f"{count} {name} on a node, but {started} process{s} ({variable}): Trainer does not count this resource"
    hint = f"set spec.trainer.numProcPerNode: {count}, or 1 where one process drives all devices"
    yield report(COUNT, *_place(model, name), message, found=name, hint=hint)


def _uncounted(resources: JsonObject) -> tuple[str, int] | None:
    """Return the device that Trainer does not count, and how many there are; None for none or several kinds."""
    amounts = {**quantities(resources, "limits"), **quantities(resources, "requests")}
    found = {name: amount.value() for name, amount in amounts.items() if UNCOUNTED.fullmatch(name)}
    counted = [(name, count) for name, count in found.items() if count > 0]
    return counted[0] if len(counted) == 1 else None


def _started(model: Model) -> tuple[int | None, str]:
    """Return how many processes are started on a node, and what says so; None where that is not Trainer's choice."""
    policy = model.policy("mpi")
    if policy is not None:
        return (1 if policy.get("numProcPerNode") == 1 else None), "slots in the hostfile"
    if model.policy("torch") is None or (container := model.trainer_container) is None:
        return None, ""
    words = [str(word) for word in model.trainer_list("command")] or list(container.command)
    if words and words[0].rpartition("/")[2].startswith("python") and not any("torch" in word for word in words[1:]):
        return None, ""  # which does not read torchrun's variables
    made = processes(model)
    return (made if isinstance(made, int) else None), "PET_NPROC_PER_NODE"


def _place(model: Model, name: str) -> tuple[Document, Path]:
    """Return where a resource is written: in the TrainJob, else in the runtime."""
    for kind in ("limits", "requests"):
        if get(model.job.data, *NODE_RESOURCES, kind, name) is not None:
            return model.job, (*NODE_RESOURCES, kind, name)
        for path, _, container in containers(model.runtime.data, TEMPLATE, ("containers",)):
            if container.get("name") == NODE and get(container, "resources", kind, name) is not None:
                return model.runtime, (*path, "resources", kind, name)
    return model.job, ("spec", "runtimeRef")


def check_listed(runtime: Document) -> Iterator[Finding]:
    """Yield a warning for limits of a runtime's trainer in which the SDK finds no device: it then lists no runtime.

    Source: kubeflow 0.5.0 trainer/backends/kubernetes/utils.py, get_runtime_trainer_container and
    get_container_devices.
    """
    if get(runtime.data, "metadata", "labels", FRAMEWORK_LABEL) is None:
        return
    for path, job, container in containers(runtime.data, TEMPLATE, ("containers",)):
        if container.get("name") != NODE or get(job, "template", "metadata", "labels", ANCESTOR_LABEL) is None:
            continue
        limits = get(container, "resources", "limits")
        if isinstance(limits, dict) and not _is_read(limits):
            found = f"limits of {', '.join(sorted(limits))} only" if limits else "empty limits"
            message = f"{found}: TrainerClient.list_runtimes() of the Kubeflow SDK fails for all runtimes"
            yield report(LISTED, runtime, (*path, "resources", "limits"), message)
        return


def _is_read(limits: JsonObject) -> bool:
    return any(name in READ or name.startswith(MIG) for name in limits)


# PodGroups that their scheduler does not enforce as meant.
# Source: Volcano pkg/scheduler/cache/util.go, responsibleForPod: a pod of another scheduler is not Volcano's, whatever
# its PodGroup. pkg/webhooks/admission/pods/mutate: only a resource group changes the scheduler of a pod.


SCHEDULER, NO_RESOURCES = "TC831", "TC832"
POLICY: Final[Path] = ("spec", "podGroupPolicy")
PODS: Final[Path] = ("template", "spec", "template")
GROUP: Final = "volcano.sh/resource-group"
"""The annotation of pods by which Volcano's admission webhook chooses their scheduler."""

OTHERS: Final = ("volcano", "kai-scheduler", "yunikorn")
"""Schedulers that are known not to run the coscheduling plugin."""


def check_gangs(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield warnings of pods that name another scheduler, and of a PodGroup without resources."""
    volcano, coscheduling = (model.pod_group(name) is not None for name in ("volcano", "coscheduling"))
    if not (volcano or coscheduling):
        return
    if volcano != coscheduling:
        for index, job in enumerate(objects(get(jobset.data, "spec", "replicatedJobs"))):
            path: Path = ("spec", "replicatedJobs", index, *PODS, "spec", "schedulerName")
            assigned = volcano and get(job, *PODS, "metadata", "annotations", GROUP)
            foreign = _is_foreign(get(jobset.data, *path), volcano=volcano)
            if foreign and not assigned and job.get("name") not in model.ungrouped:
                yield _foreign(model, jobset, job, path, volcano=volcano)
    count, resources = members(model)
    if count > 0 and not resources:
        message = "no container has requests, so minResources of the PodGroup is empty"
        yield report(NO_RESOURCES, model.runtime, (*POLICY, "volcano" if volcano else "coscheduling"), message)


def _is_foreign(name: object, *, volcano: bool) -> bool:
    return "volcano" not in str(name or "") if volcano else name in OTHERS


def _foreign(model: Model, jobset: Object, job: JsonObject, path: Path, *, volcano: bool) -> Finding:
    name = get(jobset.data, *path)
    kind = "volcano" if volcano else "coscheduling"
    document, where = (model.runtime, (*POLICY, kind)) if name is None else blamed(model, jobset, path)
    message = f"podGroupPolicy is for {kind}, but {_called(name)} places the pods of job {job.get('name')!r}"
    wanted = "volcano" if volcano else "scheduler-plugins-scheduler"
    hint = f"set schedulerName in the pod template: {wanted}, or the name that it has in your cluster"
    return report(SCHEDULER, document, where, message, found=None if name is None else str(name), hint=hint)


def _called(name: object) -> str:
    return "the default scheduler" if name is None else f"scheduler {name}"
