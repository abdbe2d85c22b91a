"""The rules of a CRD on create, as a plan: only the places that have rules to run, and only whether all of them hold.

A rule that compares with the old value is passed over on create, and most of them do. Where a rule does not plainly
hold, ``rules.failures`` goes over the object from its root, and says what is wrong: this only ever says yes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from trainc.admit.rulesites import Rule, Site, root_site
from trainc.cel.rule import OLD_SELF, SELF
from trainc.cel.values import NONE, EvalError, Value
from trainc.memo import remembering
from trainc.schema import Structural
from trainc.schema.structural import compiled
from trainc.source import Json, JsonObject

_Visit: TypeAlias = Callable[[Json], int]
"""Evaluates the rules of a value and of all below it; returns what they cost. Raises _Unsure."""

_MANY = 1024
"""How many short texts are remembered for which a rule holds: a fleet repeats its few."""
_SHORT = 200


class _Unsure(Exception):
    """A rule does not plainly hold."""


def hold_on_create(schema: Structural, data: JsonObject, budget: int) -> bool:
    """Tell whether all rules of schema that run when data is created hold, for less than ``budget`` in all.

    ``data`` is a whole object that the schema admits. False says nothing: it takes ``rules.failures`` to tell.
    """
    visit: _Visit | None = compiled(_make_plan, schema)
    try:
        return visit is None or visit(data) < budget
    except (_Unsure, EvalError, RecursionError):
        return False


def _make_plan(schema: Structural) -> _Visit | None:
    return _plan_below(root_site(schema))


def _runs(rule: Rule) -> bool:
    return rule.optional_old or not rule.plainly_compares


def _has_work(site: Site) -> bool:
    below = (*site.nested, *site.properties.values(), site.items, site.additional)
    return any(map(_runs, site.rules)) or any(sub is not None and _has_work(sub) for sub in below)


def _plan(site: Site) -> _Visit:
    run = _evaluation(site, tuple(filter(_runs, site.rules)))
    nested = tuple(_plan(part) for part in site.nested if _has_work(part))
    fields = {name: _plan(sub) for name, sub in site.properties.items() if _has_work(sub)}
    items, values = _plan_below(site.items), _plan_below(site.additional)

    def visit(value: Json) -> int:
        if value is None:
            return 0
        cost = run(value) if run is not None else 0
        for part in nested:
            cost += part(value)
        if isinstance(value, list):
            if items is not None:
                for item in value:
                    cost += items(item)
        elif isinstance(value, dict):
            for name, below in fields.items():
                if name in value:
                    cost += below(value[name])
            if values is not None:
                for item in value.values():
                    cost += values(item)
        return cost

    return remembering(visit)


def _plan_below(site: Site | None) -> _Visit | None:
    return _plan(site) if site is not None and _has_work(site) else None


def _evaluation(site: Site, rules: tuple[Rule, ...]) -> _Visit | None:
    """Return what evaluates the rules of a place itself, and remembers the texts for which they hold."""
    if not rules:
        return None
    remembered: dict[str, int] = {}

    def run(value: Json) -> int:
        if value.__class__ is not str:
            return _evaluate(site, rules, value)
        assert isinstance(value, str)
        cost = remembered.get(value)
        if cost is None:
            cost = _evaluate(site, rules, value)
            if len(remembered) < _MANY and len(value) < _SHORT:
                remembered[value] = cost
        return cost

    return run


def _evaluate(site: Site, rules: tuple[Rule, ...], value: Json) -> int:
    cost = 0
    variables: dict[str, Value] = {SELF: site.read(value)}
    for rule in rules:
        made = rule.compiled()
        if made.problem is not None:
            raise _Unsure
        if made.rule is None or (made.compares and not rule.optional_old):
            continue
        value, charge = made.rule.program.judge({**variables, OLD_SELF: NONE} if rule.optional_old else variables)
        if value is not True:
            raise _Unsure
        cost += charge
    return cost
