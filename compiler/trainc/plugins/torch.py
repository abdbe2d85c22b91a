"""torchrun's PET_* variables."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, get
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
from trainc.plugins.model import Container, Findings, Model, PodSet
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
    path: tuple[str | int, ...]


def targets(model: Model) -> Iterator[Target]:
    """Yield the containers of mlPolicy.torch.envInjection, in order."""
    found = get(model.ml_policy, "torch", "envInjection", "targets")
    for i, policy in enumerate(found if isinstance(found, list) else []):
        names = policy.get("containerNames") if isinstance(policy, dict) else None
        for j, name in enumerate(names if isinstance(names, list) else []):
            assert isinstance(policy, dict)
            path = ("spec", "mlPolicy", "torch", "envInjection", "targets", i, "containerNames", j)
            yield Target(str(policy.get("jobName") or ""), str(name), policy, path)


def find_target(model: Model, target: Target) -> tuple[PodSet, Container] | None:
    """Return the pod set and container of a target; containers come before init containers."""
    pod_set = model.pod_set(target.job)
    if pod_set is None:
        return None
    found = pod_set.container(target.container) or next(
        (c for c in pod_set.init_containers if c.name == target.container), None
    )
    return (pod_set, found) if found else None


def check(model: Model) -> Findings:
    """Refuse unknown targets, reserved variables, and unsupported torchtune jobs."""
    if model.policy("torch") is None:
        return ()
    findings = [_unknown_target(model, t) for t in targets(model) if find_target(model, t) is None]
    names = env_names(model)
    if reserved := sorted({name for name in names if name in VARIABLES}):
        detail = f"must not have reserved envs, invalid envs configured: [{' '.join(reserved)}]"
        text = invalid("spec.trainer.env", typed_env(model), detail)
        first = next(index for index, name in enumerate(names) if name in VARIABLES)
        findings.append(refused("TC401", model.job, ("spec", "trainer", "env", first, "name"), text, detail))
    if torchtune.is_entrypoint(model):
        findings += torchtune.check(model, configured_processes(model))
    return tuple(findings)


def shape(model: Model) -> Model:
    """Add the variables, the port and torchtune's command."""
    if model.policy("torch") is None:
        return model
    model = model.counted()
    nodes = model.trainer_set.count if model.trainer_set is not None else 1
    rank = (
        literal("PET_NNODES", str(nodes)),
        literal("PET_NPROC_PER_NODE", str(processes(model))),
        from_field("PET_NODE_RANK", JOB_COMPLETION_INDEX),
    )
    master = (literal("PET_MASTER_ADDR", model.master), literal("PET_MASTER_PORT", str(TRAINER_PORT)))
    if (container := model.trainer_container) is not None:
        variables = (*environment(model.trainer_list("env")), *rank)
        if torchtune.is_entrypoint(model):
            model = replace(model, command=torchtune.command(model, nodes, processes(model)))
        else:
            variables += master
        container = container.with_env(*variables)
        by_number = model.fixed("unnamed-ports")
        model = model.with_trainer_container(container.with_port(TRAINER_PORT, by_number=by_number))
    for target in targets(model):
        if (found := find_target(model, target)) is not None:
            pod_set, container = found
            model = model.with_pod_set(pod_set.with_container(container.with_env(*rank, *master)))
    return model


def configured_processes(model: Model) -> int | str:
    """Return numProcPerNode as in torchtune's validation, where it defaults to auto."""
    return model.num_proc_per_node if model.num_proc_per_node is not None else "auto"


def _unknown_target(model: Model, target: Target) -> Finding:
    detail = (
        f"envInjection target podSet {quote(target.job)} container {quote(target.container)}"
        " not found in runtime template"
    )
    text = invalid("spec.runtimeRef", typed(target.policy, "v1alpha1.EnvInjectionTarget"), detail)
    return refused("TC403", model.runtime, target.path, text, detail, found=f"{target.job}/{target.container}")


PLUGIN = Plugin("Torch", check, shape)
