"""torchrun's PET_* variables."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, Path, as_list, get, objects
from trainc.findings import Finding
from trainc.kube.fielderror import invalid, quote
from trainc.kube.gojson import int32
from trainc.kube.gotypes import typed
from trainc.plugins import torchtune
from trainc.plugins.base import (
    Plugin,
    env_names,
    environment,
    from_field,
    gpu_count,
    literal,
    node_resources,
    quantities,
    refused,
    typed_env,
)
from trainc.plugins.model import Container, Model, PodSet
from trainc.upstream import JOB_COMPLETION_INDEX, TRAINER_PORT

VARIABLES = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")


def processes(model: Model) -> int | str:
    """Return numProcPerNode. Defaults to auto with a GPU, else to the CPUs, rounded up, at least 1 (X1)."""
    if model.num_proc_per_node is not None:
        return model.num_proc_per_node
    resources = node_resources(model)
    if gpu_count(resources) != 0:
        return "auto"
    request, limit = (quantities(resources, kind).get("cpu") for kind in ("requests", "limits"))
    cpus = limit if request is None or request.is_zero() else request
    return int32(max(1, cpus.value() if cpus is not None else 0))


class Target(Struct, frozen=True):
    """A container that envInjection names, with the path of its name in the runtime."""

    job: str
    container: str
    policy: JsonObject
    path: Path


def targets(model: Model) -> Iterator[Target]:
    """Yield the containers of mlPolicy.torch.envInjection, in order."""
    path = ("spec", "mlPolicy", "torch", "envInjection", "targets")
    for i, policy in enumerate(objects(get(model.policies, *path[2:]))):
        for j, name in enumerate(as_list(policy.get("containerNames"))):
            yield Target(str(policy.get("jobName") or ""), str(name), policy, (*path, i, "containerNames", j))


def find_target(model: Model, target: Target) -> tuple[PodSet, Container] | None:
    """Return the pod set and container of a target; containers come before init containers."""
    pod_set = model.pod_set(target.job)
    found = (*pod_set.containers, *pod_set.init_containers) if pod_set is not None else ()
    container = next((container for container in found if container.name == target.container), None)
    return (pod_set, container) if pod_set is not None and container is not None else None


def check(model: Model) -> Iterator[Finding]:
    """Refuse unknown targets, reserved variables, and unsupported torchtune jobs."""
    for target in targets(model):
        if find_target(model, target) is None:
            detail = (
                f"envInjection target podSet {quote(target.job)} container {quote(target.container)}"
                " not found in runtime template"
            )
            text = invalid("spec.runtimeRef", typed(target.policy, "v1alpha1.EnvInjectionTarget"), detail)
            found = f"{target.job}/{target.container}"
            yield refused("TC403", model.runtime, target.path, text, detail, found=found)
    names = env_names(model)
    if reserved := sorted({name for name in names if name in VARIABLES}):
        detail = f"must not have reserved envs, invalid envs configured: [{' '.join(reserved)}]"
        text = invalid("spec.trainer.env", typed_env(model), detail)
        first = next(index for index, name in enumerate(names) if name in VARIABLES)
        yield refused("TC401", model.job, ("spec", "trainer", "env", first, "name"), text, detail)
    if torchtune.is_entrypoint(model):
        yield from torchtune.check(model)


def shape(model: Model) -> Model:
    """Add the variables, the port and torchtune's command."""
    model = model.counted()
    nodes = model.trainer_count
    rank = (
        literal("PET_NNODES", str(nodes)),
        literal("PET_NPROC_PER_NODE", str(processes(model))),
        from_field("PET_NODE_RANK", JOB_COMPLETION_INDEX),
    )
    master = (literal("PET_MASTER_ADDR", model.master), literal("PET_MASTER_PORT", str(TRAINER_PORT)))
    variables = (*environment(model.trainer_list("env")), *rank)
    if not torchtune.is_entrypoint(model):
        variables += master
    elif model.trainer_container is not None:
        model = replace(model, command=torchtune.command(model, nodes, processes(model)))
    model = model.with_trainer_env(*variables, port=TRAINER_PORT)
    for target in targets(model):
        if (found := find_target(model, target)) is not None:
            pod_set, container = found
            model = model.with_pod_set(pod_set.with_container(container.with_env(*rank, *master)))
    return model


PLUGIN = Plugin("Torch", ("mlPolicy", "torch"), check=check, shape=shape)
