"""Flux instead of Argo CD: what objects say to kustomize-controller, and the Kustomizations that apply out/."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object
from trainc.gitops.base import Pass, environment_origin
from trainc.inputs.settings import Settings
from trainc.plugins.model import Model, Objects, Origin
from trainc.upstream import FLUX_API

# What every object says to Flux's kustomize-controller, where target is flux.
#
# Source: fluxcd/kustomize-controller v1.10.1 and fluxcd/pkg/ssa v0.83.0, their code.
#
# - ``substitute: disabled``: a Kustomization with postBuild would put nothing in place of every ``${...}`` that it
# does not know, those of shells in commands and scripts included.
# - ``ssa: IfNotPresent`` on a Secret without data: the cluster fills it, nothing in git is ever newer.
# - ``prune: disabled`` on a PersistentVolumeClaim: its data outlives the jobs.
#
# A JobSet says no more. Not ``force: enabled``: with it, a change of an immutable field deletes the running job.
# ``force: disabled`` is not there: only what enables it is looked for, and spec.force of the Kustomization wins. Not
# ``ssa: IfNotPresent``: then git could neither stop nor resume a job, and a change that cannot be made would go
# unnoticed.

PREFIX: Final = "kustomize.toolkit.fluxcd.io/"


def annotated(data: JsonObject) -> JsonObject:
    """Return an object with what it says to Flux among its annotations."""
    metadata = as_object(data["metadata"])
    annotations: JsonObject = {**as_object(metadata.get("annotations")), **_said(data)}
    return {**data, "metadata": {**metadata, "annotations": annotations}}


def _said(data: JsonObject) -> JsonObject:
    said: JsonObject = {f"{PREFIX}substitute": "disabled"}
    if data["kind"] == "Secret" and "data" not in data:
        said[f"{PREFIX}ssa"] = "IfNotPresent"
    if data["kind"] == "PersistentVolumeClaim":
        said[f"{PREFIX}prune"] = "disabled"
    return said


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with their annotations where Flux applies them."""
    if model.options.settings.target != "flux":
        return objects
    return tuple(replace(obj, data=annotated(obj.data)) for obj in objects)


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of an annotation: the environment's target."""
    return environment_origin("target", model)


PASS = Pass("flux", shape, cause)


# The Kustomization of one directory of out/, which Flux applies by itself: a change that one job cannot take, one of
# an immutable field, then stops that job's Kustomization and no other.

LONGEST: Final = 63
"""Flux puts the name into a label of every object that it applies."""


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
    """Return <environment>.<namespace>.<job>; its beginning and a hash where that is too long for a label."""
    name = ".".join(directory.split("/")[1:])
    if len(name) <= LONGEST:
        return name
    end = f"-{sha256(name.encode()).hexdigest()[:8]}"
    return name[: LONGEST - len(end)].rstrip("-.") + end
