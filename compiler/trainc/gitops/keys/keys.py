"""The pass that brings SSH keys: who makes them is sshKeys of the environment.

job (the default): a Secret without data, and a Job that fills it once (docs/ssh-keys.md). external-secrets: the
External Secrets Operator makes Secret and keys. existing: the pods mount a Secret that is there already.

Nothing is in a sync wave: pods wait until the items of their volume are there, and a key Job that waits or fails holds
back no other object of the commit.
"""

from __future__ import annotations

from trainc.gitops.base import Pass, by_environment, jobset_of
from trainc.gitops.keys.existing import renamed
from trainc.gitops.keys.launcher import launcher_of
from trainc.gitops.keys.made import made_by_job
from trainc.gitops.keys.operator import made_by_operator
from trainc.model import Model, Objects, Origin
from trainc.plugins.mpi.plugin import secret_name
from trainc.source import Json, Path

OPTION = "sshKeys"


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with those that bring the keys, where the JobSet's pods mount upstream's Secret.

    A Secret of that name among the documents is in the cluster: its keys count, as with a running controller (M7).
    """
    keys, secret = model.options.settings.ssh_keys, secret_name(model)
    jobset = jobset_of(objects)
    launcher = launcher_of(jobset.data, secret) if jobset is not None else None
    if jobset is None or launcher is None:
        return objects
    if keys.mode == "existing":
        return renamed(objects, secret, keys.secret) if keys.secret else objects
    if any(("v1/Secret", place, secret) in model.cluster for place in (model.home, model.namespace)):
        return objects
    if keys.mode == "external-secrets":
        return (*objects, *made_by_operator(model))
    return (*objects, *made_by_job(model, jobset, launcher))


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of the name of a Secret that is there already."""
    return by_environment(OPTION, model)


PASS = Pass(OPTION, shape, cause)
