"""One walk over a value and its schema, which prunes, drops nulls, fills in defaults and validates.

A schema becomes nodes, each compiled when a value first reaches it. A node returns its value as the API server stores
it (the value itself where nothing changes; parts that do not change are shared) and adds a ``Failure`` for everything
that is wrong; wording.py turns failures into texts. The path of a failure is completed on the way up, so that a walk
without failures pays nothing for paths. What a walk makes of parts that many objects share is remembered (memo.py).

Sources of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema (pruning, defaulting, listtype) and
k8s.io/kube-openapi pkg/validation/validate, whose order of failures and choice of alternatives are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

from trainc.basics.jsonvalues import Json, as_object
from trainc.basics.memo import LASTING, Once, Remembered, last
from trainc.kube.gojson import INT64
from trainc.kube.gotypes import GoDecodeError, decode, fields, is_struct
from trainc.schema.alternatives import alternative_checks
from trainc.schema.formats import FEW, FIELD, KEY, TRIAL, Work, format_check, matcher, size_of
from trainc.schema.structural import Structural
from trainc.schema.values import (
    CLASSES,
    NUMERIC,
    count_parts,
    integers,
    list_errors,
    membership,
    mismatch,
    number_errors,
)
from trainc.schema.wording import LIST_KEYS, LIST_TYPE, NUMBER, UNKNOWN, Failure, Failures, Visit

OBJECT_FIELDS = ("apiVersion", "kind", "metadata")
"""The fields that every Kubernetes object has, even if its schema omits them."""

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_LIMITS = ("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_FIELDS: Final = 1024
"""The most fields of a mapping whose parts are cached."""


class Mode(NamedTuple):
    """The steps of a walk besides validation.

    ``chooses``: a value that fits no alternative has the failures of the best one. ``native``: the class of nodes for
    Kubernetes' own kinds (native.py), None for custom resources.
    """

    prunes: bool = True
    fills: bool = True
    chooses: bool = True
    native: type[Node] | None = None


STORE: Final = Mode()
"""As the API server stores a custom resource."""

CHECK: Final = Mode(prunes=False, fills=False)
"""For the alternatives of a schema, which only validate."""

FIT: Final = CHECK._replace(chooses=False)
"""For whether a value fits an alternative."""


_ABSENT: Final = object()


class Visits(dict[type, Visit]):
    """The visits of values by their class, each created for the first value of the class."""

    def __init__(self, make: Callable[[type], Visit]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, cls: type) -> Visit:
        found = self[cls] = self._make(cls)
        return found


class Part:
    """How a part of a value is stored. ``plain``: a class whose values always fit and never change: not visited."""

    plain: type | None = None

    def __init__(self, visit: Callable[[type], Visit]) -> None:
        self.visits = Visits(visit)

    def visit(self, value: Any, failures: Failures) -> Any:
        """Return the stored form of a value, and add its failures to ``failures``."""
        return self.visits[value.__class__](value, failures)

    def visit_null_item(self, failures: Failures) -> Any:
        """Return how a null in a list is stored."""
        return self.visit(None, failures)


def _keep(value: Any, _failures: Failures) -> Any:
    return value


def _drop_null(_value: Any, _failures: Failures) -> Any:
    return _ABSENT


def _drop(value: Any, failures: Failures) -> Any:
    failures.append(Failure(UNKNOWN, value))
    return _ABSENT


def _empty(value: dict[str, Any], failures: Failures) -> dict[str, Any]:
    for key, item in value.items():
        failures.append(Failure(UNKNOWN, item))
        failures[-1].steps.append(key)
    return {} if value else value


def _visit_undescribed(cls: type) -> Visit:
    return _empty if cls is dict else _items_visit(lambda: _UNDESCRIBED, [], []) if cls is list else _keep


_ANYTHING: Final = Part(lambda _: _keep)
"""The classes of values that are stored unchanged."""

_UNKNOWN: Final = Part(lambda _: _drop)
_UNDESCRIBED: Final = Part(_visit_undescribed)
"""The node of values without a schema: mappings lose all fields, lists keep their length."""


class Node(Part):
    """A schema, compiled for one mode.

    ``go``: the Go type from which a webhook writes the value, '' for none; the server stores what that has added or
    respelled. ``whole``: the value is a whole object, of which apiVersion, kind and metadata are not pruned.
    """

    def __init__(self, schema: Structural, mode: Mode, go: str, *, whole: bool) -> None:
        super().__init__(self._make_visit)
        self.schema, self.mode, self.go = schema, mode, go
        self.whole = whole or schema.embedded
        cls = CLASSES.get(schema.type)
        self.plain = cls if cls in (str, bool) and self.visits[cls] is _keep else None

    def _make_visit(self, cls: type) -> Visit:
        before, after = self.checks(cls)
        if cls is dict:
            return self._object_visit(_check_of_whole(before, after))
        if cls is list:
            return _items_visit(self._items, before, after)
        if cls is type(None) and self.mode.fills and not self.schema.nullable:
            default = _shared(self.schema.default)
            return _drop_null if default is None else lambda _value, failures: self.visit(default, failures)
        if self.go and cls is not type(None) and not self._is_kept_by_go(cls):
            return self._respell
        checks = (*before, *after)
        if len(checks) < 2:
            return checks[0] if checks else _keep

        def visit(value: Any, failures: Failures) -> Any:
            for check in checks:
                check(value, failures)
            return value

        return visit

    def visit_null_item(self, failures: Failures) -> Any:
        """Return how a null in a list is stored: as the default, Go's zero value, or null, which may be a failure."""
        if self.mode.fills and not self.schema.nullable and self.schema.default is not None:
            return self.visit(None, failures)
        if self.go:
            return self.visit(decode(None, self.go), failures)
        for check in self.checks(type(None))[0]:
            check(None, failures)
        return None

    def _object_visit(self, check: Callable[[Any, Failures, int], None] | None) -> Visit:
        """Return the visit of mappings."""
        parts: Remembered[str, Part] = Remembered(self._field, _FIELDS)
        order: dict[str | int, int] = {name: number for number, name in enumerate(self.schema.properties)}
        required = frozenset(self.schema.keywords.get("required", ()))
        filled_in = Once(lambda: tuple(self._filled_in()) if self.mode.fills else ())

        def visit(value: dict[str, Any], failures: Failures) -> dict[str, Any]:
            remembered = LASTING.get(id(value))
            if remembered is not None and (found := remembered.get(visit)) is not None:
                return found  # type: ignore[no-any-return]
            count = start = len(failures)
            stored = value
            for key, item in value.items():
                visit_field = parts[key].visits[item.__class__]
                if visit_field is _keep:
                    continue
                kept = visit_field(item, failures)
                if failures:
                    count = _add_step(failures, count, key)
                if kept is not item:
                    stored = dict(value) if stored is value else stored
                    stored[key] = kept
                    if kept is _ABSENT:
                        del stored[key]
            if (rows := filled_in()) and (absent := [row for row in rows if row[0] not in stored]):
                stored = _filled(stored, absent, failures)
            if len(failures) > start + 1:
                failures[start:] = sorted(failures[start:], key=lambda each: order.get(each.steps[-1], len(order)))
            if check is not None:
                check(stored, failures, start)
            if not required.issubset(stored):
                of = stored if self.mode.native is None else value  # a native mapping may have a field misspelled
                missing = [name for name in dict.fromkeys(self.schema.keywords["required"]) if name not in stored]
                if len(missing) > FEW:
                    failures.work.spend(len(missing) * FIELD)
                failures += [Failure("required", of, self.schema, name) for name in missing]
            if remembered is not None and len(failures) == start and not failures.work.spent:  # work counts each time
                remembered[visit] = last(stored)
            return stored

        return visit

    def _field(self, key: str) -> Part:
        """Return how a field is stored."""
        schema, mode = self.schema, self.mode
        child = schema.properties.get(key)
        if self.whole and key in OBJECT_FIELDS:
            return _ANYTHING if child is None else node_of(child, mode._replace(prunes=False))
        if child is not None:
            field = fields(self.go).get(key) if is_struct(self.go) else None
            return node_of(child, mode, field.kind if field is not None else "")
        if schema.additional is not None:
            return node_of(schema.additional, mode, self.go[2:] if self.go.startswith("{}") else "")
        if not mode.prunes:
            return _ANYTHING
        if schema.open:
            return _UNDESCRIBED
        return _ANYTHING if schema.preserves else _UNKNOWN

    def _filled_in(self) -> Iterator[tuple[str, Part, Json]]:
        """Yield the fields that are filled in where they are absent, by the schema and by Go, with their values."""
        children = self.schema.properties
        for name, child in children.items():
            if child.default is not None:
                yield name, self._field(name), _shared(child.default)
        written = as_object(decode({}, self.go)) if self.go and is_struct(self.go) else {}
        for name, zero in written.items():
            child_of = children.get(name)
            if child_of is not None and child_of.default is None and zero is not None:
                yield name, node_of(child_of, self.mode), _shared(zero)

    def _items(self) -> Part:
        """Return how the items of a list are stored. In a list that keeps unknown fields, its items keep them, too."""
        prunes, preserves, items = self.mode.prunes, self.schema.preserves, self.schema.items
        if items is None:
            return _UNDESCRIBED if prunes and not preserves else _ANYTHING
        if prunes and preserves and not items.preserves:
            items = items.with_keyword(_PRESERVE, True)
        return node_of(items, self.mode, self.go[2:] if self.go.startswith("[]") else "")

    def _respell(self, value: Any, failures: Failures) -> Any:
        """Return a scalar as Go writes it; values that Go may omit are unchanged, since the server removes nothing.

        Raises GoDecodeError for a value that fits the schema and that Go cannot read.
        """
        as_it_is, count = node_of(self.schema, self.mode), len(failures)
        try:
            written = value if is_struct(self.go) else decode(value, self.go)
        except GoDecodeError:
            as_it_is.visit(value, failures)
            if len(failures) == count:
                raise
            return value
        return as_it_is.visit(written or value, failures)

    def _is_kept_by_go(self, cls: type) -> bool:
        """Return whether Go writes every scalar of a class that fits the schema as it has read it."""
        base = self.go.partition(":")[0]
        if cls is int:
            return base in ("int", "int32", "int64")
        return (cls is str and base in ("string", "IntOrString")) or (cls is bool and base == "bool")

    def checks(self, cls: type) -> tuple[list[Visit], list[Visit]]:
        """Return the checks of values of a class: those that precede the checks of the parts of a value, and others.

        A check returns the value.
        """
        keywords, types = self.schema.keywords, self.schema.types
        before: list[Visit] = []
        after: list[Visit] = []
        if (types or self.schema.format) and not any(CLASSES.get(name) is cls for name in types):
            before.append(self._check_type)
        if cls is not type(None):
            mode, fits = (CHECK, _fits) if self.mode.chooses else (FIT, None)
            before += alternative_checks(self.schema, cls, partial(_failures, mode), fits)
        if cls is str and (self.schema.format or not keywords.keys().isdisjoint(("maxLength", "minLength", "pattern"))):
            before.append(self._text_check())
        if cls in (int, float):
            before += self._number_checks()
        if cls is list:
            after += self._size_checks("minItems", "maxItems")
            after += [self._check_list_type] if keywords.get(LIST_TYPE) in ("set", "map") else []
        if keywords.get("enum"):
            (after if cls is list else before).append(self._enum_check())
        if cls is dict:
            before += self._size_checks("minProperties", "maxProperties")
        return before, after

    def _check_type(self, value: Any, failures: Failures) -> Any:
        types = self.schema.types
        if value.__class__ is int and "integer" in types and value in INT64:
            return value
        if (wrong := mismatch(types, self.schema.format, value)) is not None:
            failures.append(Failure("type", value, self.schema, wrong))
        return value

    def _number_checks(self) -> Iterator[Visit]:
        kind = self.schema.type if self.schema.type in NUMERIC and not self.schema.int_or_string else ""
        limits = {name: self.schema.keywords[name] for name in _LIMITS if name in self.schema.keywords}
        if not kind and not limits:
            return
        fitting = integers(self.schema.format) if kind == "integer" and not limits else range(0)
        limits = {"type": kind, "format": self.schema.format if kind else "", **limits}

        def check(value: float, failures: Failures) -> float:
            if value.__class__ is int and value in fitting:
                return value
            if errors := number_errors(limits, value):
                failures += [Failure(NUMBER, value, self.schema, error) for error in errors]
            return value

        yield check

    def _enum_check(self) -> Visit:
        enum = self.schema.keywords["enum"]
        is_member = membership(enum)
        compared = sum(isinstance(each, list | dict) for each in enum)

        def check(value: Any, failures: Failures) -> Any:
            if compared > FEW and isinstance(value, list | dict):
                failures.work.spend(compared * TRIAL * count_parts(value))
            if not is_member(value):
                failures.append(Failure("enum", value, self.schema))
            return value

        return check

    def _check_list_type(self, value: list[Any], failures: Failures) -> list[Any]:
        """Check that the items of a set, or the keys of the items of a map, are different."""
        if (keys := len(self.schema.keywords.get(LIST_KEYS, ()))) > FEW:
            failures.work.spend(keys * len(value) * KEY)
        for error in list_errors(self.schema.keywords, value):
            failures.append(Failure(LIST_TYPE, value, self.schema, error))
            failures[-1].steps.append(error.at)
        return value

    def _size_checks(self, fewest: str, most: str) -> Iterator[Visit]:
        least, limit = self.schema.keywords.get(fewest, 0), self.schema.keywords.get(most)

        def check(value: Any, failures: Failures) -> Any:
            if len(value) < least:
                failures.append(Failure(fewest, value, self.schema))
            if limit is not None and len(value) > limit:
                failures.append(Failure(most, value, self.schema))
            return value

        if least or limit is not None:
            yield check

    def _text_check(self) -> Visit:
        """Return the check of a string: its length, its pattern where the length is right, and its format."""
        keywords = self.schema.keywords
        longest, shortest = keywords.get("maxLength"), keywords.get("minLength", 0)
        pattern = keywords.get("pattern")
        matches, size = (matcher(pattern), size_of(pattern)) if pattern else (None, 0)
        is_formed = format_check(self.schema.format)

        def check(text: str, failures: Failures) -> str:
            if longest is not None and len(text) > longest:
                failures.append(Failure("maxLength", text, self.schema))
            elif len(text) < shortest:
                failures.append(Failure("minLength", text, self.schema))
            elif matches is not None:
                failures.work.spend(size * len(text))
                if not matches(text):
                    failures.append(Failure("pattern", text, self.schema))
            if is_formed is not None and not is_formed(text):
                failures.append(Failure("format", text, self.schema))
            return text

        return check


def _failures(mode: Mode, work: Work, schema: Structural, value: Any) -> Failures:
    """Return the failures of a value in an alternative."""
    failures = Failures(work)
    node_of(schema, mode).visit(value, failures)
    return failures


def _fits(work: Work, schema: Structural, value: Any) -> bool:
    return not _failures(FIT, work, schema, value)


def _shared(value: Json) -> Json:
    """Return a default, which all objects without the field share: values never change in place."""
    return last(value) if isinstance(value, dict | list) else value


def _add_step(failures: Failures, count: int, step: str | int) -> int:
    """Add a step to the failures from ``count`` on; return how many failures there are."""
    for failure in failures[count:]:
        failure.steps.append(step)
    return len(failures)


def _filled(value: dict[str, Any], absent: list[tuple[str, Part, Json]], failures: Failures) -> dict[str, Any]:
    """Return a copy of a mapping with the fields that are filled in."""
    if len(absent) > FEW:
        failures.work.spend(len(absent) * FIELD)
    stored = dict(value)
    for name, part, default in absent:
        count = len(failures)
        stored[name] = part.visit(default, failures)
        _add_step(failures, count, name)
    return stored


def _check_of_whole(before: list[Visit], after: list[Visit]) -> Callable[[Any, Failures, int], None] | None:
    """Return the check of a mapping or list that runs after the checks of its parts."""
    if not before and not after:
        return None

    def check_whole(stored: Any, failures: Failures, start: int) -> None:
        if before:
            found = Failures(failures.work)
            for check in before:
                check(stored, found)
            failures[start:start] = found
        for check in after:
            check(stored, failures)

    return check_whole


def _items_visit(find: Callable[[], Part], before: list[Visit], after: list[Visit]) -> Visit:
    """Return the visit of lists; ``find`` returns the part that their items are, when a list is first met."""
    items: Part | None = None
    check = _check_of_whole(before, after)

    def visit(value: list[Any], failures: Failures) -> list[Any]:
        nonlocal items
        remembered = LASTING.get(id(value))
        if remembered is not None and (found := remembered.get(visit)) is not None:
            return found  # type: ignore[no-any-return]
        items = items or find()
        start = count = len(failures)
        stored = value
        if items.plain is None or not {items.plain}.issuperset(map(type, value)):
            visits = items.visits
            for index, item in enumerate(value):
                kept = items.visit_null_item(failures) if item is None else visits[item.__class__](item, failures)
                if failures:
                    count = _add_step(failures, count, index)
                if kept is not item:
                    if stored is value:
                        stored = list(value)
                    stored[index] = kept
        if check is not None:
            check(stored, failures, start)
        if remembered is not None and len(failures) == start and not failures.work.spent:  # work counts each time
            remembered[visit] = last(stored)
        return stored

    return visit


def node_of(schema: Structural, mode: Mode = STORE, go: str = "", *, whole: bool = False) -> Node:
    """Return the node of a schema in a mode, compiled at the first call; ``whole``: of whole objects."""
    key = (mode, go.lstrip("*"), whole)
    found: Node | None = schema.compiled.get(key)
    if found is None:
        found = schema.compiled[key] = (mode.native or Node)(schema, mode, key[1], whole=whole)
    return found
