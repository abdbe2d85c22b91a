"""Makes the ConfigMaps that a JobSet's pods read immutable, so that pods that restart read the same content.

Otherwise a commit whose JobSet is refused would still change the hostfile of the running job.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects
from trainc.gitops.base import Pass, jobset_of
from trainc.plugins.model import Model, Objects, Origin

CONFIG_MAP: Final = "ConfigMap"
_CONTAINERS: Final = ("initContainers", "containers")


def shape(model: Model, objs: Objects) -> Objects:
    """Return the objects with ``immutable: true`` in ConfigMaps that the pods read and that do not set the field."""
    jobset = jobset_of(objs)
    maps = {one.name for one in objs if one.kind == CONFIG_MAP and "immutable" not in one.data}
    names = maps & read_by_pods(jobset.data) if jobset is not None and maps else frozenset()
    if not names:
        return objs
    return tuple(
        replace(one, data={**one.data, "immutable": True}) if one.kind == CONFIG_MAP and one.name in names else one
        for one in objs
    )


def read_by_pods(jobset: JsonObject) -> frozenset[str]:
    """Return the names of the ConfigMaps that pods of a JobSet read, as volumes or as variables."""
    pods = (
        as_object(get(job, "template", "spec", "template", "spec"))
        for job in objects(get(jobset, "spec", "replicatedJobs"))
    )
    return frozenset(str(name) for pod in pods for name in _of_pod(pod) if name is not None)


def _of_pod(pod: JsonObject) -> Iterator[Json]:
    for volume in objects(pod.get("volumes")):
        yield from _of_volume(volume)
    for container in (container for kind in _CONTAINERS for container in objects(pod.get(kind))):
        for source in objects(container.get("envFrom")):
            yield get(source, "configMapRef", "name")
        for variable in objects(container.get("env")):
            if "valueFrom" in variable:
                yield get(variable, "valueFrom", "configMapKeyRef", "name")


def _of_volume(volume: JsonObject) -> Iterator[Json]:
    yield get(volume, "configMap", "name")
    if "projected" in volume:
        for source in objects(get(volume, "projected", "sources")):
            yield get(source, "configMap", "name")


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of immutable: this pass."""
    return Origin("plugin", name="immutable_configmaps")


PASS: Final = Pass("immutable_configmaps", shape, cause)
