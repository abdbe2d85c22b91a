"""Checks ``'...'.format([...])`` where both are literals: cel-go v0.26.0 ext/formatting.go, stringFormatValidator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trainc.cel.ast import Call, ListLiteral, Literal, MapLiteral, Node
from trainc.cel.gotext import utf8
from trainc.cel.issues import Issue
from trainc.cel.types import Kind, type_name
from trainc.cel.unification import kind
from trainc.cel.values import EvalError

if TYPE_CHECKING:
    from trainc.cel.checker import Checked

_INTEGERS = frozenset({Kind.INT, Kind.UINT})
_FLOATS = frozenset({Kind.DOUBLE, Kind.STRING})
_TEXTS = frozenset(
    {Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES}
    | {Kind.DURATION, Kind.TYPE, Kind.NULL}
)
_STRING = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
    " timestamps"
)
_CLAUSES: Mapping[str, tuple[frozenset[Kind], str]] = {
    "s": (_TEXTS, _STRING),
    "d": (_INTEGERS, "decimal clause can only be used on integers"),
    "f": (_FLOATS, "fixed-point clause can only be used on doubles"),
    "e": (_FLOATS, "scientific clause can only be used on doubles"),
    "b": (_INTEGERS | {Kind.BOOL}, "only integers and bools can be formatted as binary"),
    "x": (
        _INTEGERS | {Kind.STRING, Kind.BYTES},
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (_INTEGERS, "octal clause can only be used on integers"),
}
"""What each clause takes, and what it says of other types."""


def format_issues(checked: Checked, call: Call) -> Iterator[Issue]:
    """Yield what is wrong with a call of format, if it is one of a literal with a literal list; at most one issue."""
    template = call.target
    if not isinstance(template, Literal) or not isinstance(template.value, str) or len(call.args) != 1:
        return
    given = call.args[0]
    if not isinstance(given, ListLiteral):
        return
    used = 0
    try:
        for letter in _letters(utf8(template.value), len(given.elements)):
            node = _misfit(checked, given.elements[used], letter)
            if node is not None:
                found = type_name(checked.types[node])
                about = _CLAUSES[letter.lower()][1]
                yield Issue(node.position, f"error during formatting: {about}, was given {found}")
                return
            used += 1
    except EvalError as error:
        yield Issue(call.position, error.message)
        return
    if len(given.elements) > used:
        count = f"(expected {used}, got {len(given.elements)})"
        yield Issue(call.position, f"too many arguments supplied to string.format {count}")


def _letters(template: bytes, size: int) -> Iterator[str]:
    """Yield the letters of a template's clauses, for each of which there must be an argument. Raises EvalError."""
    from trainc.cel.library.strings import read_clause

    used, at = 0, 0
    while (percent := template.find(b"%", at)) >= 0:
        at = percent + 1
        if template[at : at + 1] == b"%":
            at += 1
            continue
        if at == len(template):
            raise EvalError("unexpected end of string")
        if used >= size:
            raise EvalError(f"index {used} out of range")
        at, letter, _ = read_clause(template, at)
        used += 1
        yield letter


def _misfit(checked: Checked, node: Node, letter: str) -> Node | None:
    """Return the node whose type a clause does not take: the argument, or, of ``%s``, an element inside of it."""
    accepted = _CLAUSES[letter.lower()][0]
    pending: list[Node] = [node]
    while pending:
        found = pending.pop()
        type_ = checked.types[found]
        if type_.kind is not Kind.DYN and kind(type_) not in accepted:
            return found
        if letter == "s":
            pending.extend(reversed(_inside(found)))
    return None


def _inside(node: Node) -> Sequence[Node]:
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    return ()
