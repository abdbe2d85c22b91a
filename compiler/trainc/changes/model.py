"""The types of a difference between two trees of out/. The JSON output has the fields of the structs with camelCase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field

from trainc.basics.jsonvalues import Json
from trainc.findings import Finding


class Effect(StrEnum):
    """The action of the cluster on a job or an object."""

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


class Directory(NamedTuple):
    """A directory of out/: ``out/<environment>/<namespace>/<job>``, without the job's run number."""

    environment: str
    namespace: str
    job: str

    def __str__(self) -> str:
        """Return the path without ``out/``."""
        return "/".join(self)


class Usage(NamedTuple):
    """The pods and GPUs (by resource name) of running jobs. Suspended jobs use none."""

    jobs: int = 0
    pods: int = 0
    gpus: tuple[tuple[str, int], ...] = ()

    @property
    def gpu_count(self) -> int:
        """The number of GPUs of any name."""
        return sum(count for _, count in self.gpus)

    @classmethod
    def of(cls, parts: Collection[Usage]) -> Usage:
        """Return all parts together."""
        gpus: Counter[str] = Counter()
        for name, count in (each for part in parts for each in part.gpus):
            gpus[name] += count
        return cls(sum(part.jobs for part in parts), sum(part.pods for part in parts), tuple(sorted(gpus.items())))


class FieldChange(Struct, frozen=True):
    """A changed field; list items are named by their merge key. None is a missing value."""

    path: str
    old: Json
    new: Json


class PropertyChange(Struct, frozen=True):
    """A change in the user's terms: what, in which pods (or the job), and the old and new text; None if missing."""

    what: str
    where: tuple[str, ...]
    old: str | None
    new: str | None


class Refusal(Struct, frozen=True):
    """A change that the API server or a webhook refuses: the object, the field and the message."""

    kind: str
    name: str
    field: str
    message: str


class ObjectChange(Struct, frozen=True, rename="camel"):
    """The change of one object; ``old_name`` differs from ``name`` if another object replaces it."""

    file: str
    kind: str
    old_name: str | None
    name: str | None
    effect: Effect
    fields: tuple[FieldChange, ...] = ()


class Dependency(Struct, frozen=True):
    """The replicated job that another one waits for, and the awaited status."""

    name: str
    status: str


class ReplicatedJob(Struct, frozen=True, rename="camel"):
    """A replicated job of a JobSet, with the number of its pods."""

    name: str
    pods: int
    depends_on: tuple[Dependency, ...]


class JobChange(Struct, frozen=True):
    """The change of one directory of out/: a job, or the objects that the jobs of a namespace share.

    ``old_name`` and ``name`` are those of the JobSet, empty without one. ``application`` is the one that syncs it,
    ``cluster`` has sentences about what the cluster does, ``annotation`` makes a refused change possible. ``last``: the
    application has no other directory. ``last_kinds`` are the kinds of removed objects that the AppProject no longer
    allows. ``had_ttl``: its TTL may have deleted the JobSet. ``claims`` are those that are deleted with the old JobSet.
    ``pruned_later`` has sentences about removed objects. ``only_waiting``: Kueue refuses the change, unless the JobSet
    waits in its queue. ``runtime`` is the runtime's file, ``queue`` Kueue's; both may be empty.
    """

    directory: Directory
    effect: Effect
    application: str
    name: str = ""
    old_name: str = ""
    source: str = ""
    runtime: str = ""
    queue: str = ""
    properties: tuple[PropertyChange, ...] = ()
    objects: tuple[ObjectChange, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    cluster: tuple[str, ...] = ()
    annotation: str | None = None
    before: Usage = Usage()
    after: Usage = Usage()
    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    renamed_from: Directory | None = None
    last: bool = False
    last_kinds: tuple[str, ...] = ()
    had_ttl: bool = False
    only_waiting: bool = False
    claims: tuple[str, ...] = ()
    pruned_later: tuple[str, ...] = ()


class Total(NamedTuple):
    """The usage before and after."""

    before: Usage = Usage()
    after: Usage = Usage()

    @classmethod
    def of(cls, parts: Collection[Total]) -> Total:
        """Return all parts together."""
        return cls(Usage.of([part.before for part in parts]), Usage.of([part.after for part in parts]))


class Totals(Struct, frozen=True):
    """Totals of everything, by environment and namespace, and by environment, namespace and queue."""

    all: Total = Total()
    namespaces: Mapping[tuple[str, ...], Total] = field(default_factory=dict)
    queues: Mapping[tuple[str, ...], Total] = field(default_factory=dict)


class Difference(Struct, frozen=True):
    """The difference of two trees: changed directories, sorted; the number of unchanged ones; totals; findings.

    ``weakened`` are findings about less strict checks, ``unexplained`` are changed jobs without a changed source.
    ``foreign`` are files that trainc did not write and Argo CD or Flux reads. ``stale`` are directories that differ
    from what their sources give, None if unknown; ``broken``: unknown because the sources have errors.
    """

    jobs: tuple[JobChange, ...] = ()
    unchanged: int = 0
    totals: Totals = Totals()
    findings: tuple[Finding, ...] = ()
    weakened: tuple[Finding, ...] = ()
    unexplained: tuple[Directory, ...] = ()
    foreign: tuple[str, ...] = ()
    stale: tuple[Directory, ...] | None = None
    broken: bool = False
