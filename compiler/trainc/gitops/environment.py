"""Which jobs an environment has, and what can go wrong between them and with names in its options."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from trainc.basics.jsonvalues import Path, as_object, get
from trainc.findings import Finding, Related, report
from trainc.gitops.base import Pass, job_name_path, option_path
from trainc.gitops.images import rewritten
from trainc.gitops.naming import Placed
from trainc.gitops.patches import place
from trainc.gitops.summary import Summary
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings, fits
from trainc.inputs.source import Document
from trainc.plugins.model import Findings, Model

_NAME: Path = ("metadata", "name")
WITHOUT_TARGET: Final = "TC606"
UNKNOWN: Final = "TC613"


class Split(NamedTuple):
    """The TrainJobs that an environment has, and the others."""

    taken: tuple[Document, ...]
    left: tuple[Document, ...]


def split(jobs: Iterable[Document], settings: Settings) -> Split:
    """Return the TrainJobs divided by the environment's patterns; the namespace is that below jobs/."""
    taken: list[Document] = []
    left: list[Document] = []
    for job in jobs:
        home, name = (str(get(job.data, "metadata", key)) for key in ("namespace", "name"))
        (taken if settings.takes(home, name) else left).append(job)
    return Split(tuple(taken), tuple(left))


def name_collisions(placed: Iterable[Placed], options: Options) -> tuple[Finding, ...]:
    """Return an error for every job whose namespace and name in the cluster, or JobSet, are those of an earlier job."""
    first: dict[tuple[str, str], Document] = {}
    jobsets: dict[tuple[str, str], Document] = {}
    found = []
    where = f"in environment {options.environment} another job"
    for job in sorted(placed, key=lambda job: (job[0], job[1], job[2].source.name, job[2].index)):
        document = job.document
        other = first.setdefault((job.namespace, job.name), document)
        if other is not document:
            message = f"{where} becomes {job.namespace}/{job.name}, too"
            related = (Related("the other one", other, _NAME),)
            found.append(report("TC602", document, _NAME, message, found=job.name, related=related))
        elif job.jobset is not None:
            other = jobsets.setdefault((job.namespace, job.jobset), document)
            if other is not document:
                message = f"{where} has a JobSet {job.namespace}/{job.jobset}, too"
                one, two = (job_name_path(each) for each in (document, other))
                related = (Related("the other one", other, two),)
                found.append(report("TC602", document, one, message, found=job.jobset, related=related))
    return tuple(found)


def patches_without_target(objs: Iterable[Summary], options: Options) -> tuple[Finding, ...]:
    """Return a warning for every patch that matches none of the objects; none if there are no objects."""
    objs = tuple(objs)
    found = []
    for patch in options.settings.patches if objs else ():
        where = place(options, patch, ("target",))
        if where is not None and not any(patch.matches(one.kind, one.namespace, one.plain) for one in objs):
            message = f"no {patch.target.kind} of environment {options.environment} is meant by this patch"
            found.append(report(WITHOUT_TARGET, *where, message))
    return tuple(found)


def unknown_names(jobs: Iterable[Document], options: Options) -> tuple[Finding, ...]:
    """Return a warning for every name in the options that no TrainJob has; none if there are no jobs.

    The names are patterns of ``jobs``, and the keys of ``namespaces`` and ``runtimes``.
    """
    given = tuple(jobs)
    settings, document = options.settings, options.config_document
    if not given or document is None:
        return ()
    homes = {str(get(job.data, "metadata", "namespace")) for job in given}
    runtimes = {str(get(job.data, "spec", "runtimeRef", "name")) for job in given}
    patterns = [(index, pattern) for index, pattern in enumerate(settings.jobs) if not _fits_any(pattern, given)]
    elsewhere = [name for name in settings.namespaces if name not in homes]
    replaced = [name for name in settings.runtimes if name not in runtimes]
    wrong: list[tuple[Path, str, str]] = [
        *((("jobs", index), pattern, f"no TrainJob fits {pattern!r}") for index, pattern in patterns),
        *((("namespaces", name), name, f"no TrainJob is in namespace {name}") for name in elsewhere),
        *((("runtimes", name), name, f"no TrainJob names runtime {name}") for name in replaced),
    ]
    return tuple(
        report(UNKNOWN, document, (*where, *path[1:]), message, found=name)
        for path, name, message in wrong
        if (where := option_path(options, str(path[0]))) is not None
    )


def _fits_any(pattern: str, jobs: Iterable[Document]) -> bool:
    names = (as_object(job.data["metadata"]) for job in jobs)
    return any(fits(pattern.removeprefix("!"), str(one.get("namespace")), str(one.get("name"))) for one in names)


def unused_registries(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> tuple[Finding, ...]:
    """Return a warning for every key of ``registries`` that no image begins with, in any environment that has it.

    ``by_environment`` has every environment with its objects, whose images have been rewritten; one without images says
    nothing.
    """
    idle: dict[Path, Finding] = {}
    used: set[Path] = set()
    for options, summaries in by_environment:
        settings, where = options.settings, option_path(options, "registries")
        images = {image for one in summaries for image in one.images} if settings.registries else set()
        if where is None or options.config_document is None or not images:
            continue
        for key, instead in settings.registries.items():
            path = (*where, key)
            moved = [image for image in images if image.startswith(instead)]
            if any(rewritten(key + image.removeprefix(instead), settings.registries) == image for image in moved):
                used.add(path)
            else:
                idle[path] = report(UNKNOWN, options.config_document, path, f"no image begins with {key}", found=key)
    return tuple(finding for path, finding in idle.items() if path not in used)


def jobs_without_environment(left: Iterable[Iterable[Document]]) -> tuple[Finding, ...]:
    """Return a note for every TrainJob that no environment has, from the jobs that each leaves out."""
    sets = [{(job.source.name, job.index): job for job in jobs} for jobs in left]
    everywhere = set.intersection(*(set(jobs) for jobs in sets)) if sets else set()
    return tuple(
        report("TC603", sets[0][key], _NAME, "no environment has this job: it is not compiled")
        for key in sorted(everywhere)
    )


def check(model: Model) -> Findings:
    """Refuse a job in a namespace that argocd.namespaces does not name: Argo CD would refuse its objects."""
    settings = model.options.settings
    allowed = settings.argocd.namespaces
    fits = any(fnmatchcase(model.namespace, pattern) for pattern in allowed)
    if settings.target != "argocd" or not allowed or fits:
        return ()
    message = f"namespace {model.namespace} is not among argocd.namespaces of environment {model.options.environment}"
    return (report("TC612", model.job, _NAME, message, found=model.namespace, expected=", ".join(allowed)),)


ARGOCD_NAMESPACES: Final = Pass("argocd_namespaces", check=check)
