"""The runtime of an imported job: one that exists and fits, one that another job of the run has, or a new one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.documents.classify import RUNTIMES
from trainc.documents.load import load
from trainc.inputs.source import Document, Source
from trainc.migrate.trees import write_tree
from trainc.pipeline.runtimes import builtin_names, builtin_object
from trainc.upstream import ANCESTOR_LABEL, NODE, TRAINER

CLUSTER_WIDE: Final = "ClusterTrainingRuntime"
_JOBS: Final[Path] = ("template", "spec", "replicatedJobs")
_CONTAINERS: Final[Path] = ("template", "spec", "template", "spec", "containers")


class Runtimes:
    """The runtimes that jobs can use: those given, the built-in ones, and those that this run adds."""

    def __init__(self, documents: Iterable[Document]) -> None:
        given = [document.data for document in documents if document.data["kind"] in RUNTIMES]
        names = {_name(data) for data in given}
        built_in = [builtin_object(name) for name in builtin_names() if name not in names]
        self._known = [(_name(data), _shape(data)) for data in (*given, *built_in) if data["kind"] == CLUSTER_WIDE]
        self._taken = names | set(builtin_names())

    def reference(self, runtime: CommentedMap, job_name: str) -> tuple[str, bool]:
        """Return the name of a runtime that fits, and whether it is this one, which then gets its name."""
        shape = _shape(plain(runtime))
        found = next((name for name, known in self._known if known == shape), None)
        if found is not None:
            return found, False
        name = self._free(str(runtime["metadata"]["name"]), job_name)
        runtime["metadata"]["name"] = name
        self._taken.add(name)
        self._known.append((name, shape))
        return name, True

    def _free(self, name: str, job_name: str) -> str:
        if name not in self._taken:
            return name
        name = base = f"{name}-{job_name}"
        number = 2
        while name in self._taken:
            name = f"{base}-{number}"
            number += 1
        return name


def plain(tree: Any) -> JsonObject:
    """Return the data of a tree, as kubectl reads it."""
    (document,), _ = load(Source("", write_tree(tree)))
    return document.data


def _name(data: JsonObject) -> str:
    return str(get(data, "metadata", "name"))


def _shape(runtime: JsonObject) -> Json:
    """Return the spec of a runtime, without the image that its jobs replace."""
    spec: JsonObject = as_object(runtime.get("spec"))
    for number, job in enumerate(objects(get(spec, *_JOBS))):
        is_trainer = get(job, "template", "metadata", "labels", ANCESTOR_LABEL) == TRAINER
        for index, container in enumerate(objects(get(job, *_CONTAINERS)) if is_trainer else ()):
            if container.get("name") == NODE:
                spec = put(spec, (*_JOBS, number, *_CONTAINERS, index, "image"), None)
    return spec
