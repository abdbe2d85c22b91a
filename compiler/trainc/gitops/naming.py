"""Names that change on purpose: run numbers, names by content, and hashes at the end of names.

A JobSet runs once and can hardly be changed. To run a job again, or to change what cannot be changed, its objects get
another name: annotation ``trainc.dev/run: "2"`` makes ``<job>-2`` of ``<job>``, and ``naming: content`` adds a hash of
what cannot be changed. All other names derive from that one. The folder and the files keep the job's own name, so that
git shows a change as a change of one file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec.structs import replace

from trainc.admission.base_revision import Base
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.basics.regex import lazy
from trainc.findings import Finding, Related, report, suggest
from trainc.gitops.base import RUN_NUMBER, Pass, jobset_of, option_path, run_of
from trainc.gitops.immutable_configmaps import reads
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.upstream import JOBSET_API, RUN, TRAINC

_NAME: Path = ("metadata", "name")

# Run numbers.

_ANNOTATIONS: Path = ("metadata", "annotations")
_RESERVED: Final = lazy(r"(con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?")
"""Names of devices: https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""
_DIGITS: Final = 8
"""The length of a hash in names."""
_RULE: Final = 'a whole number from 1, such as "2"'


def numbered(model: Model) -> Model:
    """Return the model under the name of its run. Under faithful the annotation means nothing."""
    run = 1 if model.options.faithful else run_of(model.job)
    return model if run == 1 else replace(model, name=f"{model.title}-{run}")


def new_run_hint(job: Document) -> str:
    """Return the hint for a change that is impossible under the same name: the line that gives another name."""
    line = f'{RUN}: "{run_of(job) + 1}"'
    return f"leave it as it was; or add {line} to metadata.annotations of the TrainJob: the job runs again, renamed"


def titled(model: Model, objects: Objects) -> Objects:
    """Return the objects with their titles: their names without run number and hash."""
    if model.name == model.title:
        return objects
    return tuple(_titled(model, obj) for obj in objects)


def _titled(model: Model, obj: Object) -> Object:
    name, rest = obj.stem or obj.name, ""
    if name != model.name:
        if not name.startswith(f"{model.name}-"):
            return obj
        rest = name[len(model.name) :]
    return replace(obj, title=model.title + rest)


def check(model: Model) -> Findings:
    """Refuse an invalid run number and unknown annotations of trainc; warn about reserved names."""
    annotations = as_object(get(model.job.data, *_ANNOTATIONS))
    wrong = tuple(_problem(model.job, key, value) for key, value in annotations.items() if _is_wrong(key, value))
    return (*wrong, *_reserved(model))


def _reserved(model: Model) -> Iterator[Finding]:
    """Yield a warning for each folder of the job's output that git cannot check out under Windows."""
    names = (("namespace", model.namespace), ("name", model.title))
    for key, name in names:
        if _RESERVED.fullmatch(name):
            yield report("TC023", model.job, ("metadata", key), f"Windows has no folder {name!r}", found=name)
    environment, config = model.options.environment, model.options.config_document
    if _RESERVED.fullmatch(environment) and config is not None:
        message = f"Windows has no folder {environment!r}"
        yield report("TC023", config, ("environments", environment), message, found=environment)


def _is_wrong(key: str, value: Json) -> bool:
    if key == RUN:
        return not isinstance(value, str) or RUN_NUMBER.fullmatch(value) is None
    return key.startswith(TRAINC)


def _problem(job: Document, key: str, value: Json) -> Finding:
    path = (*_ANNOTATIONS, key)
    if key == RUN:
        return report("TC609", job, path, f"{RUN} is no run number", found=f'"{value}"', expected=_RULE)
    return report("TC609", job, path, f"trainc has no annotation {key!r}", expected=RUN, hint=suggest(key, (RUN,)))


# naming: content. Eight digits of a hash over everything that cannot be changed end the name of a job's objects.
#
# So every such change gives a new name, and a new run. The hash covers the JobSet under the plain name, without labels,
# annotations and what JobSet's webhook lets change, and the ConfigMaps that its pods read.

MODE: Final = "content"
CHANGEABLE: Final = frozenset(("suspend", "ttlSecondsAfterFinished", "coordinator"))
"""Fields of a JobSet's spec that may change later. failurePolicy and volumeClaimPolicies may only be added."""

_CONTENT: Final = ("data", "binaryData")


def is_by_content(model: Model) -> bool:
    """Tell whether the environment has names by content."""
    return model.options.settings.naming.mode == MODE


def unnamed(model: Model) -> Model:
    """Return the model whose objects are hashed: as if no JobSet of that name, which is not the final one, existed."""
    key = (f"{JOBSET_API}/JobSet", model.home, model.name)
    if key not in model.cluster:
        return model
    return replace(model, cluster={other: found for other, found in model.cluster.items() if other != key})


def named(model: Model, objects: Objects) -> Model:
    """Return the model under its final name, given the objects under the plain one."""
    jobset = jobset_of(objects)
    if jobset is None:
        return model
    return replace(model, name=f"{model.name}-{_digest(jobset.data, objects)}")


def added_characters(model: Model) -> int:
    """Return how many characters the run number and the hash add to the name of a TrainJob."""
    plain = replace(model, name=model.title)
    return len(numbered(plain).name) - len(plain.name) + (1 + _DIGITS if is_by_content(model) else 0)


def _digest(jobset: JsonObject, objects: Objects) -> str:
    """Return the digits: equal for two commits if the JobSet can be updated in place from one to the other."""
    names = reads(jobset)
    maps = {obj.name: obj.data for obj in objects if obj.kind == "ConfigMap" and obj.name in names}
    content: list[Json] = [{key: data[key] for key in _CONTENT if key in data} for _, data in sorted(maps.items())]
    return _hash([immutable_part(jobset), content])


def immutable_part(jobset: JsonObject) -> JsonObject:
    """Return what of a JobSet's spec cannot be changed."""
    return {key: value for key, value in as_object(jobset["spec"]).items() if key not in CHANGEABLE}


# How many jobs one change runs again.

_NAMED: Final = 10
"""The most jobs that a message names."""


class Placed(NamedTuple):
    """A job in the cluster: its namespace there, its own name, the document, and what its JobSet is called."""

    namespace: str
    name: str
    document: Document
    jobset: str | None = None


def too_many(placed: Iterable[Placed], base: Base, options: Options) -> tuple[Finding, ...]:
    """Return an error if more JobSets than maxReruns allows have another name than at the base revision.

    A change of a runtime renames the JobSets of all its jobs. New and removed jobs do not count.
    """
    naming = options.settings.naming
    if naming.mode != MODE or not base.revision:
        return ()
    again = tuple(_renamed(placed, _jobsets(base, options.environment)))
    if len(again) <= naming.max_reruns:
        return ()
    names = [f"{job.namespace}/{job.name}" for job, _ in again]
    named = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    document, path = options.config_document, option_path(options, "naming")
    if document is None or path is None:
        document, path = again[0][0].document, _NAME
    elif get(document.data, *path, "maxReruns") is not None:
        path = (*path, "maxReruns")
    message = f"{len(again)} jobs of environment {options.environment} would run again: {named}"
    related = tuple(Related(f"at {base.revision}", old, _NAME) for _, old in again[:1])
    allowed = f"at most {naming.max_reruns}"
    return (report("TC611", document, path, message, found=str(len(again)), expected=allowed, related=related),)


def _renamed(placed: Iterable[Placed], before: Mapping[tuple[str, str], Document]) -> Iterator[tuple[Placed, Document]]:
    for job in placed:
        old = before.get((job.namespace, job.name))
        if old is not None and job.jobset is not None and get(old.data, *_NAME) != job.jobset:
            yield job, old


def _jobsets(base: Base, environment: str) -> Mapping[tuple[str, str], Document]:
    """Return the JobSets at the base revision by the namespace and name of their directories."""
    prefix = f"{base.revision}:out/{environment}/"
    found: dict[tuple[str, str], Document] = {}
    for document in base.of_kind("JobSet")[0].values():
        steps = document.source.name.removeprefix(prefix).split("/")
        if document.data.get("kind") == "JobSet" and len(steps) > 1:
            found[steps[0], steps[1]] = document
    return found


# Names that end in a hash, for objects that cannot be changed: other content is another object.

LONGEST = 63
"""A Job's name is the value of a label of its pods."""

_CONFIG_MAP = "ConfigMap"


def suffixed(model: Model, objs: Objects) -> Objects:
    """Return the objects that have a stem under their final names: ConfigMaps, then the Jobs that mount them."""
    if all(one.stem is None for one in objs):
        return objs
    maps = {one.name: _suffixed(one.data) for one in objs if one.stem is not None and one.kind == _CONFIG_MAP}
    names = {old: str(get(data, "metadata", "name")) for old, data in maps.items()}
    return tuple(_final(one, maps, names) for one in objs)


def _final(one: Object, maps: Mapping[str, JsonObject], names: Mapping[str, str]) -> Object:
    if one.stem is None:
        return one
    data = maps[one.name] if one.kind == _CONFIG_MAP else _suffixed(_mounting(one.data, names))
    return replace(one, data=data)


def _suffixed(data: JsonObject) -> JsonObject:
    """Return an object with its hash at the end of its name, which is cut where it is too long."""
    end = f"-{_hash(data)}"
    metadata = as_object(data["metadata"])
    start = str(metadata["name"])[: LONGEST - len(end)].rstrip("-.")
    return {**data, "metadata": {**metadata, "name": start + end}}


def _mounting(data: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return a Job with ConfigMaps in its volumes under their final names."""
    path = ("spec", "template", "spec", "volumes")
    return put(data, path, [_volume(volume, names) for volume in objects(get(data, *path))])


def _volume(volume: JsonObject, names: Mapping[str, str]) -> JsonObject:
    source = volume.get("configMap")
    name = get(source, "name")
    if not isinstance(source, dict) or not isinstance(name, str) or name not in names:
        return volume
    return {**volume, "configMap": {**source, "name": names[name]}}


def _cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of a name with a hash: this pass."""
    return Origin("plugin", name="hash_suffix")


def _hash(value: Json) -> str:
    """Return the first hexadecimal digits of the hash of a value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_DIGITS]


PASS: Final = Pass("naming", check=check)
HASH_SUFFIX: Final = Pass("hash_suffix", suffixed, _cause)
"""Runs when nothing else changes an object."""
