"""Which field of an object an expression is about, as far as its text tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainc.cel.ast import Call, Ident, Literal, Node, Select
from trainc.cel.composition import Compiled, Problem, Variable
from trainc.cel.walk import postorder
from trainc.source import JsonObject, Path, existing


def blamed(made: Compiled | Problem, variables: Sequence[Variable], data: JsonObject | None) -> Path:
    """Return the longest path of ``object`` that an expression selects, as far as it exists in data; () if none.

    Where the expression itself selects none, those of the variables that it uses count.
    """
    if data is None:
        return ()
    known = {variable.name: variable.made for variable in variables}
    pending: list[Compiled | Problem] = [made]
    seen: set[str] = set()
    while pending:
        nodes = [node for each in pending if isinstance(each, Compiled) for node in postorder(each.checked.root)]
        paths = [existing(data, path) for node in nodes if (path := _selected(node, "object"))]
        if found := max(paths, key=len, default=()):
            return found
        used = sorted({str(path[0]) for node in nodes if (path := _selected(node, "variables"))} - seen)
        seen.update(used)
        pending = [known[name] for name in used if name in known]
    return ()


def _selected(node: Node, root: str) -> Path:
    steps = tuple(reversed(list(_steps(node))))
    return steps[1:] if len(steps) > 1 and steps[0] == root else ()


def _steps(node: Node) -> Iterator[str | int]:
    """Yield the fields that a chain selects, the last first, and the name at its begin; nothing if it is no chain."""
    found: list[str | int] = []
    while not isinstance(node, Ident):
        if isinstance(node, Select):
            found.append(node.field)
            node = node.operand
        elif isinstance(node, Call) and (key := _key(node)) is not None:
            found.append(key)
            node = node.args[0]
        else:
            return
    yield from found
    yield node.name


def _key(call: Call) -> str | int | None:
    if call.function not in ("_[_]", "_?._", "_[?_]") or len(call.args) != 2:
        return None
    key = call.args[1]
    if isinstance(key, Literal) and (isinstance(key.value, str) or key.value.__class__ is int):
        return key.value
    return None
