"""The places of a schema that have rules, x-kubernetes-validations, and which old value a new one is compared with.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema/cel/validation.go and compilation.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.cel.rules import OLD_SELF, CompiledRule, compile_rule
from trainc.cel.schemas import reader
from trainc.cel.values import Value
from trainc.schema import Structural, has_rules
from trainc.schema.structural import compiled

_OPAQUE = frozenset("'\"/")
"""What strings and comments begin with."""


class Rule(msgspec.Struct, frozen=True, eq=False):
    """A rule at its place in a schema."""

    spec: JsonObject
    compiled: Callable[[], CompiledRule]

    @property
    def optional_old(self) -> bool:
        """Whether oldSelf is an optional, so that it runs without an old value, too."""
        return self.spec.get("optionalOldSelf") is True

    @property
    def plainly_compares(self) -> bool:
        """Whether it is certain without compiling that it refers to oldSelf."""
        text = str(self.spec.get("rule", ""))
        words = text.replace("(", " ").replace(")", " ").replace(".", " ").split()
        return OLD_SELF in words and not _OPAQUE.intersection(text)

    @property
    def label(self) -> str:
        """What messages call it."""
        return str(self.spec.get("message") or self.spec.get("rule", "")).strip()

    @property
    def message(self) -> str:
        """What is said when it fails, unless an expression says it."""
        text = str(self.spec.get("message", ""))
        return text.strip() if text else f"failed rule: {self.label}"


class Site:
    """A place of a schema at or below which rules stand."""

    def __init__(self, rules: Structural, node: Structural, root: bool) -> None:
        self.node = node
        self.root = root
        self._source = rules
        self.holding_texts: dict[str, int] = {}
        """Short texts for which the rules hold without an old value, and what that costs: a fleet repeats a few."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of the place itself."""
        return tuple(Rule(spec, _compiler(spec, self.node, self.root)) for spec in self._source.rules)

    @cached_property
    def runs_on_create(self) -> bool:
        """Whether a rule of the place, or of one below it, may run without an old value."""
        below = (*self.nested, *self.properties.values(), self.items, self.additional)
        return bool(self.create_rules) or any(sub is not None and sub.runs_on_create for sub in below)

    @cached_property
    def create_rules(self) -> tuple[Rule, ...]:
        """Return the rules of the place itself that may run without an old value."""
        return tuple(rule for rule in self.rules if rule.optional_old or not rule.plainly_compares)

    @cached_property
    def create_properties(self) -> Mapping[str, Site]:
        """Return the places below, by field, at or below which a rule may run without an old value."""
        return {name: site for name, site in self.properties.items() if site.runs_on_create}

    @cached_property
    def read(self) -> Callable[[Json], Value]:
        """Return what reads a value of the place."""
        return reader(self.node, self.root)

    @cached_property
    def properties(self) -> Mapping[str, Site]:
        """Return the places below, by field."""
        found = {}
        for name, rules in self._source.properties.items():
            node = self.node.properties.get(name)
            if node is not None and (site := _site(rules, node, node.embedded)):
                found[name] = site
        return found

    @cached_property
    def items(self) -> Site | None:
        """Return the place of a list's items."""
        rules, node = self._source.items, self.node.items
        return _site(rules, node, node.embedded) if rules is not None and node is not None else None

    @cached_property
    def additional(self) -> Site | None:
        """Return the place of a map's values."""
        rules, node = self._source.additional, self.node.additional
        return _site(rules, node, node.embedded) if rules is not None and node is not None else None

    @cached_property
    def nested(self) -> tuple[Site, ...]:
        """Return the same place as the parts of allOf see it."""
        parts = (_site(part, self.node, self.root) for part in self._source.alternatives("allOf"))
        return tuple(part for part in parts if part is not None)


def root_site(schema: Structural) -> Site | None:
    """Return the place of a whole object, or None if nothing in it has rules."""
    site: Site | None = compiled(_make_root, schema)
    return site


def _make_root(schema: Structural) -> Site | None:
    return Site(schema, schema, True) if has_rules(schema) else None


def _site(rules: Structural, node: Structural, root: bool) -> Site | None:
    return Site(rules, node, root) if has_rules(rules) else None


def _compiler(spec: JsonObject, node: Structural, root: bool) -> Callable[[], CompiledRule]:
    made: list[CompiledRule] = []

    def compile_once() -> CompiledRule:
        if not made:
            made.append(compile_rule(spec, node, root))
        return made[0]

    return compile_once


def entries(site: Site, value: JsonObject, *, created: bool) -> Iterator[tuple[str, Json, Site]]:
    """Yield the entries of an object at or below which rules stand: name, value and place.

    ``created``: there is no old value, so only rules that may run without one count.
    """
    properties = site.create_properties if created else site.properties
    for key, sub in value.items():
        if site.additional is not None:
            yield key, sub, site.additional
        if (below := properties.get(key)) is not None:
            yield key, sub, below


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
