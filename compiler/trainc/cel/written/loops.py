"""Loops as Python: see program.py, and fastloops.py for what they mean and cost.

What all rounds cost for certain is added before the first, and taken back for those that a loop that ends early leaves
out; so a loop that could cost too much does not even begin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from trainc.cel import interpretable as plan
from trainc.cel.cost import IDENT
from trainc.cel.fastloops import searched
from trainc.cel.written.attributes import name_of
from trainc.cel.written.calls import plain
from trainc.cel.written.writer import Term, Writer

_CHECK: Final = "if c > L or w > B: raise UNUSUAL"
_FRESH: Final[Mapping[type, str]] = {list: "[]", dict: "{}"}


def fold(writer: Writer, node: plan.Fold) -> Term:
    """Write a comprehension. Raises NotImplementedError."""
    found = searched(node)
    return _search(writer, node, *found) if found is not None else _general(writer, node)


def _rounds(writer: Writer, node: plan.Fold) -> str:
    """Write what a loop goes over; the name returned holds a list, or a map whose keys are meant."""
    range_ = writer.walk(node.iter_range)
    if range_.kind is list and not node.second:
        return range_.text
    ranged, name = plain(writer, range_), writer.temporary()
    if node.second:
        writer.put(f"{name} = list(pairs({ranged}))")
    else:
        writer.put(f"{name} = {ranged} if {ranged}.__class__ is list else elements({ranged})")
    return name


def _over(node: plan.Fold, rounds: str) -> str:
    names = f"{name_of(node.first)}, {name_of(node.second)}" if node.second else name_of(node.first)
    return f"for {names} in {rounds}:"


def _loop(writer: Writer, node: plan.Fold, rounds: str, source: str, body: Callable[[], int]) -> None:
    """Write a loop over source, whose length rounds has; body writes one round, and returns what it costs besides."""
    counted = writer.reserve()
    writer.put(_CHECK)
    writer.open(_over(node, source), loop=True)
    extra = body()
    cost = extra + writer.close(loop=True, paid=True)
    writer.fill(counted, f"n = len({rounds}); c += n * {cost}; w += n * {plan.weight(node)}")


def _search(writer: Writer, node: plan.Fold, predicate: plan.Interpretable, ending: bool) -> Term:
    rounds, name = _rounds(writer, node), writer.temporary()
    writer.charge(IDENT)
    before = IDENT + (2 if ending else 1)
    writer.put(f"{name} = {not ending}")
    with writer.block(f"if {rounds}:"):
        source, left = writer.temporary(), writer.temporary()
        writer.put(f"{source} = iter({rounds})")
        returned: list[int] = []

        def body() -> int:
            holds = writer.walk(predicate)
            if holds.maybe:
                raise NotImplementedError
            if holds.kind is not bool:
                writer.put(f"if {holds.text}.__class__ is not bool: raise UNUSUAL")
            writer.open(f"if {holds.text}:" if ending else f"if not {holds.text}:")
            writer.put(f"{name} = {ending}")
            writer.put(f"{left} = length_hint({source})")
            returned.append(writer.reserve())
            writer.put("break")
            writer.close()
            cost = before + IDENT + writer.charged
            weight = plan.weight(node)
            line = f"if {left}: c -= {left} * {cost} - {before}; w -= {left} * {weight}"
            writer.fill(returned[0], line, deeper=1)
            return before + IDENT

        _loop(writer, node, rounds, source, body)
    return Term(name, bool)


def _general(writer: Writer, node: plan.Fold) -> Term:
    start, condition = node.start, node.condition
    if not isinstance(start, plan.Constant) or not isinstance(condition, plan.Constant):
        raise NotImplementedError
    rounds, accumulator = _rounds(writer, node), name_of(node.accumulator)
    fresh = _FRESH.get(start.value.__class__) if not start.value else None
    if fresh is not None:
        writer.filled[node.accumulator] = start.value.__class__
    writer.put(f"{accumulator} = {fresh or writer.constant(start.value)}")
    if condition.value is True:
        with writer.block(f"if {rounds}:"):
            _loop(writer, node, rounds, rounds, lambda: _step(writer, node, accumulator))
    elif condition.value is not False:
        raise NotImplementedError
    return writer.walk(node.result)


def _step(writer: Writer, node: plan.Fold, accumulator: str) -> int:
    made = plain(writer, writer.walk(node.step))
    if made != accumulator:
        if node.accumulator in writer.filled:
            raise NotImplementedError
        writer.put(f"{accumulator} = {made}")
    return 0
