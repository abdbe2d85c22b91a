"""Damages documents: wrong types, unknown fields, nulls, empty lists, missing parts."""

from __future__ import annotations

import copy
from typing import Any

from oracle.generator.rng import Rng
from oracle.generator.values import PLAINS, Map
from oracle.generator.yamltext import Plain

# Numbers between 300 and 2**31 could make upstream write hostfiles without end.
WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 7, 2.5, 4.0, 2147483648, 99999999999999999999, "", "text", "Bad Name", [], {}, ["a"],
    {"a": 1}, [None], [{}],
)  # fmt: skip


def damage(rng: Rng, document: Map) -> None:
    """Change one random spot of a document in place."""
    holder, key = _spot(rng, document)
    kind = rng.below(100)
    if kind < 40:
        holder[key] = copy.deepcopy(rng.pick(WRONG))
    elif kind < 60:
        del holder[key]
    elif kind < 70:
        holder[key] = None
    elif kind < 80 and isinstance(holder, dict):
        holder["unknownField"] = rng.pick((1, "x", {"a": 1}, []))
    elif kind < 88 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif kind < 94:
        holder[key] = Plain(rng.pick(PLAINS))
    else:
        holder[key] = {} if isinstance(holder[key], dict) else []


def _spot(rng: Rng, document: Map) -> tuple[Any, Any]:
    """Return a container and a key of it, deep places as likely as high ones; never apiVersion and kind."""
    spots: list[tuple[Any, Any]] = []

    def collect(value: Any) -> None:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            spots.append((value, key))
            if isinstance(item, dict | list):
                collect(item)

    for part in ("metadata", "spec"):
        if rng.chance(3):
            spots.append((document, part))
        if isinstance(document.get(part), dict):
            collect(document[part])
    return rng.pick(spots)
