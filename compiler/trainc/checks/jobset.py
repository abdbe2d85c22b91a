"""What no controller can make of a JobSet that its own API accepts: the Jobs, their pods, the claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from trainc.basics.jsonvalues import JsonObject, Path, as_object, dotted, get, objects
from trainc.checks.created_pods import created_job
from trainc.checks.fields import Field
from trainc.checks.jobs import POD, is_sound, problems_of
from trainc.checks.pod_volumes import TWO_SOURCES, claim_problems
from trainc.findings import Finding, Related, Severity
from trainc.findings.fault import Fault, report_fault
from trainc.plugins.jobset import patched_sources
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import blamed
from trainc.upstream import NODE

CLAIM = "TC812"
COUNTS = ("parallelism", "completions")
NUM_NODES: Path = ("spec", "trainer", "numNodes")
VENDOR = "must be a standard resource type or fully qualified"
NOT_FOR_CONTAINERS = "must be a standard resource for containers"
LIMITS = "write it below limits, too, with the same amount; or there alone, which requests default to"
HINTS = {
    "Limit must be set for non overcommitable resources": LIMITS,
    'valid values: "OnFailure", "Never"': "leave it out: JobSet's default is OnFailure",
    VENDOR: "cpu, memory, ephemeral-storage, hugepages-<size>, or a device with its vendor: nvidia.com/gpu",
    "must be an integer": "a whole number: a device is not shared by fractions",
    TWO_SOURCES: "keep one of the sources; another volume needs another name",
    "when completion mode is Indexed": "set completions, to the same number as parallelism",
}
"""By what the server says: what to do about it."""


def check_jobset(model: Model, jobset: Object) -> list[Finding]:
    """Return what keeps every pod of a replicated job from being created, at the lines that caused it.

    Errors, and warnings under faithful: upstream accepts the TrainJob and the JobSet all the same.
    """
    findings: list[Finding] = []
    for index, job in enumerate(objects(get(jobset.data, "spec", "replicatedJobs"))):
        created = created_job(jobset.data, job)
        if is_sound(created):
            continue
        where: Path = ("spec", "replicatedJobs", index, "template")
        name = str(job.get("name"))
        findings += (
            _finding(model, jobset, problem, where, f"job {name!r} can have no pod: {_what(job, problem)}")
            for problem in _once(problems_of(created))
            if not _told_already(model, jobset, name, (*where, *problem.path), problem)
        )
    for problem, where in _claims(jobset.data):
        subject = f"the claim cannot be created: {dotted(problem.path)}"
        findings.append(_finding(model, jobset, problem, where, subject))
    return findings


def _once(problems: Iterable[Fault]) -> list[Fault]:
    """Return problems without those that say again what another one says of the same place."""
    found = list(dict.fromkeys(problems))
    vendorless = {problem.path for problem in found if problem.message == VENDOR}
    return [p for p in found if p.message != NOT_FOR_CONTAINERS or p.path not in vendorless]


def _claims(jobset: JsonObject) -> Iterator[tuple[Fault, Path]]:
    for i, policy in enumerate(objects(get(jobset, "spec", "volumeClaimPolicies"))):
        for j, template in enumerate(objects(policy.get("templates"))):
            for problem in claim_problems(Field(CLAIM, ("spec",), "spec"), as_object(template.get("spec"))):
                yield problem, ("spec", "volumeClaimPolicies", i, "templates", j)


def _told_already(model: Model, jobset: Object, job: str, path: Path, problem: Fault) -> bool:
    """Tell whether another code says the same: of a node count, a patched volume, a name that the runtime lacks."""
    if problem.path[-1] in COUNTS and (model.num_nodes or 0) < 1:
        return blamed(model, jobset, path)[1] == NUM_NODES
    if problem.message == TWO_SOURCES:
        return get(jobset.data, *path[:-1], "name") in patched_sources(model).get(job, {})
    if problem.path[-1] == "image":
        # No patch can give an image (it is not in the schema), so a container that a patch brings is a misspelt one.
        return blamed(model, jobset, path[:-1])[1][:2] == ("spec", "runtimePatches")
    return False


def _finding(model: Model, jobset: Object, problem: Fault, where: Path, subject: str) -> Finding:
    document, path = blamed(model, jobset, (*where, *problem.path))
    related: tuple[Related, ...] = ()
    if problem.other is not None:
        other, place = blamed(model, jobset, (*where, *problem.other))
        related = (Related("because of this", other, place),)
    hint = problem.hint or HINTS.get(problem.message) or _image_hint(jobset, (*where, *problem.path))
    told = msgspec.structs.replace(problem, message=f"{subject}: {problem.message}", hint=hint)
    severity = Severity.WARNING if model.options.faithful else None
    return report_fault(told, document, path, severity=severity, related=related)


def _image_hint(jobset: Object, path: Path) -> str | None:
    if path[-1] != "image":
        return None
    is_trainer = get(jobset.data, *path[:-1], "name") == NODE
    return f"set image in this container{', or spec.trainer.image in the TrainJob' * is_trainer}"


def _what(job: JsonObject, problem: Fault) -> str:
    """Name the field as people know it: with its container's name, and without the way through the templates."""
    path = problem.path
    depth = len(POD) if path[: len(POD)] == POD else 2 if path[:2] == POD[:2] else 1
    rest = path[depth:]
    if len(rest) > 1 and rest[0] in ("containers", "initContainers"):
        name = get(job, "template", *POD, *rest[:2], "name")
        inside = dotted(rest[2:])
        return f"container {name!r}{', ' if inside else ''}{inside}"
    return dotted(rest)
