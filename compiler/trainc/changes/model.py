"""The types of a difference between two trees of out/."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from trainc.basics.jsonvalues import Json
from trainc.findings import Finding


class Effect(StrEnum):
    """What the cluster does with a job or an object."""

    CREATED = "created"
    UPDATED = "updated"
    RERUN = "rerun"
    RENAMED = "renamed"
    REFUSED = "refused"
    HELD = "held"
    DELETED = "deleted"
    KEPT = "kept"
    COMMENTS = "comments"
    UNREADABLE = "unreadable"


class Place(NamedTuple):
    """A directory of out/: ``out/<environment>/<namespace>/<name>``; name is the job's, without run number."""

    environment: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """Return the place without ``out/``."""
        return "/".join(self)


class Usage(NamedTuple):
    """What jobs take while they run: pods, and GPUs by the name of the resource. Suspended jobs take nothing."""

    jobs: int = 0
    pods: int = 0
    gpus: tuple[tuple[str, int], ...] = ()

    @property
    def gpu_count(self) -> int:
        """The number of GPUs of any name."""
        return sum(count for _, count in self.gpus)

    def plus(self, other: Usage) -> Usage:
        """Return both together."""
        gpus = dict(self.gpus)
        for name, count in other.gpus:
            gpus[name] = gpus.get(name, 0) + count
        return Usage(self.jobs + other.jobs, self.pods + other.pods, tuple(sorted(gpus.items())))


class FieldChange(NamedTuple):
    """One field that differs; items of lists are named by their merge key. None stands for nothing there."""

    path: str
    old: Json
    new: Json


class Word(NamedTuple):
    """A change in a user's words: what, of which pods (none: of the job), and the texts; None where there is none."""

    what: str
    where: tuple[str, ...]
    old: str | None
    new: str | None


class Refusal(NamedTuple):
    """What the API server or a webhook refuses to change: the object, the field and the message."""

    kind: str
    name: str
    field: str
    message: str


class ObjectChange(msgspec.Struct, frozen=True):
    """What becomes of one object; ``old_name`` differs from ``name`` where another object takes its place."""

    file: str
    kind: str
    name: str
    old_name: str
    effect: Effect
    fields: tuple[FieldChange, ...] = ()


class Pods(NamedTuple):
    """A replicated job as a graph shows it: its name, its pods, and the names and states it waits for."""

    name: str
    pods: int
    waits_for: tuple[tuple[str, str], ...]


class JobChange(msgspec.Struct, frozen=True):
    """What becomes of one directory of out/: a job, or what the jobs of a namespace share.

    ``old_name`` and ``name`` are those of the JobSet, empty where there is none. ``application`` is whose sync it is
    part of, ``cluster`` what the cluster does, a sentence each, ``remedy`` the line that lets a refused change through.
    ``last``: the application has no directory left. ``runtime`` is its runtime's file. ``queue`` is Kueue's, empty
    without one. ``other`` is the directory that the job had before it was renamed.
    """

    place: Place
    effect: Effect
    application: str
    name: str = ""
    old_name: str = ""
    source: str = ""
    runtime: str = ""
    queue: str = ""
    words: tuple[Word, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    cluster: tuple[str, ...] = ()
    remedy: str | None = None
    before: Usage = Usage()
    after: Usage = Usage()
    graph: tuple[Pods, ...] = ()
    other: Place | None = None
    last: bool = False


class Total(NamedTuple):
    """What is taken before and after."""

    before: Usage
    after: Usage


class Totals(msgspec.Struct, frozen=True):
    """Totals of everything, by environment and namespace, and by environment, namespace and queue."""

    all: Total = Total(Usage(), Usage())
    namespaces: Mapping[tuple[str, str], Total] = msgspec.field(default_factory=dict)
    queues: Mapping[tuple[str, str, str], Total] = msgspec.field(default_factory=dict)


class Difference(msgspec.Struct, frozen=True):
    """All that differs: changed directories, sorted; the number of those unchanged; totals; findings.

    ``weakened`` are findings on what judges less than before, ``unexplained`` are jobs none of whose sources changed.
    ``foreign`` names what trainc did not write and Argo CD or Flux reads. ``stale`` are directories whose sources give
    something else than they hold, None where that is not known; ``broken``: because the sources have errors.
    """

    jobs: tuple[JobChange, ...] = ()
    unchanged: int = 0
    totals: Totals = Totals()
    findings: tuple[Finding, ...] = ()
    weakened: tuple[Finding, ...] = ()
    unexplained: tuple[Place, ...] = ()
    foreign: tuple[str, ...] = ()
    stale: tuple[Place, ...] | None = None
    broken: bool = False
