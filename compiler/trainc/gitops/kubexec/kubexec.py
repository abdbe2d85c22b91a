"""The pass that lets mpirun's launcher exec into the nodes, where that is a job's transport (docs/kubexec.md).

The plugin has brought scripts and variables already; this adds what a cluster has to allow. Kubernetes cannot limit the
right to exec to pods whose names nobody knows yet: it holds for every pod of the namespace.
"""

from __future__ import annotations

from typing import Final

from trainc.gitops.base import Pass, by_environment, jobset_of, with_jobset
from trainc.gitops.kubexec.checks import check, judge
from trainc.gitops.kubexec.objects import origin, rights
from trainc.gitops.kubexec.pods import account_of, launcher_place, shaped
from trainc.model import Model, Objects, Origin
from trainc.plugins.mpi.kubexec import kubexec_name
from trainc.plugins.mpi.transport import by_kubexec
from trainc.source import Json, Path

OPTION: Final = "transport"


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with the launcher's rights, and the token in its pod only."""
    jobset = jobset_of(objects) if by_kubexec(model) else None
    if jobset is None or launcher_place(jobset.data) is None:
        return objects
    own = account_of(jobset.data)
    data = shaped(jobset.data, own or kubexec_name(model), model.options.settings.transport.image or None)
    return (*with_jobset(objects, data), *rights(model, own))


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of what the pass brings to pods: kubectl comes from the environment's image."""
    if model.options.settings.transport.image and ("initContainers" in path or "volumes" in path):
        return by_environment(OPTION, model, "image")
    return origin(model)


PASS: Final = Pass("kubexec", shape, cause, check, judge)
