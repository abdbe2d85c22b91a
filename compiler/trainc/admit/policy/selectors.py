"""Label selectors: which labels they select, and what of that can be said where labels are known in part only.

Source: k8s.io/apimachinery v0.34 pkg/apis/meta/v1/helpers.go and pkg/labels/selector.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.records import NamedTuple
from trainc.source import Json, JsonObject, as_list, as_object


class Requirement(NamedTuple):
    """What a selector asks of one label."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Tell whether labels, all of them known, meet it."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        return (value is not None) == (self.operator == "Exists")


class Labels(NamedTuple):
    """The labels of an object. ``complete``: it has no others; else what is not among them is not known."""

    known: Mapping[str, str]
    complete: bool = True


def requirements(selector: Json) -> tuple[Requirement, ...]:
    """Return what a selector asks for; none: it selects everything."""
    return tuple(_requirements(as_object(selector)))


def _requirements(selector: JsonObject) -> Iterator[Requirement]:
    for key, value in as_object(selector.get("matchLabels")).items():
        yield Requirement(key, "In", (str(value),))
    for row in map(as_object, as_list(selector.get("matchExpressions"))):
        values = tuple(map(str, as_list(row.get("values"))))
        yield Requirement(str(row.get("key", "")), str(row.get("operator", "")), values)


def selects(asked: tuple[Requirement, ...], labels: Labels) -> bool | None:
    """Tell whether a selector selects an object of these labels; None if that depends on labels not known."""
    open_ = False
    for requirement in asked:
        if requirement.key in labels.known or labels.complete:
            if not requirement.holds(labels.known):
                return False
        else:
            open_ = True
    return None if open_ else True


def labels_of(data: Json) -> Labels:
    """Return the labels of an object."""
    metadata = as_object(as_object(data).get("metadata"))
    return Labels({key: str(value) for key, value in as_object(metadata.get("labels")).items()})
