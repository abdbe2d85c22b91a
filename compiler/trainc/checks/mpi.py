"""MPI runtimes whose jobs cannot start or cannot end, and settings that do not reach their workers.

Source: Trainer v2.3.0 pkg/runtime/framework/plugins/mpi/mpi.go, which finds the replicated jobs by name, and JobSet
v0.12.0: success policy, dependsOn and startup policy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, as_list, existing, get, objects
from trainc.basics.regex import lazy
from trainc.checks.containers import words
from trainc.findings import Finding, Severity, report
from trainc.plugins.base import pod_containers
from trainc.plugins.model import Model
from trainc.plugins.mpi.transport import by_kubexec
from trainc.upstream import LAUNCHER, NODE

INCOMPLETE: Final = "TC822"
ENDLESS: Final = "TC825"
UNORDERED: Final = "TC826"
JOBSET: Final[Path] = ("spec", "template", "spec")

_MPIRUN = lazy(r"\b(?:mpirun|mpiexec|orterun|prterun|horovodrun)\b")
_OWN_HOSTS = lazy(r"(?:^|[\s\"'=])(?:--?(?:hostfile|machinefile|hosts?|H)\b|-f\s+\S*host)|host_?file", re.I)


def check_launching(model: Model) -> Iterator[Finding]:
    """Yield findings on the jobs of an MPI runtime."""
    policy = model.policy("mpi")
    if policy is None:
        return
    missing = [name for name in (LAUNCHER, NODE) if model.pod_set(name) is None]
    if missing:
        if not _one_is_enough(model, policy, missing):
            yield _incomplete(model, missing)
        return
    if _waits_for_nodes(model):
        message = "the JobSet ends only after the pods of job 'node', which run until they are stopped"
        yield report(ENDLESS, model.runtime, existing(model.runtime.data, (*JOBSET, "successPolicy")), message)
    if not by_kubexec(model) and (ahead := _starts_early(model)):  # the script of kubexec waits for the pods
        yield ahead


def _one_is_enough(model: Model, policy: JsonObject, missing: list[str]) -> bool:
    """Tell whether one pod may be both launcher and node; upstream refuses several (TC404)."""
    nodes = model.num_nodes if model.num_nodes is not None else get(model.ml_policy, "numNodes")
    return len(missing) == 1 and policy.get("runLauncherAsNode") is True and nodes in (None, 1)


def _incomplete(model: Model, missing: list[str]) -> Finding:
    what = {
        LAUNCHER: "there is no replicated job 'launcher' that gets the hostfile and starts the ranks",
        NODE: "there is no replicated job 'node', so the hostfile lists no workers",
    }
    hint = f"add the replicated job{'s' * (len(missing) - 1)} {' and '.join(map(repr, missing))}"
    others = [str(job.get("name")) for job in model.jobs if job.get("name") not in (LAUNCHER, NODE)]
    if len(missing) == len(others) == 1:
        hint = f"rename replicated job {others[0]!r} to {missing[0]!r}"
    if len(missing) == 1:
        hint += ", or set runLauncherAsNode: true if all ranks run in one pod"
    elif others:
        hint += ", or rename the jobs that have these roles"
    severity = Severity.WARNING if _launches_itself(model) else model.severity
    found = ", ".join(str(job.get("name")) for job in model.jobs)
    path = existing(model.runtime.data, (*JOBSET, "replicatedJobs"))
    message = "; ".join(what[name] for name in missing)
    return report(INCOMPLETE, model.runtime, path, message, severity=severity, found=found, hint=hint)


def _launches_itself(model: Model) -> bool:
    """Tell whether a command runs mpirun with its own list of hosts, without Trainer's hostfile."""
    lines = [[*(model.command or ()), *(model.args or ())]]
    for container in (each for job in model.jobs for each in pod_containers(job)):
        line = [word for _, word in words(container)]
        lines.append([*line, *(str(variable.get("name")) for variable in objects(container.get("env")))])
    return any(_MPIRUN.search(line) and _OWN_HOSTS.search(line) for line in map(" ".join, lines))


def _waits_for_nodes(model: Model) -> bool:
    """Tell whether the success policy waits for job node, whose pods never end by themselves."""
    policy = model.spec.get("successPolicy")
    targets = as_list(get(policy, "targetReplicatedJobs"))
    if get(policy, "operator") == "Any":
        return bool(targets) and LAUNCHER not in targets
    return not targets or NODE in targets


def _starts_early(model: Model) -> Finding | None:
    """Return a finding if the launcher may start before its nodes are ready, or never starts."""
    names = [job.get("name") for job in model.jobs]
    launcher = model.jobs[names.index(LAUNCHER)]
    depends = next((one for one in objects(launcher.get("dependsOn")) if one.get("name") == NODE), None)
    if get(depends, "status") == "Ready":
        return None
    in_order = get(model.spec, "startupPolicy", "startupPolicyOrder") == "InOrder"
    if depends is None and in_order and names.index(NODE) < names.index(LAUNCHER):
        return None
    message, hint = "the launcher starts without waiting until its nodes are ready", None
    if depends is not None:
        message = "the launcher waits for the pods of job 'node' to complete, which run until they are stopped"
    elif in_order:  # for which JobSet refuses dependsOn
        message = "the launcher starts before its nodes: it comes first in replicatedJobs"
        hint = "put replicated job node first"
    elif names.index(NODE) > names.index(LAUNCHER):  # JobSet also refuses dependsOn of a later job
        hint = "put replicated job node first, and write dependsOn: [{name: node, status: Ready}] in launcher"
    jobs = objects(get(model.runtime.data, *JOBSET, "replicatedJobs"))
    index = next((index for index, job in enumerate(jobs) if job.get("name") == LAUNCHER), 0)
    path = existing(model.runtime.data, (*JOBSET, "replicatedJobs", index, "dependsOn"))
    return report(UNORDERED, model.runtime, path, message, hint=hint)


# Fields of a TrainJob that look as if they were for every node, but are for MPI's launcher alone.


CODE = "TC413"


def check_mpi(model: Model) -> Iterator[Finding]:
    """Yield warnings about resources and an image that do not reach the workers.

    Source: Trainer v2.3.0 gives spec.trainer to the job with the ancestor label, the launcher, and resourcesPerNode to
    job node only with runLauncherAsNode.
    """
    policy, node, trains = model.policy("mpi"), model.pod_set(NODE), model.trainer_set
    if policy is None or node is None or trains is None or trains.name != LAUNCHER:
        return
    if model.trainer_value("resourcesPerNode") is not None and policy.get("runLauncherAsNode") is not True:
        message = (
            "resourcesPerNode applies only to the launcher: job 'node', which trains, keeps the runtime's resources"
        )
        hint = "set runLauncherAsNode in the runtime, or set the resources of job 'node' there"
        yield report(CODE, model.job, ("spec", "trainer", "resourcesPerNode"), message, hint=hint)
    worker, image = node.container(NODE), model.trainer_value("image")
    if isinstance(image, str) and worker is not None and worker.image != image:
        message = f"the image applies only to the launcher: job 'node', which trains, keeps {worker.image}"
        hint = "use a runtime whose jobs have this image"
        yield report(CODE, model.job, ("spec", "trainer", "image"), message, hint=hint)
