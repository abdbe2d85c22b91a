"""The oracle's list of functions, and types written as cel-go's String writes them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FUNCTIONS = Path(__file__).resolve().parents[1] / "cel" / "functions.json"
_PARAMETER = re.compile(r"<\w+>")
# What no expression can write: calls that macros expand to, and the operator's names of old.
_INTERNAL = frozenset(
    {"@sortByAssociatedKeys", "@not_strictly_false", "__not_strictly_false__", "_in_", "in", "cel.@mapInsert"}
)


@dataclass(frozen=True, slots=True)
class Overload:
    """One overload: the types of its arguments, the receiver first if it is a member."""

    function: str
    name: str
    args: tuple[str, ...]
    result: str
    member: bool


@cache
def overloads() -> tuple[Overload, ...]:
    """Return every overload that an expression can call."""
    entries = json.loads(FUNCTIONS.read_text(encoding="utf-8"))["functions"]
    return tuple(
        Overload(entry["function"], entry["overload"], tuple(entry["args"]), entry["result"], entry["member"])
        for entry in entries
        if entry["function"] not in _INTERNAL
    )


@cache
def yielding(type_: str) -> tuple[tuple[Overload, dict[str, str]], ...]:
    """Return the overloads whose result may be of the type, with the parameters that this settles."""
    found = []
    for overload in overloads():
        bound: dict[str, str] = {}
        if unify(overload.result, type_, bound):
            found.append((overload, bound))
    return tuple(found)


def parts(type_: str) -> tuple[str, list[str]]:
    """Split ``map(string, list(int))`` into ``map`` and the types within."""
    name, _, rest = type_.partition("(")
    found, depth, start = [], 0, 0
    for i, char in enumerate(rest):
        if (char == "," and depth == 0) or (char == ")" and depth == 0):
            found.append(rest[start:i].strip())
            start = i + 1
        depth += (char == "(") - (char == ")")
    return name, found


def unify(pattern: str, type_: str, bound: dict[str, str]) -> bool:
    """Bind the parameters of a pattern so that it becomes the type, if that is possible."""
    if _PARAMETER.fullmatch(pattern):
        return bound.setdefault(pattern, type_) == type_
    name, inner = parts(pattern)
    other, found = parts(type_)
    return (
        name == other
        and len(inner) == len(found)
        and all(unify(a, b, bound) for a, b in zip(inner, found, strict=True))
    )


def fill(type_: str, bound: dict[str, str]) -> str:
    """Put the types bound in the place of parameters; dyn where none is."""
    return _PARAMETER.sub(lambda match: bound.get(match.group(), "dyn"), type_)
