"""naming: content. Eight digits of a hash over what cannot be changed end the name of a job's objects.

Then every such change gives a new name by itself, and so a new run. The hash covers the JobSet as it would be under the
plain name, labels, annotations and what JobSet's webhook lets change left out, and the ConfigMaps that its pods read.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject, as_object
from trainc.gitops.base import jobset_of
from trainc.gitops.freezing import reads
from trainc.plugins.model import Model, Objects
from trainc.upstream import JOBSET_API

MODE: Final = "content"
DIGITS: Final = 8
CHANGEABLE: Final = frozenset(("suspend", "ttlSecondsAfterFinished", "coordinator"))
"""What of a JobSet's spec may change while it is there. failurePolicy and volumeClaimPolicies may only be added."""

_CONTENT: Final = ("data", "binaryData")


def is_by_content(model: Model) -> bool:
    """Tell whether the environment has names by content."""
    return model.options.settings.naming.mode == MODE


def unnamed(model: Model) -> Model:
    """Return the model of which the hash is taken: no JobSet of its name, which is not its final one, is there."""
    key = (f"{JOBSET_API}/JobSet", model.home, model.name)
    if key not in model.cluster:
        return model
    return replace(model, cluster={other: found for other, found in model.cluster.items() if other != key})


def named(model: Model, objects: Objects) -> Model:
    """Return the model under its final name, given the objects under the plain one."""
    jobset = jobset_of(objects)
    if jobset is None:
        return model
    return replace(model, name=f"{model.name}-{digest(jobset.data, objects)}")


def digest(jobset: JsonObject, objects: Objects) -> str:
    """Return the digits: equal for two commits between which a JobSet could be updated in place."""
    names = reads(jobset)
    maps = {made.name: made.data for made in objects if made.kind == "ConfigMap" and made.name in names}
    content = [{key: data[key] for key in _CONTENT if key in data} for _, data in sorted(maps.items())]
    text = json.dumps([immutable_part(jobset), content], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:DIGITS]


def immutable_part(jobset: JsonObject) -> JsonObject:
    """Return what of a JobSet's spec cannot be changed."""
    return {key: value for key, value in as_object(jobset["spec"]).items() if key not in CHANGEABLE}
