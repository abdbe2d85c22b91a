"""The passes of default output, in order."""

from __future__ import annotations

from typing import Final

from trainc.gitops import (
    environment,
    flux,
    images,
    immutable_configmaps,
    keys,
    kubexec,
    lifetime,
    namespaces,
    naming,
    patches,
    service_accounts,
)
from trainc.gitops.base import Pass
from trainc.plugins.model import Findings, Model, Objects

PASSES: Final[tuple[Pass, ...]] = (
    naming.PASS,
    keys.PASS,
    kubexec.PASS,
    images.DIGESTS,
    images.PASS,
    namespaces.PASS,
    lifetime.QUEUE,
    patches.JOBSET_PASS,
    keys.PATCHED,
    kubexec.PATCHED,
    patches.PASS,
    images.PATCHED,
    lifetime.DEADLINE,
    immutable_configmaps.PASS,
    lifetime.TTL,
    service_accounts.PASS,
    environment.SYNC,
    flux.PASS,
    lifetime.SUSPEND,
    naming.HASH_SUFFIX,
)
"""The order is part of the output. The deadline comes after the patches, which can add a job, or what restarts it. The
hash suffix comes last, since it depends on the final content.
"""


def check(model: Model) -> Findings:
    """Return the findings of the passes on a joined model."""
    return tuple(finding for each in PASSES for finding in each.check(model))


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects of a job after the last pass."""
    for each in PASSES:
        objects = each.shape(model, objects)
    return objects


def check_objects(model: Model, objects: Objects) -> Findings:
    """Return the findings of the passes on the finished objects."""
    return tuple(finding for each in PASSES for finding in each.check_objects(model, objects))
