"""Flux instead of Argo CD: annotations for kustomize-controller, and the Kustomizations that apply out/."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object
from trainc.gitops.base import Pass, environment_origin
from trainc.inputs.settings import Settings
from trainc.plugins.model import Model, Objects, Origin
from trainc.upstream import FLUX_API

# Annotations for Flux's kustomize-controller, with target: flux.
#
# Source: fluxcd/kustomize-controller v1.10.1 and fluxcd/pkg/ssa v0.83.0.
#
# - ``substitute: disabled``: a Kustomization with postBuild would replace every unknown ``${...}`` with nothing, also
# in shell commands and scripts.
# - ``ssa: IfNotPresent`` on a Secret without data, which is set in the cluster.
# - ``prune: disabled`` on a PersistentVolumeClaim, whose data outlives the jobs.
#
# A JobSet has no more. With ``force: enabled``, a change of an immutable field would delete the running job.
# ``force: disabled`` has no effect, since spec.force of the Kustomization wins. With ``ssa: IfNotPresent``, git could
# neither stop nor resume a job, and changes that cannot be applied would not be reported.

PREFIX: Final = "kustomize.toolkit.fluxcd.io/"


def annotated(data: JsonObject) -> JsonObject:
    """Return an object with the annotations for Flux."""
    metadata = as_object(data["metadata"])
    annotations: JsonObject = {**as_object(metadata.get("annotations")), **_annotations(data)}
    return {**data, "metadata": {**metadata, "annotations": annotations}}


def _annotations(data: JsonObject) -> JsonObject:
    found: JsonObject = {f"{PREFIX}substitute": "disabled"}
    if data["kind"] == "Secret" and "data" not in data:
        found[f"{PREFIX}ssa"] = "IfNotPresent"
    if data["kind"] == "PersistentVolumeClaim":
        found[f"{PREFIX}prune"] = "disabled"
    return found


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with annotations if Flux applies them."""
    if model.options.settings.target != "flux":
        return objects
    return tuple(replace(obj, data=annotated(obj.data)) for obj in objects)


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of an annotation: the environment's target."""
    return environment_origin("target", model)


PASS = Pass("flux", shape, cause)


# The Kustomization of one directory of out/. With one per job, a change of an immutable field stops only that job's
# Kustomization.

LONGEST: Final = 63
"""The longest name, since Flux uses it as the value of a label."""


def kustomization(directory: str, settings: Settings) -> JsonObject:
    """Return the Kustomization of ``out/<environment>/<namespace>/<job>``."""
    options = settings.flux
    spec: JsonObject = {
        "interval": options.interval,
        "path": f"./{directory}",
        "prune": True,
        # Explicit: forced, a change of an immutable field would delete the running job.
        "force": False,
        "sourceRef": {"kind": "GitRepository", "name": options.source},
    }
    if options.on_delete == "keep":
        spec["deletionPolicy"] = "Orphan"
    return {
        "apiVersion": FLUX_API,
        "kind": "Kustomization",
        "metadata": {"name": _name(directory), "namespace": options.namespace},
        "spec": spec,
    }


def _name(directory: str) -> str:
    """Return <environment>.<namespace>.<job>, or its start and a hash if that is too long for a label."""
    name = ".".join(directory.split("/")[1:])
    if len(name) <= LONGEST:
        return name
    end = f"-{sha256(name.encode()).hexdigest()[:8]}"
    return name[: LONGEST - len(end)].rstrip("-.") + end
