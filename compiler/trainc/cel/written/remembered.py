"""What follows from one text alone is remembered by that text: see program.py.

A fleet repeats its images, quantities and names, and a function of CEL gives the same for the same, at the same cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from trainc.cel import interpretable as plan
from trainc.cel.written.calls import plain
from trainc.cel.written.helpers import SHORT, Table, table
from trainc.cel.written.writer import Term, Writer

_OF_TEXTS: Final = frozenset(
    (
        *("matches", "find", "findAll", "split", "trim", "lowerAscii", "upperAscii", "replace", "substring", "charAt"),
        *("startsWith", "endsWith", "contains", "quantity", "isQuantity", "ip", "isIP", "cidr", "isCIDR", "semver"),
        *("isSemver", "url", "isURL", "duration", "timestamp", "indexOf", "lastIndexOf", "string"),
    )
)
"""Functions of a text, mostly."""

_QUICK: Final = frozenset(("_==_", "_!=_", "!_", "_+_", "_-_", "_*_", "size", "string", "int", "sum", "@in", "join"))
"""Functions that take no longer than looking up what they gave."""


_NONE: Final = object()
_OF_TWO: Final = frozenset(("matches", "find", "findAll", "split", "replace"))
"""Functions of texts that take longer than looking up what they gave for two of them."""


def sources(node: Any) -> tuple[Any, ...]:
    """Return the one or two nodes, no calls, of whose values a call or a loop makes something; none if it is no such.

    They are evaluated once and before all else, whatever their values: none stands in a loop or a branch.
    """
    if isinstance(node, plan.Call) and node.function in _QUICK:
        return ()
    only = _only(_sources(node, False))
    if only is not None:
        return (only,)
    direct = isinstance(node, plan.Call) and node.function in _OF_TWO
    varying = tuple(arg for arg in node.args if not isinstance(arg, plan.Constant)) if direct else ()
    return varying if len(varying) == 2 and not any(isinstance(arg, plan.Call | plan.Fold) for arg in varying) else ()


def _only(sources: Iterator[Any]) -> Any:
    """Return the one source; None if there are several, or none, or one is None, behind which nothing is looked at."""
    found = next(sources, None)
    return found if found is not None and next(sources, _NONE) is _NONE else None


def _sources(node: Any, of_text: bool) -> Iterator[Any]:
    """Yield the nodes from whose values one is made, and None for what is not evaluated once and first of all.

    ``of_text``: node is given to a function of texts.
    """
    if isinstance(node, plan.Call):
        for arg in node.args:
            yield from _sources(arg, node.function in _OF_TEXTS)
    elif isinstance(node, plan.Fold):
        yield from _sources(node.iter_range, False)
        if not _is_closed(node):
            yield None
    elif not isinstance(node, plan.Constant):
        yield node if of_text else None


def _is_closed(fold: plan.Fold) -> bool:
    """Tell whether the rounds of a loop read nothing but the variables of that loop, and of loops inside."""
    waiting: list[Any] = [fold.start, fold.condition, fold.step, fold.result]
    own, read = {fold.first, fold.second, fold.accumulator}, set()
    while waiting:
        part = waiting.pop()
        waiting += plan.parts(part)
        if isinstance(part, plan.Fold):
            own |= {part.first, part.second, part.accumulator}
        if isinstance(part, plan.AbsoluteAttribute):
            read |= {name.slot for name in part.names}
    return read <= own


def _table(node: Any) -> Table:
    """Return where to remember what a node gives: several expressions may call a function in the same way."""
    if isinstance(node, plan.Call) and not any(isinstance(arg, plan.Call | plan.Fold) for arg in node.args):
        constants = [arg.value if isinstance(arg, plan.Constant) else None for arg in node.args]
        if all(value is None or value.__class__ is str for value in constants):
            return table(node.function, node.overload, tuple(constants))
    return Table()


def remembered(writer: Writer, node: Any, varying: tuple[Any, ...], write: Callable[[Writer, Any], Term]) -> Term:
    """Write a node of which all that varies is one value or two, and look it up where they are texts met before."""
    values = [plain(writer, writer.walk(each)) for each in varying]
    key = values[0] if len(values) == 1 else f"({', '.join(values)})"
    texts = " and ".join(f"{value}.__class__ is str" for value in values)
    short = " and ".join(f"len({value}) < {SHORT}" for value in values)
    known, name, held, cost, work = writer.constant(_table(node)), *(writer.temporary() for _ in range(4))
    writer.put(f"{held} = {known}.get({key}) if {texts} else None")
    writer.open(f"if {held} is None:")
    writer.put(f"{cost} = c; {work} = w - f[1]")
    with writer.standing_for(dict(zip(varying, values, strict=True))):
        made = write(writer, node)
    writer.put(f"{name} = {plain(writer, made)}")
    with writer.block(f"if {texts} and {short}:"):
        writer.put(f"{known}[{key}] = ({name}, c - {cost}, w - f[1] - {work})")
    writer.charge(writer.close(paid=True))
    with writer.block("else:"):
        writer.put(f"{name}, {cost}, {work} = {held}")
        writer.put(f"c += {cost}; w += {work}")
    return Term(name, made.kind if not made.maybe else None)
