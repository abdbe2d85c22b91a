"""Evaluates the rules of a CRD, x-kubernetes-validations, on create and on update.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema/cel/validation.go and compilation.go. A rule is
compiled when there is a value for it. On create, parts of an object are skipped all of whose rules compare with the
old value: most rules of a JobSet do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, cached_property, partial
from typing import NamedTuple

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted
from trainc.basics.regex import lazy
from trainc.cel.codegen import Program
from trainc.cel.composition import OLD_SELF, SELF, CompiledRule, common_selection, compile_rule
from trainc.cel.schemas import reader
from trainc.cel.values import NONE, EvalError, Optional, Value
from trainc.cel.work import PER_COST
from trainc.findings.reporting import Fault
from trainc.kube.fielderror import NO_FIELD, quote
from trainc.kube.gojson import trim_space
from trainc.schema import Structural, has_rules
from trainc.schema.structural import compiled

# The rules of a schema

_OLD_SELF = lazy(r"(?<![\w.])oldSelf\b")
_UNCLEAR = lazy(r"""['"/]|[.?]\s*oldSelf\b""")
"""A text or a comment, or a field of the same name."""


class Rule(msgspec.Struct, frozen=True, eq=False):
    """A rule of a schema."""

    spec: JsonObject
    compiled: Callable[[], CompiledRule]

    @property
    def optional_old(self) -> bool:
        """Whether oldSelf is an optional, so that it runs without an old value, too."""
        return self.spec.get("optionalOldSelf") is True

    @property
    def runs_on_create(self) -> bool:
        """Whether it may run without an old value: unless it plainly refers to oldSelf."""
        rule = str(self.spec.get("rule", ""))
        return self.optional_old or _OLD_SELF.search(rule) is None or _UNCLEAR.search(rule) is not None

    @property
    def label(self) -> str:
        """Its name in messages."""
        return str(self.spec.get("message") or self.spec.get("rule", "")).strip()

    @property
    def message(self) -> str:
        """Its message, unless a messageExpression returns one."""
        text = str(self.spec.get("message", ""))
        return text.strip() if text else f"failed rule: {self.label}"


class Site:
    """A part of a schema with rules, directly or below. ``rules`` has the rules, ``node`` the types."""

    def __init__(self, rules: Structural, node: Structural, root: bool) -> None:
        self.node = node
        self.root = root
        self._source = rules

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of this schema itself."""
        node, root = self.node, self.root
        return tuple(Rule(spec, cache(partial(compile_rule, spec, node, root))) for spec in self._source.rules)

    @cached_property
    def runs_on_create(self) -> bool:
        """Whether a rule here or below may run without an old value."""
        below = (*self.nested, *self.properties.values(), self.items, self.additional)
        return any(rule.runs_on_create for rule in self.rules) or any(site and site.runs_on_create for site in below)

    @cached_property
    def read(self) -> Callable[[Json], Value]:
        """The function that makes CEL's value of JSON."""
        return reader(self.node, self.root)

    @cached_property
    def properties(self) -> Mapping[str, Site]:
        """The fields with rules, at any depth."""
        found = {}
        for name, rules in self._source.properties.items():
            node = self.node.properties.get(name)
            if node is not None and (site := _site(rules, node, node.embedded)):
                found[name] = site
        return found

    @cached_property
    def items(self) -> Site | None:
        """The items of a list, if they have rules."""
        rules, node = self._source.items, self.node.items
        return _site(rules, node, node.embedded) if rules is not None and node is not None else None

    @cached_property
    def additional(self) -> Site | None:
        """The values of a map, if they have rules."""
        rules, node = self._source.additional, self.node.additional
        return _site(rules, node, node.embedded) if rules is not None and node is not None else None

    @cached_property
    def nested(self) -> tuple[Site, ...]:
        """The parts of allOf that have rules."""
        parts = (_site(part, self.node, self.root) for part in self._source.alternatives("allOf"))
        return tuple(part for part in parts if part is not None)


def _root(schema: Structural) -> Site | None:
    return _site(schema, schema, True)


def _site(rules: Structural, node: Structural, root: bool) -> Site | None:
    return Site(rules, node, root) if has_rules(rules) else None


class Partners:
    """The old items of a list, by their keys, if it is a list of type map."""

    def __init__(self, schema: Structural, old: Json) -> None:
        keys = schema.keywords.get("x-kubernetes-list-map-keys", ())
        self._keys = tuple(keys) if schema.keywords.get("x-kubernetes-list-type") == "map" else ()
        self._old: dict[tuple[tuple[type, Json], ...], Json] = {}
        for item in old if self._keys and isinstance(old, list) else ():
            if (key := self._key(item)) is not None:
                self._old.setdefault(key, item)

    def find(self, item: Json) -> Json:
        """Return the old item of the same keys, or None."""
        key = self._key(item) if self._old else None
        return self._old.get(key) if key is not None else None

    def _key(self, item: Json) -> tuple[tuple[type, Json], ...] | None:
        if not isinstance(item, dict):
            return None
        parts = [(item[key].__class__, item[key]) for key in self._keys if key in item]
        scalar = all(kind in (bool, int, float, str) for kind, _ in parts)
        return tuple(parts) if scalar and len(parts) == len(self._keys) else None


# Evaluation

BUDGET = 10_000_000
"""The most that all rules of an object may cost together (apis/cel/config.go, RuntimeCELCostBudget)."""

MOST_WORK = 1_000_000
"""The most evaluations of rules for an object, two seconds at most: constants cost nothing. A failure counts as 20.

So do 400 characters of its text, which may hold a long message, rule or key for each item.
"""

_FAILURE = 20
_CHARACTERS = 20
"""The characters of a failure's text that count as an evaluation."""

MAX_MESSAGE = 5 * 1024
"""The most bytes of an evaluated message."""

OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_NO_FURTHER = "no further validation rules will be run due to call cost exceeds limit"
_MESSAGE_OUT_OF_BUDGET = (
    "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
)
_OVER_LIMIT = "operation cancelled: actual cost limit exceeded"


class BrokenRule(Fault, frozen=True):
    """A rule that an object violates, at the field that all of the rule refers to, if there is one.

    ``transition``: it compares with the old value.
    """

    rule: str = ""
    transition: bool = False


_ERRORS = {"FieldValueForbidden": "Forbidden: ", "FieldValueRequired": "Required value: "}
"""The first words of field errors, by the reason of a rule."""


class _Stop(Exception):
    """The budget is spent: no further rule is run."""


def failures(
    schema: Structural, data: JsonObject, old: JsonObject | None = None, skip: tuple[Path, ...] = ()
) -> tuple[BrokenRule, ...]:
    """Return the rules that ``data``, a whole object that fits the schema, violates.

    ``old`` is the object before an update; without it, rules that compare with oldSelf are skipped. ``skip`` holds the
    paths of schema errors: rules at or above them are skipped, since their results would be unreliable.
    """
    site: Site | None = compiled(_root, schema)
    if site is None:
        return ()
    run = _Run(frozenset(path[:end] for path in skip for end in range(len(path) + 1)))
    with suppress(_Stop):
        run.visit(site, (), data, old)
    return tuple(run.found)


class _Target(NamedTuple):
    """A rule, and the path of the value that it is evaluated for."""

    site: Site
    path: Path
    rule: Rule
    made: CompiledRule


class _Run(msgspec.Struct):
    """One pass over an object: the failures, and the remaining budget; rules at the paths in ``skip`` are skipped."""

    skip: frozenset[Path]
    found: list[BrokenRule] = msgspec.field(default_factory=list)
    budget: int = BUDGET
    work: int = 0

    def visit(self, site: Site, path: Path, value: Json, old: Json) -> None:
        """Evaluate the rules at path, then those below it."""
        if value is None or (old is None and not site.runs_on_create):
            return
        if site.rules and path not in self.skip:
            self._evaluate(site, path, value, old)
        for nested in site.nested:
            self.visit(nested, path, value, old)
        if isinstance(value, list):
            if site.items is not None:
                partners = Partners(site.node, old)
                for index, item in enumerate(value):
                    self.visit(site.items, (*path, index), item, partners.find(item))
        elif isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for key, sub in value.items():
                for below in (site.additional, site.properties.get(key)):
                    if below is not None:
                        self.visit(below, (*path, key), sub, before.get(key))

    def _evaluate(self, site: Site, path: Path, value: Json, old: Json) -> None:
        variables: dict[str, Value] | None = None
        for rule in site.rules:
            target = _Target(site, path, rule, rule.compiled())
            self.work += 1
            if self.budget <= 0 or self.work > MOST_WORK:
                self._stop(target, OUT_OF_BUDGET)
            if target.made.problem is not None:
                what = "rule compile" if target.made.typed else "rule compiler initialization"
                self._add(target, f"{what} error: {target.made.problem.text}")
            elif target.made.rule is not None and (old is not None or rule.optional_old or not target.made.compares):
                if variables is None:
                    variables = {SELF: _read(site, value)}
                    variables.update({OLD_SELF: _read(site, old)} if old is not None else {})
                self._run(target, target.made.rule, variables)

    def _run(self, target: _Target, program: Program, variables: dict[str, Value]) -> None:
        names = variables
        if target.rule.optional_old:
            before = Optional(variables[OLD_SELF]) if OLD_SELF in variables else NONE
            names = {**variables, OLD_SELF: before}
        value, cost, work = program.run(names)
        self._spend(target, max(cost, work // PER_COST), OUT_OF_BUDGET)
        label = target.rule.label
        if value.__class__ is not EvalError:
            if value is not True:
                self._refused(target, variables)
        elif value.message.startswith("no such overload"):
            signature = "call arguments did not match a supported operator, function or macro signature"
            self._add(target, f"'{value.message}': {signature} for rule: {label}")
        elif value.message.startswith(_OVER_LIMIT):
            self._stop(target, f"'{value.message}': {_NO_FURTHER} for rule: {label}")
        else:
            self._add(target, f"{value.message} evaluating rule: {label}")

    def _refused(self, target: _Target, variables: dict[str, Value]) -> None:
        text = target.rule.message
        if target.made.message is not None:
            value, cost, work = target.made.message.run(variables)
            self._spend(target, max(cost, work // PER_COST), _MESSAGE_OUT_OF_BUDGET, reported=True)
            if isinstance(value, EvalError) and value.message.startswith(_OVER_LIMIT):
                expression = quote(str(target.rule.spec.get("messageExpression")))
                self._stop(target, f"{_NO_FURTHER} for messageExpression: {expression}", reported=True)
            text = message_text(value) or text
        self._add(target, text, reported=True)

    def _spend(self, target: _Target, cost: int, otherwise: str, *, reported: bool = False) -> None:
        if cost > self.budget:
            self._stop(target, otherwise, reported=reported)
        self.budget -= cost

    def _stop(self, target: _Target, text: str, *, reported: bool = False) -> None:
        self._add(target, text, reported=reported)
        raise _Stop

    def _add(self, target: _Target, text: str, *, reported: bool = False) -> None:
        """Add a failure; ``reported``: at the rule's fieldPath, with its reason."""
        path, made = target.path, target.made
        name = dotted(path) or NO_FIELD
        reason = ""
        if reported:
            reason = str(target.rule.spec.get("reason", ""))
            if made.field_text:
                name = f"{dotted(path)}.{made.field_text}" if path else made.field_text
                path = (*path, *made.field_path)
        kind = quote(target.site.node.type)
        error = _ERRORS.get(reason, f"Invalid value: {kind}: ") + text
        if reason == "FieldValueDuplicate":
            error = f"Duplicate value: {kind}"
        about = common_selection(made.rule.checked.root, SELF) if made.rule is not None and not made.field_path else ()
        rule = str(target.rule.spec.get("rule", "")).strip()
        self.work += _FAILURE + (len(name) + len(error)) // _CHARACTERS
        fault = BrokenRule("TC201", (*path, *about), text, f"{name}: {error}", rule=rule, transition=made.compares)
        self.found.append(fault)


def message_text(value: Value) -> str | None:
    """Return the result of a message expression, or None if the server uses the message instead."""
    if not isinstance(value, str):
        return None
    text = trim_space(value)
    return text if text and "\n" not in text and len(text.encode("utf-8", "surrogatepass")) <= MAX_MESSAGE else None


def _read(site: Site, value: Json) -> Value:
    try:
        return site.read(value)
    except EvalError as error:
        return error  # the runner raises it where the variable is used
