"""Makes a failing case smaller: takes parts of its documents away as long as it still fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from oracle import runner
from oracle.compare import Difference, compare, compile_case
from oracle.divergences import Ledger
from oracle.fuzz import kind_of
from oracle.generate import OVERSIZED, Generated, objects
from oracle.generator.rng import Rng
from oracle.generator.yamltext import dump

ROUNDS = 60


def shrink(generated: Generated, differences: list[Difference]) -> tuple[Generated, list[Difference]]:
    """Return the smallest case found, with its differences. Raises runner.OracleError."""
    rng = Rng(generated.seed, generated.index)
    rng.chance(OVERSIZED)  # as generate.case does
    documents = objects(rng)
    wanted = {kind_of(difference).split(":")[0] for difference in differences}
    best = generated, differences
    for _ in range(ROUNDS):
        smaller = _round(documents, wanted)
        if smaller is None:
            return best
        documents, found = smaller
        best = replace(generated, text=_text(documents)), found
    return best


def _text(documents: list[Any]) -> str:
    return "---\n".join(map(dump, documents))


def _round(documents: list[Any], wanted: set[str]) -> tuple[list[Any], list[Difference]] | None:
    """Return the smallest version of the documents with one part less that still fails."""
    candidates = list(_without_one_part(documents))
    asked = [runner.Case(str(index), _text(candidate)) for index, candidate in enumerate(candidates)]
    best: tuple[list[Any], list[Difference]] | None = None
    for candidate, verdict in zip(candidates, runner.ask(asked), strict=True):
        found = Ledger().unexplained(compare(verdict, compile_case(_text(candidate))))
        same = {kind_of(difference).split(":")[0] for difference in found} & wanted
        if same and (best is None or len(_text(candidate)) < len(_text(best[0]))):
            best = candidate, found
    return best


def _without_one_part(documents: list[Any]) -> Iterator[list[Any]]:
    for place in _places(documents, ()):
        smaller = copy.deepcopy(documents)
        holder: Any = smaller
        for step in place[:-1]:
            holder = holder[step]
        del holder[place[-1]]
        yield smaller


def _places(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key not in ("apiVersion", "kind"):
            yield (*place, key)
        yield from _places(item, (*place, key))
