"""The passes of default output, in order: what only a tree in git needs."""

from __future__ import annotations

from typing import Final

from trainc.gitops import (
    accounts,
    allowed,
    deadline,
    expiry,
    flux,
    freezing,
    images,
    keys,
    kubexec,
    lock,
    naming,
    patches,
    queue,
    sealing,
)
from trainc.gitops.base import History, Pass, nothing_found, nothing_judged, nothing_shaped
from trainc.plugins.model import Findings, Model, Objects

PASSES: Final[tuple[Pass, ...]] = (
    naming.PASS,
    deadline.PASS,
    keys.PASS,
    kubexec.PASS,
    lock.PASS,
    images.PASS,
    patches.PASS,
    freezing.PASS,
    expiry.PASS,
    accounts.PASS,
    allowed.PASS,
    flux.PASS,
    queue.PASS,
    sealing.PASS,
)
"""One tuple, since order is part of the output. The queue's comes after all that change the JobSet: it leaves the spec
as a server stores it. Sealing comes last: it names objects by their final content.
"""


_SHAPES: Final = tuple((step, step.shape) for step in PASSES if step.shape is not nothing_shaped)
_CHECKS: Final = tuple(step.check for step in PASSES if step.check is not nothing_found)
_JUDGES: Final = tuple(step.judge for step in PASSES if step.judge is not nothing_judged)
"""What the passes do, those left out that do nothing of it."""


def check(model: Model) -> Findings:
    """Return what the passes find in a joined model."""
    return tuple(finding for check in _CHECKS for finding in check(model))


def shape(model: Model, objects: Objects) -> tuple[Objects, History]:
    """Return the objects after the last pass, and what each left that has changed them."""
    history = []
    for step, shape in _SHAPES:
        after = shape(model, objects)
        if after is not objects:
            history.append((step, after))
        objects = after
    return objects, tuple(history)


def judge(model: Model, objects: Objects) -> Findings:
    """Return what the passes find in the finished objects."""
    return tuple(finding for judge in _JUDGES for finding in judge(model, objects))
