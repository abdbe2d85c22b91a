"""Devices that Trainer does not count or the Kubeflow SDK cannot read, and pod groups that no scheduler enforces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get
from trainc.basics.regex import lazy
from trainc.checks.containers import TEMPLATE, containers
from trainc.findings import Finding, Related, report
from trainc.gitops.pods import replicated_jobs
from trainc.inputs.source import Document
from trainc.kube.gojson import int32
from trainc.plugins import shaped
from trainc.plugins.base import POD_SPEC, gpu_count, is_gpu, node_container, node_resources, quantities
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.plugins.podgroup import members, ungrouped
from trainc.plugins.torch import processes
from trainc.upstream import ANCESTOR_LABEL, FRAMEWORK_LABEL, NODE

COUNT, LISTED, DROPPED = "TC833", "TC838", "TC839"
NODE_RESOURCES: Final[Path] = ("spec", "trainer", "resourcesPerNode")
UNCOUNTED: Final = lazy(
    r"google\.com/tpu|habana\.ai/gaudi|aws\.amazon\.com/neuron(?:core|device)?|nvidia\.com/mig-.+|huawei\.com/Ascend.+"
)
READ: Final = ("cpu", "nvidia.com/gpu", "google.com/tpu", "huawei.com/Ascend910")
"""The devices that get_container_devices of kubeflow 0.5 supports, besides MIG devices."""

MIG: Final = "nvidia.com/mig-"


def check_devices(model: Model) -> Iterator[Finding]:
    """Yield a warning if numProcPerNode exceeds the GPUs of a node, or if Trainer does not derive it from devices."""
    resources = node_resources(model)
    if (number := model.num_proc_per_node) is not None:
        gpus = gpu_count(resources)
        if model.policy("torch") is not None and 0 < gpus < number:
            message = (
                f"{number} processes per node for {gpus} GPU{'s' * (gpus > 1)}: each process of torchrun needs its own"
            )
            hint = f"set it to {gpus}, or leave it out"
            yield report(COUNT, model.job, ("spec", "trainer", "numProcPerNode"), message, found=str(number), hint=hint)
        return
    if gpu_count(resources) != 0:
        return
    merged = as_object(node_container(model).get("resources"))
    yield from _check_gpus_of_runtime(model, merged)
    counted = _uncounted(resources) or _uncounted(merged)
    if len(counted) != 1:
        return
    [(name, count)] = counted
    started, variable = _started(model)
    if started is None or started == count:
        return
    message = f"{_mismatch(count, name, started, variable)}: Trainer does not count this resource"
    hint = f"set spec.trainer.numProcPerNode: {count}, or 1 where one process drives all devices"
    yield report(COUNT, *_source(model, name), message, found=name, hint=hint)


def _uncounted(resources: JsonObject) -> list[tuple[str, int]]:
    """Return the devices that Trainer does not count, with their numbers."""
    amounts = {**quantities(resources, "limits"), **quantities(resources, "requests")}
    devices = ((name, amount.value()) for name, amount in amounts.items() if UNCOUNTED.fullmatch(name))
    return [(name, count) for name, count in devices if count > 0]


def _check_gpus_of_runtime(model: Model, merged: JsonObject) -> Iterator[Finding]:
    """Yield a warning if a container keeps the runtime's GPUs, which Trainer does not see behind resourcesPerNode."""
    count, (started, variable) = gpu_count(merged), _started(model)
    if count == 0 or started is None or started == count:
        return
    amounts = (pair for kind in ("requests", "limits") for pair in quantities(merged, kind).items())
    name = next(name for name, amount in amounts if is_gpu(name) and amount.value() == count)
    message = f"{_mismatch(count, name, started, variable)}: Trainer looks for GPUs in resourcesPerNode only"
    hint = f"repeat them in resourcesPerNode, or set spec.trainer.numProcPerNode: {count}"
    yield report(COUNT, model.job, NODE_RESOURCES, message, found=name, hint=hint)


def _mismatch(count: int, name: str, started: int, variable: str) -> str:
    return f"{count} {name} per node, but {started} process{'' if started == 1 else 'es'} ({variable})"


def _started(model: Model) -> tuple[int | None, str]:
    """Return the number of processes per node and its source; None if Trainer does not determine it."""
    policy = model.policy("mpi")
    if policy is not None:
        return (1 if policy.get("numProcPerNode") == 1 else None), "slots in the hostfile"
    if model.policy("torch") is None or (container := model.trainer_container) is None:
        return None, ""
    words = [str(word) for word in model.trainer_list("command")] or list(container.command)
    if words and words[0].rpartition("/")[2].startswith("python") and not any("torch" in word for word in words[1:]):
        return None, ""  # it ignores torchrun's variables
    args = model.trainer_list("args") or as_list(node_container(model).get("args"))
    if any("nproc" in word for word in (*words, *map(str, args))):
        return None, ""  # an option of torchrun is stronger than its variable
    count = processes(model)
    return (count if isinstance(count, int) else None), "PET_NPROC_PER_NODE"


def _source(model: Model, name: str) -> tuple[Document, Path]:
    """Return the source of a resource: in the TrainJob, else in the runtime."""
    for kind in ("limits", "requests"):
        if get(model.job.data, *NODE_RESOURCES, kind, name) is not None:
            return model.job, (*NODE_RESOURCES, kind, name)
        for path, _, container in containers(model.runtime.data, TEMPLATE, ("containers",)):
            if container.get("name") == NODE and get(container, "resources", kind, name) is not None:
                return model.runtime, (*path, "resources", kind, name)
    return model.job, ("spec", "runtimeRef")


def check_dropped(model: Model) -> Iterator[Finding]:
    """Yield warnings about what Trainer drops: processes, claims, and without mlPolicy all of the resources (V3)."""
    if model.trainer_set is None:
        return
    yield from _dropped_processes(model)
    resources = model.trainer_value("resourcesPerNode")
    if not isinstance(resources, dict):
        return
    if get(model.runtime.data, "spec", "mlPolicy") is None:
        message = "the runtime has no mlPolicy, so Trainer drops resourcesPerNode"
        yield report(DROPPED, model.job, NODE_RESOURCES, message, hint="add mlPolicy: {} to the runtime")
        return
    hint = "set all resources, with their claims, in the runtime, and leave out resourcesPerNode"
    if resources.get("claims"):
        message = "Trainer drops claims, so the container gets no device from them"
        yield report(DROPPED, model.job, (*NODE_RESOURCES, "claims"), message, hint=hint)
    for path, job, container in containers(model.runtime.data, TEMPLATE, ("containers",)):
        is_node = job.get("name") == model.trainer_set.name and container.get("name") == NODE
        if is_node and get(container, "resources", "claims"):
            message = "with resourcesPerNode, Trainer drops the claims of the runtime"
            related = (Related("written here", model.runtime, (*path, "resources", "claims")),)
            yield report(DROPPED, model.job, NODE_RESOURCES, message, hint=hint, related=related)


def _dropped_processes(model: Model) -> Iterator[Finding]:
    """Yield a warning about a number of processes that no plugin reads, unless it is the number that runs."""
    number = model.num_proc_per_node
    running = max(gpu_count(node_resources(model)), 1) if model.uses("xgboost") else 1
    if number is None or number == running or model.uses("torch", "mpi", "flux"):
        return
    message = "Trainer ignores numProcPerNode without mlPolicy.torch, mpi or flux in the runtime"
    hint = "leave it out; if a node needs several processes, let the command start them"
    yield report(DROPPED, model.job, ("spec", "trainer", "numProcPerNode"), message, found=str(number), hint=hint)


def check_listed(runtime: Document) -> Iterator[Finding]:
    """Yield a warning if the SDK finds no known device in the limits of a runtime's trainer: then it lists no runtime.

    Source: kubeflow 0.5.0 trainer/backends/kubernetes/utils.py, get_runtime_trainer_container and
    get_container_devices.
    """
    if get(runtime.data, "metadata", "labels", FRAMEWORK_LABEL) is None:
        return
    for path, job, container in containers(runtime.data, TEMPLATE, ("containers",)):
        if container.get("name") != NODE or get(job, "template", "metadata", "labels", ANCESTOR_LABEL) is None:
            continue
        limits = get(container, "resources", "limits")
        if isinstance(limits, dict) and not any(name in READ or name.startswith(MIG) for name in limits):
            found = f"limits of {', '.join(sorted(limits))} only" if limits else "empty limits"
            message = f"{found}: TrainerClient.list_runtimes() of the Kubeflow SDK fails for all runtimes"
            yield report(LISTED, runtime, (*path, "resources", "limits"), message)
        return


# PodGroups that their scheduler does not enforce as intended.
# Source: Volcano pkg/scheduler/cache/util.go, responsibleForPod: Volcano ignores pods of other schedulers, whatever
# their PodGroup. pkg/webhooks/admission/pods/mutate: only a resource group changes the scheduler of a pod.


SCHEDULER, NO_RESOURCES = "TC831", "TC832"
POLICY: Final[Path] = ("spec", "podGroupPolicy")
GROUP: Final = "volcano.sh/resource-group"
"""The annotation of pods by which Volcano's admission webhook chooses their scheduler."""

OTHERS: Final = ("volcano", "kai-scheduler", "yunikorn")
"""The schedulers without the coscheduling plugin."""


def check_gangs(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield findings on pods with another scheduler, and on a PodGroup without members or resources."""
    volcano, coscheduling = (model.uses(name) for name in ("volcano", "coscheduling"))
    if not (volcano or coscheduling):
        return
    model = shaped(model)
    if volcano != coscheduling:
        outside = ungrouped(model)
        for root, job in replicated_jobs(jobset.data):
            path: Path = (*root, *POD_SPEC, "schedulerName")
            assigned = volcano and get(job, *POD_SPEC[:-1], "metadata", "annotations", GROUP)
            name = get(jobset.data, *path)
            foreign = "volcano" not in str(name or "") if volcano else name in OTHERS
            if foreign and not assigned and job.get("name") not in outside:
                yield _foreign(model, jobset, job, path, volcano=volcano)
    count, resources = members(model)
    path = (*POLICY, "volcano" if volcano else "coscheduling")
    if count < 1 or int32(count) != count:  # Trainer's sum overflows. coscheduling's CRD has a minimum, Volcano's none
        message, hint = f"the PodGroup has minMember {count}", "it counts the pods of the JobSet: change their numbers"
        found, limit = str(count), "1 to 2147483647"
        yield report(
            "TC410", model.runtime, path, message, severity=model.severity, found=found, expected=limit, hint=hint
        )
    elif not resources:
        message = "no pod that minMember counts has requests, so minResources of the PodGroup is empty"
        yield report(NO_RESOURCES, model.runtime, path, message)


def _foreign(model: Model, jobset: Object, job: JsonObject, path: Path, *, volcano: bool) -> Finding:
    name = get(jobset.data, *path)
    kind = "volcano" if volcano else "coscheduling"
    source = (model.runtime, (*POLICY, kind)) if name is None else source_of(model, jobset, path)
    scheduler = "the default scheduler" if name is None else f"scheduler {name}"
    message = f"podGroupPolicy is for {kind}, but {scheduler} places the pods of job {job.get('name')!r}"
    wanted = "volcano" if volcano else "scheduler-plugins-scheduler"
    hint = f"set schedulerName in the pod template: {wanted}, or its name in your cluster"
    return report(SCHEDULER, *source, message, found=None if name is None else str(name), hint=hint)
