"""Makes the ConfigMaps that a JobSet's pods read immutable, so that pods that restart read the same content.

Otherwise a commit whose JobSet is refused would still change the hostfile of the running job.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject
from trainc.gitops.base import Pass, jobset_of
from trainc.gitops.pods import named_by_pods
from trainc.plugins.model import Model, Objects, Origin

CONFIG_MAP: Final = "ConfigMap"


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
    return frozenset(name for kind, name in named_by_pods(jobset) if kind == CONFIG_MAP)


PASS: Final = Pass("immutable_configmaps", shape, lambda *_: Origin("plugin", name="immutable_configmaps"))
