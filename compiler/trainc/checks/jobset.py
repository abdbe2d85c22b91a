"""What keeps controllers from creating the Jobs, pods and claims of a JobSet that its own API accepts."""

from __future__ import annotations

from msgspec.structs import replace

from trainc.admission.fields import faults_in
from trainc.basics.jsonvalues import JsonObject, Path, dotted, get, objects
from trainc.checks.created_pods import created_job
from trainc.checks.jobs import POD, faults_of, is_sound
from trainc.checks.pod_resources import NOT_FOR_CONTAINERS, NOT_QUALIFIED
from trainc.checks.pod_volumes import TWO_SOURCES, validate_claim
from trainc.findings import Finding, Related
from trainc.findings.fault import Fault, report_fault
from trainc.plugins.jobset import patched_sources
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.upstream import NODE

CLAIM = "TC812"
NUM_NODES: Path = ("spec", "trainer", "numNodes")
HINTS = {
    "Limit must be set for non overcommitable resources": (
        "set the same amount in limits; or set only limits, which requests default to"
    ),
    'valid values: "OnFailure", "Never"': "leave it out: JobSet's default is OnFailure",
    NOT_QUALIFIED: "cpu, memory, ephemeral-storage, hugepages-<size>, or a device with its vendor: nvidia.com/gpu",
    "must be an integer": "use a whole number: a device cannot be divided",
    TWO_SOURCES: "keep one of the sources; another volume needs another name",
    "when completion mode is Indexed": "set completions, to the same number as parallelism",
}
"""What to do, by what the server says."""


def check_jobset(model: Model, jobset: Object) -> list[Finding]:
    """Return what keeps every pod of a replicated job from being created, at the lines that caused it.

    These are errors, but warnings under faithful, since upstream accepts the TrainJob and the JobSet.
    """
    findings: list[Finding] = []
    for index, job in enumerate(objects(get(jobset.data, "spec", "replicatedJobs"))):
        created = created_job(jobset.data, job)
        if is_sound(created):
            continue
        root: Path = ("spec", "replicatedJobs", index, "template")
        faults, name = dict.fromkeys(faults_of(created)), str(job.get("name"))
        unqualified = {fault.path for fault in faults if fault.message == NOT_QUALIFIED}
        for fault in faults:
            # Of two faults that say the same of a resource's name, only the first is reported.
            is_repeated = fault.message == NOT_FOR_CONTAINERS and fault.path in unqualified
            if not is_repeated and not _has_other_code(model, jobset, name, (*root, *fault.path), fault):
                subject = f"job {name!r} cannot create pods: {_field(job, fault.path)}"
                findings.append(_finding(model, jobset, fault, root, subject))
    for i, policy in enumerate(objects(get(jobset.data, "spec", "volumeClaimPolicies"))):
        for j, template in enumerate(objects(policy.get("templates"))):
            for fault in faults_in(validate_claim, template.get("spec"), CLAIM):
                subject = f"the PersistentVolumeClaim cannot be created: {dotted(fault.path)}"
                root = ("spec", "volumeClaimPolicies", i, "templates", j)
                findings.append(_finding(model, jobset, fault, root, subject))
    return findings


def _has_other_code(model: Model, jobset: Object, job: str, path: Path, fault: Fault) -> bool:
    """Tell whether another code reports this: a node count, a patched volume, a container that the runtime lacks."""
    if path[-1] in ("parallelism", "completions") and (model.num_nodes or 0) < 1:
        return source_of(model, jobset, path)[1] == NUM_NODES
    if fault.message == TWO_SOURCES:
        return get(jobset.data, *path[:-1], "name") in patched_sources(model).get(job, {})
    if path[-1] == "image":
        # Patches have no field for an image, so a container without one that a patch adds has a misspelt name.
        return source_of(model, jobset, path[:-1])[1][:2] == ("spec", "runtimePatches")
    return False


def _finding(model: Model, jobset: Object, fault: Fault, root: Path, subject: str) -> Finding:
    document, path = source_of(model, jobset, (*root, *fault.path))
    related: tuple[Related, ...] = ()
    if fault.other is not None:
        related = (Related("because of this", *source_of(model, jobset, (*root, *fault.other))),)
    hint = fault.hint or HINTS.get(fault.message)
    if hint is None and fault.path[-1] == "image":
        is_trainer = get(jobset.data, *root, *fault.path[:-1], "name") == NODE
        hint = f"set image in this container{', or spec.trainer.image in the TrainJob' * is_trainer}"
    fault = replace(fault, message=f"{subject}: {fault.message}", hint=hint)
    return report_fault(fault, document, path, severity=model.severity, related=related)


def _field(job: JsonObject, path: Path) -> str:
    """Name a field by its container, and without the steps through the templates."""
    depth = len(POD) if path[: len(POD)] == POD else 2 if path[:2] == POD[:2] else 1
    rest = path[depth:]
    if len(rest) > 1 and rest[0] in ("containers", "initContainers"):
        name = get(job, "template", *POD, *rest[:2], "name")
        return f"container {name!r}" + (f", {dotted(rest[2:])}" if rest[2:] else "")
    return dotted(rest)
