"""The Kustomization of one directory of out/, which Flux applies by itself: a change that one job cannot take, one of
an immutable field, then stops that job's Kustomization and no other.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from trainc.settings import Settings
from trainc.source import JsonObject

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
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
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
