"""Run numbers, and hashes in names.

A JobSet runs once, and most of its fields are immutable. To run a job again, or to change an immutable field, its
objects get another name: annotation ``trainc.dev/run: "2"`` changes ``<job>`` to ``<job>-2``, and ``naming: content``
adds a hash of the immutable fields. All other names derive from that one. Folders and files keep the job's own name, so
that git shows a change as a change of one file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from itertools import count
from typing import Final, NamedTuple

from msgspec.structs import replace

from trainc.admission.base_revision import Base, Identity
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.basics.regex import lazy
from trainc.findings import Finding, Related, Severity, report, suggest
from trainc.findings.display import listed
from trainc.gitops import flux
from trainc.gitops.base import RUN_NUMBER, Pass, jobset_of, labels_without_effect, run_of
from trainc.gitops.immutable_configmaps import read_by_pods
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings
from trainc.inputs.source import Document
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.upstream import JOBSET_API, RUN, TRAINC

_NAME: Path = ("metadata", "name")

# Run numbers.

_ANNOTATIONS: Path = ("metadata", "annotations")
_RESERVED: Final = lazy(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?")
"""Names of devices in Windows: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""
_DIGITS: Final = 8
"""The length of a hash in names."""
_RULE: Final = 'a positive integer in quotes, such as "2"'


def numbered(model: Model) -> Model:
    """Return the model with the run number in its name. Faithful output ignores the annotation."""
    run = 1 if model.options.faithful else run_of(model.job)
    return model if run == 1 else replace(model, name=f"{model.title}-{run}")


def next_run(job: str, run: int, is_taken: Callable[[str], bool]) -> int:
    """Return the next run number of a job by which its objects do not get the name of another job."""
    return next(number for number in count(run + 1) if not is_taken(f"{job}-{number}"))


def free_runs(jobs: Iterable[Document], environments: Iterable[Settings]) -> Callable[[Document], int]:
    """Return a function that returns the next run number of a TrainJob; ``jobs`` have names that are taken."""
    mappings = [settings.namespaces for settings in environments]

    def names(job: Document) -> tuple[str, frozenset[str]]:
        home, name = (str(get(job.data, "metadata", key)) for key in ("namespace", "name"))
        return name, frozenset(mapping.get(home, home) for mapping in mappings)

    taken = {(namespace, name) for name, namespaces in map(names, jobs) for namespace in namespaces}

    @cache  # a job may have many findings
    def following(title: str, namespaces: frozenset[str], run: int) -> int:
        return next_run(title, run, lambda name: any((namespace, name) in taken for namespace in namespaces))

    return lambda job: following(*names(job), run_of(job))


def new_run_hint(job: Document) -> str:
    """Return the hint for a change that needs a new name: the annotation to add."""
    line = f'{RUN}: "{run_of(job) + 1}"'
    return (
        f"revert the change, or add {line} to metadata.annotations of the TrainJob: the job runs again with a new name"
    )


def with_titles(model: Model, objects: Objects) -> Objects:
    """Return the objects with their titles, the names without run number and hash."""
    if model.name == model.title:
        return objects
    out = []
    for obj in objects:
        name = obj.stem or obj.name
        named = name == model.name or name.startswith(f"{model.name}-")
        out.append(replace(obj, title=model.title + name.removeprefix(model.name)) if named else obj)
    return tuple(out)


def check(model: Model) -> Iterator[Finding]:
    """Report invalid run numbers, unknown annotations of trainc, and folders that Windows cannot check out."""
    for key, value in as_object(get(model.job.data, *_ANNOTATIONS)).items():
        path = (*_ANNOTATIONS, key)
        if key == RUN and not (isinstance(value, str) and RUN_NUMBER.fullmatch(value)):
            message = f"{RUN}: {value!r} is not a valid run number"
            yield report("TC609", model.job, path, message, found=f'"{value}"', expected=_RULE)
        elif key.startswith(TRAINC) and key != RUN:
            hint = suggest(key, (RUN,), by_words=True)
            yield report("TC609", model.job, path, f"unknown annotation {key!r}", expected=RUN, hint=hint)
    yield from labels_without_effect(model.job, "TC609", RUN)
    environment, config = model.options.environment, model.options.config_document
    names: tuple[tuple[Document | None, Path, str], ...] = (
        (model.job, ("metadata", "namespace"), model.namespace),
        (model.job, ("metadata", "name"), model.title),
        (config, ("environments", environment), environment),
    )
    for document, path, name in names:
        if document is not None:
            yield from reserved_folder(document, path, name, model.options)


def reserved_folder(document: Document, path: Path, name: str, options: Options) -> Iterator[Finding]:
    """Report a folder of out/ that has the name of a device in Windows."""
    if _RESERVED.fullmatch(name):
        message, severity = unfit_name("folder", name, options)
        yield report("TC023", document, path, message, severity=severity, found=name)


def unfit_name(what: str, name: str, options: Options) -> tuple[str, Severity | None]:
    """Return message and severity of a file or folder that Windows cannot create, and with which Flux may stop."""
    message = f"Windows cannot create a {what} called {name!r}"
    if flux.refuses(name) and flux.is_used(options.config):
        return f"{message}, and {flux.READS_NOTHING}", Severity.ERROR
    return message, None


# naming: content. The names of a job's objects end with eight digits of a hash of all immutable content.
#
# Each change of that content results in a new name, and a new run. The hash covers the JobSet with its plain name,
# without labels, annotations and mutable fields, and the ConfigMaps that its pods read.

MODE: Final = "content"
MUTABLE: Final = frozenset(("suspend", "ttlSecondsAfterFinished", "coordinator"))
"""Mutable fields of a JobSet's spec. failurePolicy and volumeClaimPolicies can only be added."""

_CONTENT: Final = ("data", "binaryData")
_CONFIG_MAP: Final = "ConfigMap"


def uses_content_hash(model: Model) -> bool:
    """Return whether the environment's names have a hash of the content."""
    return model.options.settings.naming.mode == MODE


def without_jobset(model: Model) -> Model:
    """Return the model without an existing JobSet with its plain name, which is not the final one."""
    kind = f"{JOBSET_API}/JobSet"
    if model.in_cluster(kind, model.name) is None:
        return model
    others = {key: each for key, each in model.cluster.items() if (key[0], key[2]) != (kind, model.name)}
    return replace(model, cluster=others)


def named(model: Model, objects: Objects) -> Model:
    """Return the model with its final name, from the objects with the plain one."""
    jobset = jobset_of(objects)
    if jobset is None:
        return model
    # Equal for two commits if the JobSet can be updated in place.
    names = read_by_pods(jobset.data)
    maps = {obj.name: obj.data for obj in objects if obj.kind == _CONFIG_MAP and obj.name in names}
    content: list[Json] = [{key: data[key] for key in _CONTENT if key in data} for _, data in sorted(maps.items())]
    return replace(model, name=f"{model.name}-{_hash([immutable_part(jobset.data), content])}")


def added_characters(model: Model) -> int:
    """Return how many characters the run number and the hash add to the name of a TrainJob."""
    plain = replace(model, name=model.title)
    return len(numbered(plain).name) - len(plain.name) + (1 + _DIGITS if uses_content_hash(model) else 0)


def immutable_part(jobset: JsonObject) -> JsonObject:
    """Return the immutable fields of a JobSet's spec."""
    return {key: value for key, value in as_object(jobset["spec"]).items() if key not in MUTABLE}


# The number of jobs that a change runs again.

_NAMED: Final = 10
"""The most jobs that a message names."""


class DeployedJob(NamedTuple):
    """A job as deployed: its namespace in the cluster, its name, its document, and the name of its JobSet.

    ``created`` has kind and name of the objects that JobSet's controller creates.
    """

    namespace: str
    name: str
    document: Document
    jobset: str | None = None
    created: tuple[tuple[str, str], ...] = ()


def too_many_reruns(jobs: Iterable[DeployedJob], base: Base, options: Options) -> tuple[Finding, ...]:
    """Return an error if more than maxReruns JobSets have another name than at the base revision.

    A change of a runtime renames the JobSets of all its jobs. New and removed jobs do not count.
    """
    naming = options.settings.naming
    if naming.mode != MODE or not base.is_given:
        return ()
    before: dict[tuple[str, str], Identity] = {}  # by the namespace and name of their directory
    for identity, file in ((each, file) for index, _ in base.of_kind("JobSet") for each, file in index.items()):
        steps = file.name.split("/")[2:]  # below out/<environment>
        if identity[1] == "JobSet" and len(steps) > 1:
            before.setdefault((steps[0], steps[1]), identity)
    again = []
    for job in jobs:
        was = before.get((job.namespace, job.name))
        if was is not None and job.jobset is not None and was[-1] != job.jobset:
            again.append((job, was))
    if len(again) <= naming.max_reruns:
        return ()
    names = [f"{job.namespace}/{job.name}" for job, _ in again]
    named = listed(names, _NAMED)
    document, path = options.config_document, options.path_of("naming")
    if document is None or path is None:
        document, path = again[0][0].document, _NAME
    elif get(document.data, *path, "maxReruns") is not None:
        path = (*path, "maxReruns")
    message = f"{len(again)} jobs of environment {options.environment} would run again: {named}"
    related = tuple(Related(f"at {base.revision}", old, _NAME) for _, was in again[:1] if (old := base.emitted(*was)))
    allowed = f"at most {naming.max_reruns}"
    return (report("TC611", document, path, message, found=str(len(again)), expected=allowed, related=related),)


# Names of immutable objects, which end with a hash of their content.

LONGEST = 63
"""The longest name of a Job, since it is the value of a label of its pods."""


def with_hashes(model: Model, objs: Objects) -> Objects:
    """Return the objects with the final names of those with a stem: ConfigMaps, then the Jobs that mount them."""
    if all(one.stem is None for one in objs):
        return objs
    maps = {one.name: _with_hash(one.data) for one in objs if one.stem is not None and one.kind == _CONFIG_MAP}

    def final(one: Object) -> JsonObject:
        if one.kind == _CONFIG_MAP:
            return maps[one.name]
        path = ("spec", "template", "spec", "volumes")
        volumes: list[Json] = []
        for volume in objects(get(one.data, *path)):
            name = get(maps.get(str(get(volume, "configMap", "name"))), "metadata", "name")
            volumes.append(volume if name is None else put(volume, ("configMap", "name"), name))
        return _with_hash(put(one.data, path, volumes))

    return tuple(one if one.stem is None else replace(one, data=final(one)) for one in objs)


def _with_hash(data: JsonObject) -> JsonObject:
    """Return an object with a hash at the end of its name, which is truncated if necessary."""
    end = f"-{_hash(data)}"
    metadata = as_object(data["metadata"])
    start = str(metadata["name"])[: LONGEST - len(end)].rstrip("-.")
    return {**data, "metadata": {**metadata, "name": start + end}}


def _hash(value: Json) -> str:
    """Return the first hexadecimal digits of the hash of a value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_DIGITS]


PASS: Final = Pass("naming", check=check)
HASH_SUFFIX: Final = Pass("hash_suffix", with_hashes, lambda *_: Origin("plugin", name="hash_suffix"))
"""The last pass that changes objects."""
