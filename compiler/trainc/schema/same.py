"""Whether two structural schemas say the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainc.schema.structural import Structural
from trainc.source import Path

_LISTS = ("allOf", "anyOf", "oneOf")
_BELOW = frozenset(("properties", "items", "additionalProperties", "not", *_LISTS))


def difference(one: Structural, other: Structural) -> Path | None:
    """Return where two schemas first differ, as a path of keywords and names in ``one``; None where they do not."""
    if (keyword := _own_difference(one.keywords, other.keywords)) is not None:
        return (keyword,)
    for name in sorted({*one.properties, *other.properties}):
        below = _below(one.properties.get(name), other.properties.get(name))
        if below is not None:
            return ("properties", name, *below)
    for keyword, left, right in (
        ("items", one.items, other.items),
        ("additionalProperties", one.additional, other.additional),
        ("not", one.negated(), other.negated()),
    ):
        if (below := _below(left, right)) is not None:
            return (keyword, *below)
    for keyword in _LISTS:
        lefts, rights = one.alternatives(keyword), other.alternatives(keyword)
        if len(lefts) != len(rights):
            return (keyword,)
        for index, (left, right) in enumerate(zip(lefts, rights, strict=True)):
            if (below := _below(left, right)) is not None:
                return (keyword, index, *below)
    return None


def _below(one: Structural | None, other: Structural | None) -> Path | None:
    if one is None or other is None:
        return None if one is other else ()
    return difference(one, other)


def _own_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    for keyword in sorted({*one, *other} - _BELOW):
        if one.get(keyword) != other.get(keyword):
            return keyword
    left, right = (keywords.get("additionalProperties") for keywords in (one, other))  # numbers of sub-schemas, or bool
    return None if _is_closed(left) == _is_closed(right) else "additionalProperties"


def _is_closed(additional: Any) -> bool:
    return additional is None or additional is False  # the number of a sub-schema may be 0
