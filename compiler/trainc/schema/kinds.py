"""The registry of kinds, by group, version and kind.

Four sources, in order of precedence:

1. The four kinds that trainc compiles, of the pinned Trainer and JobSet.
2. Built-in kinds of Kubernetes 1.34 that training jobs use, which a CRD cannot replace in a cluster.
3. The CRDs in the inputs.
4. Packaged CRDs of other kinds that trainc emits (PodGroup of the scheduler plugins). A CRD in the inputs takes
   precedence, since it is the cluster's.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import msgspec

from trainc.data import load_json
from trainc.schema.structural import Structural, Table

GroupKind = tuple[str, str]

KINDS: Final = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime", "JobSet")
"""The kinds that trainc compiles, or compiles to."""


class Resource(msgspec.Struct, frozen=True, eq=False):
    """A kind in one version: its identity and its schema.

    ``status``: the status subresource is served, so the status is ignored on create. ``plural`` is the resource's name,
    as in URLs and policies. ``native``: the kind is built into Kubernetes, which decodes it into Go's structs
    (native.py).
    """

    group: str
    version: str
    kind: str
    namespaced: bool
    status: bool
    schema: Structural
    plural: str
    native: bool = False

    @property
    def api_version(self) -> str:
        """The apiVersion of objects: group and version."""
        return f"{self.group}/{self.version}" if self.group else self.version


@cache
def table(name: str) -> Table:
    """Return the table ``data/schemas/<name>.json``."""
    return Table(load_json(f"schemas/{name}.json"))


@cache
def resource(kind: str) -> Resource:
    """Return the CRD of one of KINDS; raises KeyError for another kind."""
    if kind not in KINDS:
        raise KeyError(kind)
    head = load_json(f"schemas/{kind.lower()}.json")
    return Resource(
        head["group"],
        head["version"],
        head["kind"],
        head["scope"] == "Namespaced",
        head["status"],
        table("nodes").node(head["root"]),
        head["plural"],
    )


class Registry(msgspec.Struct, frozen=True, eq=False):
    """The kinds of a run. ``given``: those of CRDs in the inputs, in their served versions, by group and kind."""

    given: Mapping[GroupKind, tuple[Resource, ...]] = msgspec.field(default_factory=dict)

    def served(self, group: str, kind: str) -> tuple[Resource, ...]:
        """Return a kind in all its served versions; empty for an unknown kind."""
        if kind in KINDS and (compiled := resource(kind)).group == group:
            return (compiled,)
        packaged = _packaged(group, kind) if (group, kind) in _packaged_kinds() else ()
        return packaged if packaged and packaged[0].native else self.given.get((group, kind), packaged)

    def find(self, group: str, version: str, kind: str) -> Resource | None:
        """Return a kind in one version; None if that is unknown or not served."""
        return next((found for found in self.served(group, kind) if found.version == version), None)

    def kinds(self) -> tuple[GroupKind, ...]:
        """Return group and kind of all kinds, sorted."""
        return tuple(sorted({*_packaged_kinds(), *((resource(kind).group, kind) for kind in KINDS), *self.given}))


def all_kinds(group: str) -> Mapping[str, tuple[str, ...]]:
    """Return the kinds of a group, with their versions; empty if not all kinds of the group are known.

    Kubernetes 1.34's own groups, alpha and beta included, and the two that trainc compiles for.
    """
    return _all_kinds(group) if group in all_groups() else {}


@cache
def _all_kinds(group: str) -> Mapping[str, tuple[str, ...]]:
    own = {kind: (found.version,) for kind in KINDS if (found := resource(kind)).group == group}
    native: dict[str, list[str]] = load_json("schemas/groups.json").get(group, {})
    return own or {kind: tuple(versions) for kind, versions in sorted(native.items())}


@cache
def all_groups() -> tuple[str, ...]:
    """Return the groups for which ``all_kinds`` returns kinds, sorted; the core group is empty."""
    return tuple(sorted({*load_json("schemas/groups.json"), *(resource(kind).group for kind in KINDS)}))


def split_version(api_version: str) -> tuple[str, str]:
    """Return group and version of an apiVersion; the core group is empty."""
    group, _, version = api_version.rpartition("/")
    return group, version


@cache
def _packaged_kinds() -> frozenset[GroupKind]:
    return frozenset((row["group"], row["kind"]) for row in load_json("schemas/kinds.json"))


@cache
def _packaged(group: str, kind: str) -> tuple[Resource, ...]:
    return tuple(
        Resource(
            row["group"],
            row["version"],
            row["kind"],
            row["namespaced"],
            row["status"],
            table(row["file"]).node(row["root"]),
            row["plural"],
            row["native"],
        )
        for row in load_json("schemas/kinds.json")
        if (row["group"], row["kind"]) == (group, kind)
    )


BUILT_IN = Registry()
"""The kinds that need no CRD."""
