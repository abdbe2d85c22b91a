"""What a pass of default output is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trainc.model import Findings, Model, Object, Objects, Origin
from trainc.records import dataclass
from trainc.source import Json, JsonObject, Path

JOBSET = "JobSet"


def _nothing_found(model: Model) -> Findings:
    return ()


def _nothing_judged(model: Model, objects: Objects) -> Findings:
    return ()


@dataclass(frozen=True, slots=True)
class Pass:
    """One idea of what a tree in git needs beyond the controller's objects. All its functions are pure.

    ``shape`` returns the objects of a job with what the pass adds or changes, and the very objects given where there
    is nothing to do. ``cause`` tells the origin of a path that it brought to the JobSet, given the JobSet afterwards.
    ``check`` looks at the joined model before anything is built, ``judge`` at the objects after the last pass.
    """

    name: str
    shape: Callable[[Model, Objects], Objects]
    cause: Callable[[Model, Path, Json], Origin]
    check: Callable[[Model], Findings] = _nothing_found
    judge: Callable[[Model, Objects], Findings] = _nothing_judged


def jobset_of(objects: Objects) -> Object | None:
    """Return the JobSet among the objects of a job, or None."""
    return next((made for made in objects if made.kind == JOBSET), None)


def with_jobset(objects: Objects, data: JsonObject) -> Objects:
    """Return the objects with other data of the JobSet."""
    return tuple(replace(made, data=data) if made.kind == JOBSET else made for made in objects)


def by_environment(name: str) -> Origin:
    """Return the origin of what trainc.yaml has brought."""
    return Origin("environment", name=name)
