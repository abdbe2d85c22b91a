"""The runtime of an imported job: one that exists and fits, one that another job of the run has, or a new one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.documents.classify import RUNTIMES
from trainc.inputs.source import Document
from trainc.migrate.pods import PATCHABLE, PATCHABLE_OF_CONTAINERS
from trainc.pipeline.runtimes import builtin_names, builtin_object
from trainc.upstream import ANCESTOR_LABEL, NODE, TRAINER, TRANSPORT

_LONGEST: Final = 63
_CLUSTER_WIDE: Final = "ClusterTrainingRuntime"
_JOBS: Final[Path] = ("template", "spec", "replicatedJobs")
_POD: Final[Path] = ("template", "spec", "template")
_PATCHES: Final[Path] = ("trainingRuntimeSpec", *_JOBS)

_Parts = frozenset[tuple[Path, str]]
"""What a runtime patch can set in a pod: keys and values. ``containers`` stands for container node."""


class Runtimes:
    """The runtimes that jobs can use: those given, the built-in ones, and those that this run adds.

    The names ``taken`` are those of others, in place of built-in ones.
    """

    def __init__(self, documents: Iterable[Document], taken: Iterable[str] = ()) -> None:
        given = [document.data for document in documents if document.data["kind"] in RUNTIMES]
        names = {*map(_name, given), *taken}
        built_in = [builtin_object(name) for name in builtin_names() if name not in names]
        self._by_shape: dict[str, list[tuple[str, _Parts]]] = {}
        self._shapes: dict[str, Json] = {}
        for data in (*given, *built_in):
            if data["kind"] == _CLUSTER_WIDE:
                self._add(_name(data), *_split(data))
        self._taken = names | set(builtin_names())

    def _add(self, name: str, shape: Json, parts: _Parts) -> None:
        self._by_shape.setdefault(_key(shape), []).append((name, parts))
        self._shapes.setdefault(name, shape)

    def reference(self, runtime: CommentedMap, job: CommentedMap) -> tuple[str, bool]:
        """Return the name of a runtime that fits, and whether it is this one, which then gets its name.

        A runtime may have parts of the job's patch, which are then removed from the job. The one with most of them is
        used, and of several the first.
        """
        shape, own = _split(plain(runtime))
        pod = _patched(job)
        wanted = own | _parts(pod)
        fitting = [(name, parts) for name, parts in self._by_shape.get(_key(shape), ()) if own <= parts <= wanted]
        if fitting:
            name, parts = max(fitting, key=lambda one: len(one[1]))
            _remove(job, pod, {key for key, _ in parts - own})
            return name, False
        name, job_name = str(runtime["metadata"]["name"]), str(job["metadata"]["name"])
        name = self._free(name if name.endswith(job_name) else name + _variant(shape), job_name)
        runtime["metadata"]["name"] = name
        self._taken.add(name)
        self._add(name, shape, own)
        return name, True

    def too_long(self, name: str, job: str) -> str | None:
        """Return a message if the names of the pods of a job would be too long with a runtime.

        JobSet's webhook adds 5 random characters and a dash to the longest name.
        """
        for replicated in objects(get(self._shapes[name], *_JOBS)):
            counts = get(replicated, "replicas"), get(replicated, "template", "spec", "completions")
            last = [str(max(count if isinstance(count, int) else 1, 1) - 1) for count in counts]
            pod = f"{job}-{replicated.get('name')}-{last[0]}-{last[1]}-abcde"
            if len(pod) > _LONGEST:
                return f"the names of pods, such as {pod}, exceed {_LONGEST} characters"
        return None

    def _free(self, name: str, job: str) -> str:
        """Return a name that no runtime has."""
        others = (f"{name}-{job}-{number}" for number in count(2))
        return next(one for one in chain((name, f"{name}-{job}"), others) if one not in self._taken)


def plain(tree: Any) -> Any:
    """Return a tree as data."""
    return json.loads(json.dumps(tree, default=str))


def _key(shape: Json) -> str:
    return json.dumps(shape, sort_keys=True)


def _name(data: JsonObject) -> str:
    return str(get(data, "metadata", "name"))


def _variant(shape: Json) -> str:
    """Return the part of a name that says how a runtime differs from others for the same framework."""
    gang = "".join(f"-{kind}" for kind in as_object(get(shape, "podGroupPolicy")))
    jobs = objects(get(shape, *_JOBS))
    never = len(jobs) == 1 and get(jobs[0], "template", "spec", "backoffLimit") == 0
    return f"{gang}-never" if never else gang


def _split(runtime: JsonObject) -> tuple[Json, _Parts]:
    """Return a runtime's spec and transport, without the image that its jobs replace, and what jobs could patch."""
    spec: JsonObject = {**as_object(runtime.get("spec")), TRANSPORT: get(runtime, "metadata", "annotations", TRANSPORT)}
    parts: _Parts = frozenset()
    for number, job in enumerate(objects(get(spec, *_JOBS))):
        if get(job, "template", "metadata", "labels", ANCESTOR_LABEL) != TRAINER:
            continue
        pod = get(job, *_POD)
        removed: list[Path] = [
            ("spec", "containers", index, "image")
            for index, container in enumerate(objects(get(pod, "spec", "containers")))
            if container.get("name") == NODE
        ]
        if job.get("name") == NODE:
            parts = _parts(pod)
            removed += [path for _, path in _places(pod)]
        for path in removed:
            spec = put(spec, (*_JOBS, number, *_POD, *path), None)
    return _without_nulls(spec), parts


def _without_nulls(value: Json) -> Json:
    """Return a value without nulls, and without the mappings that have nothing else."""
    if isinstance(value, dict):
        kept: JsonObject = {key: item for key, old in value.items() if (item := _without_nulls(old)) is not None}
        return kept if kept or not value else None
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _parts(pod: Json) -> _Parts:
    return frozenset((key, json.dumps(get(pod, *path), sort_keys=True)) for key, path in _places(pod))


def _places(pod: Json) -> Iterator[tuple[Path, Path]]:
    """Yield what a runtime patch can set in a pod: a key that is the same in every pod, and the path."""
    for mapping in (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector")):
        for name in as_object(get(pod, *mapping)):
            yield (*mapping, name), (*mapping, name)
    for field in PATCHABLE:
        if field != "nodeSelector" and get(pod, "spec", field) is not None:
            yield ("spec", field), ("spec", field)
    for index, container in enumerate(objects(get(pod, "spec", "containers"))):
        for field in PATCHABLE_OF_CONTAINERS if container.get("name") == NODE else ():
            if container.get(field) is not None:
                yield ("containers", field), ("spec", "containers", index, field)


def _patched(job: CommentedMap) -> JsonObject:
    """Return what a job patches in the pods of node, as data."""
    for patch in objects(get(plain(job), "spec", "runtimePatches")):
        for replicated in objects(get(patch, *_PATCHES)):
            if replicated.get("name") == NODE:
                return as_object(get(replicated, *_POD))
    return {}


def _remove(job: CommentedMap, pod: JsonObject, keys: set[Path]) -> None:
    """Remove parts from the patch of a job, and the patch itself if nothing else is in it."""
    if not keys:
        return
    tree: Any = job["spec"]["runtimePatches"][0]
    for step in (*_PATCHES, 0, *_POD):
        tree = tree[step]
    for path in [path for key, path in _places(pod) if key in keys]:
        _delete(tree, path)
    if "containers" in tree.get("spec", ()) and len(tree["spec"]["containers"][0]) == 1:
        _delete(tree, ("spec", "containers"))
    if not tree:
        del job["spec"]["runtimePatches"]


def _delete(tree: Any, path: Path) -> None:
    """Delete a value, and then the mappings that are empty without it."""
    for size in range(len(path), 0, -1):
        parent = tree
        for step in path[: size - 1]:
            parent = parent[step]
        if size == len(path) or (isinstance(path[size - 1], str) and not parent[path[size - 1]]):
            del parent[path[size - 1]]
