"""One pass for the document that fits: what admission.py and judge.py do in five, where there is nothing to find.

``fit`` prunes, drops nulls, defaults and judges in one walk that only ever says yes: where anything would go, or is
wrong, or is merely unusual, it says that the document does not fit, and the passes do their work and have their words.
A schema becomes closures, node by node, when a value first reaches them. A check is a class where the class of a value
says all, else a function that returns the value as it is stored (itself where nothing is filled in) or raises.

What fits is also found to be what Go can read, if a Go struct is given; and if Go writes it again, too, ``fit`` returns
what a webhook leaves that does so between two readings by the server: what Go adds or spells otherwise is in it, what
it omits is still there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_not
from typing import Any

from trainc.memo import remembering
from trainc.schema.defaulting import default
from trainc.schema.demands import all_of, int_or_string, integer, sizes, string, uniqueness
from trainc.schema.dialect import NUMBER, flat
from trainc.schema.embedded import has_embedded
from trainc.schema.judge import is_clean, is_int_or_string
from trainc.schema.patterns import UnsupportedPattern
from trainc.schema.plainmeta import is_plain
from trainc.schema.pruning import OBJECT_FIELDS, drop_nulls, prune_value
from trainc.schema.rewriting import (
    BOOLEANS,
    INTEGERS,
    LONG_INTEGERS,
    NOTHING,
    STRINGS,
    Check,
    Go,
    Unfit,
    checked,
    field_kinds,
    is_field_kind,
    spelt_field,
    spelt_scalar,
    zeros,
)
from trainc.schema.structural import OF_DEFAULTS, Resource, Structural, compiled
from trainc.source import Json, JsonObject

_UNUSUAL = frozenset(("allOf", "oneOf", "not", "nullable", "x-kubernetes-preserve-unknown-fields", OF_DEFAULTS))


def fit(resource: Resource, data: JsonObject, go: Go = NOTHING) -> JsonObject | None:
    """Return a whole object as the server stores it, or None where it takes the passes to tell.

    What comes back is what ``admission.read`` gives, and ``admission.validate_object`` finds nothing wrong with it.
    ``go``: what a webhook does with it; what it reads ``kube.gotypes.decode`` does not refuse.
    """
    if resource.native or has_embedded(resource.schema) or (resource.status and "status" in data):
        return None
    if not is_plain(data.get("metadata"), namespaced=resource.namespaced):
        return None
    made: dict[tuple[Go, bool], Callable[[Any], Any]] = compiled(_roots, resource.schema)
    key = go, resource.status
    try:
        if key not in made:
            made[key] = _mapping(resource.schema, go, whole=resource)
        filled: JsonObject = made[key](data)
    except (Unfit, UnsupportedPattern, RecursionError):
        return None
    return filled


def _roots(_schema: Structural) -> dict[tuple[Go, bool], Callable[[Any], Any]]:
    return {}


def _checks(_schema: Structural) -> dict[Go, Check]:
    return {}


def _check_of(schema: Structural, go: Go) -> Check:
    made: dict[Go, Check] = compiled(_checks, schema)
    if go not in made:
        made[go] = _make_check(schema, go)
    return made[go]


def _make_check(schema: Structural, go: Go) -> Check:
    keywords = flat(schema)
    if _UNUSUAL.isdisjoint(schema.keywords):
        if schema.type == "string" and "anyOf" not in keywords:
            return spelt_scalar(string(keywords), go, STRINGS)
        if schema.int_or_string and "enum" not in keywords and is_int_or_string(schema):
            return spelt_scalar(int_or_string(keywords), go, frozenset())
        if schema.type and keywords.keys().isdisjoint(("anyOf", "enum")):
            return _make_typed(schema, keywords, go) or _by_passes(schema, go)
    return _by_passes(schema, go)


def _make_typed(schema: Structural, keywords: dict[str, Any], go: Go) -> Check | None:
    """Return the check of a value of one type that is not string, or None where something is unusual."""
    if schema.type == "boolean":
        return spelt_scalar(bool, go, BOOLEANS)
    if schema.type == "integer":
        limits = keywords[NUMBER]
        return spelt_scalar(integer(limits), go, INTEGERS.get(limits["format"], LONG_INTEGERS))
    kind = go.kind
    if schema.type == "array" and schema.items is not None and (not kind or kind.startswith("[]")):
        return _list(schema, schema.items, go)
    if schema.type != "object" or (schema.open and schema.additional is None):
        return None
    if schema.additional is None or schema.properties:
        return _mapping(schema, go) if is_field_kind(kind) else None
    return _map(schema, schema.additional, go) if not kind or kind.startswith("{}") else None


def _by_passes(schema: Structural, go: Go) -> Check:
    """Return the check of whatever is unusual in a schema: the passes themselves, one after the other."""

    def check(value: Any) -> Any:
        if go.kind or (value is None and not schema.nullable):
            raise Unfit
        pruned, dropped = prune_value(schema, value)
        if dropped:
            raise Unfit
        return _kept(schema, pruned)

    return check


def _kept(schema: Structural, value: Any) -> Any:
    """Return a value that is not pruned."""
    if drop_nulls(schema, value) is not value:
        raise Unfit
    filled = default(schema, value)
    if not is_clean(schema, filled):
        raise Unfit
    return filled


def _list(schema: Structural, items: Structural, go: Go) -> Check:
    keywords = flat(schema)
    is_sized = sizes(keywords.get("minItems", 0), keywords.get("maxItems"))
    are_unique = uniqueness(keywords)
    check_item: Check | None = None

    def check(value: Any) -> Any:
        nonlocal check_item
        if value.__class__ is not list or (is_sized is not None and not is_sized(value)):
            raise Unfit
        if not value:
            return value
        if check_item is None:
            check_item = _check_of(items, go.items())
        stored = value
        if isinstance(check_item, type):
            if not all_of(check_item, value):
                raise Unfit
        else:
            filled = list(map(check_item, value))
            if any(map(is_not, filled, value)):
                stored = filled
        if are_unique is not None and len(stored) > 1 and not are_unique(stored):
            raise Unfit
        return stored

    return remembering(check, lasts=True)


def _mapping(schema: Structural, go: Go, *, whole: Resource | None = None) -> Callable[[Any], Any]:
    """Return the check of a mapping with declared fields; ``whole``: of objects of a resource."""
    keywords = flat(schema)
    is_sized = sizes(keywords.get("minProperties", 0), keywords.get("maxProperties"))
    fields = _Fields(schema, go, root=whole is not None)
    filled = dict(_absent(schema, fields))
    if whole is not None and whole.status:
        filled.pop("status", None)
    absent = [(name, value) for name, value in filled.items() if value is not None]
    required = (*keywords.get("required", ()), *(name for name, value in filled.items() if value is None))

    def check(value: Any) -> Any:
        if value.__class__ is not dict:
            raise Unfit
        stored = value
        for key, item in value.items():
            check_item = fields[key]
            if check_item.__class__ is type:
                if item.__class__ is not check_item:
                    raise Unfit
            elif (kept := check_item(item)) is not item:
                if stored is value:
                    stored = dict(value)
                stored[key] = kept
        for name, given in absent:
            if name not in value:
                if stored is value:
                    stored = dict(value)
                stored[name] = given
        for name in required:
            if name not in stored:
                raise Unfit
        if is_sized is not None and not is_sized(stored):
            raise Unfit
        return stored

    return check if whole is not None else remembering(check, lasts=True)


def _absent(schema: Structural, fields: _Fields) -> Iterator[tuple[str, Json | None]]:
    """Yield what is filled in where it is absent, by schema and by Go; None where the passes have to do it."""
    defaulted = [(name, sub) for name, sub in schema.properties.items() if sub.default is not None]
    for name, sub in defaulted:
        try:
            yield name, checked(fields[name], default(sub, sub.default))
        except Unfit:
            yield name, None
    names = [name for name, _ in defaulted]
    yield from ((name, value) for name, value in zeros(schema, fields.go) if name not in names)


def _map(schema: Structural, values: Structural, go: Go) -> Check:
    """Return the check of a map, whose keys are free."""
    keywords = flat(schema)
    required = keywords.get("required", ())
    is_sized = sizes(keywords.get("minProperties", 0), keywords.get("maxProperties"))
    check_value: Check | None = None

    def check(value: Any) -> Any:
        nonlocal check_value
        if value.__class__ is not dict:
            raise Unfit
        stored = value
        if value:
            if check_value is None:
                check_value = _check_of(values, go.items())
            if isinstance(check_value, type):
                if not all_of(check_value, value.values()):
                    raise Unfit
            else:
                for key, item in value.items():
                    kept = check_value(item)
                    if kept is not item:
                        if stored is value:
                            stored = dict(value)
                        stored[key] = kept
        for key in required:
            if key not in value:
                raise Unfit
        if is_sized is not None and not is_sized(value):
            raise Unfit
        return stored

    return remembering(check, lasts=True)


def _whole(schema: Structural) -> Check:
    """Return the check of a part of an object that is not pruned, metadata: is_plain has seen to what it may hold."""
    if schema.keywords.keys() == {"type"} and schema.type == "object":
        return dict

    def check(value: Any) -> Any:
        if value is None:
            raise Unfit
        return _kept(schema, value)

    return check


class _Fields(dict[str, Check]):
    """The checks of a mapping's fields, made when first met. Raises Unfit for a field that the schema does not know."""

    __slots__ = ("_root", "_schema", "go")

    def __init__(self, schema: Structural, go: Go, *, root: bool) -> None:
        super().__init__()
        self._schema, self._root, self.go = schema, root, go

    def __missing__(self, key: str) -> Check:
        child = self._schema.properties.get(key)
        if child is None:
            if self._schema.additional is None:
                raise Unfit
            return _check_of(self._schema.additional, NOTHING)
        if self._root and key in OBJECT_FIELDS:
            self[key] = _check_of(child, NOTHING) if child.type == "string" else _whole(child)
            return self[key]
        field = field_kinds(self.go.kind).get(key)
        self[key] = spelt_field(_check_of(child, self.go.field(field)), field, self.go)
        return self[key]
