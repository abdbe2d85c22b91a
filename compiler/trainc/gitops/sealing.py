"""Names with a hash of the content, for objects that cannot be changed: other content is another object.

Runs when nothing else changes an object. Files are called without the hash (output.py), so that a change is one file's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects
from trainc.gitops.base import Pass
from trainc.plugins.model import Model, Object, Objects, Origin

LONGEST = 63
"""A Job's name is the value of a label of its pods."""

_CONFIG_MAP = "ConfigMap"


def shape(model: Model, made: Objects) -> Objects:
    """Return the objects that have a stem under their final names: ConfigMaps, then the Jobs that mount them."""
    if all(one.stem is None for one in made):
        return made
    maps = {one.name: _sealed(one.data) for one in made if one.stem is not None and one.kind == _CONFIG_MAP}
    names = {old: str(get(data, "metadata", "name")) for old, data in maps.items()}
    return tuple(_final(one, maps, names) for one in made)


def _final(one: Object, maps: Mapping[str, JsonObject], names: Mapping[str, str]) -> Object:
    if one.stem is None:
        return one
    data = maps[one.name] if one.kind == _CONFIG_MAP else _sealed(_mounting(one.data, names))
    return replace(one, data=data)


def _sealed(data: JsonObject) -> JsonObject:
    """Return an object with eight digits of its hash at the end of its name, which is cut off where it is too long."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    end = f"-{sha256(text.encode()).hexdigest()[:8]}"
    metadata = as_object(data["metadata"])
    start = str(metadata["name"])[: LONGEST - len(end)].rstrip("-.")
    return {**data, "metadata": {**metadata, "name": start + end}}


def _mounting(data: JsonObject, names: Mapping[str, str]) -> JsonObject:
    """Return a Job with ConfigMaps in its volumes under their final names."""
    spec = as_object(data.get("spec"))
    template = as_object(spec.get("template"))
    pod = as_object(template.get("spec"))
    volumes: list[Json] = [_volume(volume, names) for volume in objects(pod.get("volumes"))]
    pod = {**pod, "volumes": volumes}
    return {**data, "spec": {**spec, "template": {**template, "spec": pod}}}


def _volume(volume: JsonObject, names: Mapping[str, str]) -> JsonObject:
    source = volume.get("configMap")
    name = get(source, "name")
    if not isinstance(source, dict) or not isinstance(name, str) or name not in names:
        return volume
    return {**volume, "configMap": {**source, "name": names[name]}}


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of a name with a hash: this pass."""
    return Origin("plugin", name="sealing")


PASS = Pass("sealing", shape, cause)
