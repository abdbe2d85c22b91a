"""The failures of a walk over a value (walk.py), and their texts: ours, and the API server's.

Source of the texts: k8s.io/kube-openapi pkg/validation/errors and k8s.io/apiextensions-apiserver v0.36
pkg/apiserver/validation (which makes field errors of them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from trainc.basics.jsonvalues import Path, dotted
from trainc.basics.regex import lazy
from trainc.findings import suggest
from trainc.findings.fault import Fault
from trainc.kube.fielderror import NO_FIELD, go_value, quote
from trainc.kube.gojson import go_json
from trainc.schema.structural import Structural

if TYPE_CHECKING:
    from trainc.schema.walk import Node


UNKNOWN: Final = "unknown"
UNREADABLE: Final = "unreadable"
"""A value that fits the schema and that Go cannot read."""

NUMBER: Final = "number"
GO_TYPE: Final = "Go type"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"


class Failure:
    """One error of a value. ``detail`` depends on the keyword; ``steps`` lead to the value, innermost first.

    ``secondary``: it adds nothing to another failure of the same value.
    """

    __slots__ = ("detail", "keyword", "node", "secondary", "steps", "value")

    def __init__(self, keyword: str, value: Any, node: Node | None = None, detail: Any = None) -> None:
        self.keyword, self.value, self.node, self.detail = keyword, value, node, detail
        self.secondary = False
        self.steps: list[str | int] = []

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path from where the walk began."""
        return tuple(reversed(self.steps))


Failures: TypeAlias = list[Failure]
Visit: TypeAlias = Callable[[Any, Failures], Any]
"""Returns the stored form of a value, ``_ABSENT`` for a field to drop, and adds to the failures."""


class Violation(Fault, frozen=True):
    """One error of an object, in our words and in the API server's.

    ``code`` is one of TC102..TC112. ``path`` leads to a value of the object (for a missing field, to what lacks it).
    ``upstream`` is the API server's own text, ``<path>: <type>: <value>: <detail>``; '' where it is unknown.
    ``blocking``: the server does not evaluate the CRD's rules after such an error.
    ``secondary``: the server reports it, but it adds nothing to another violation of the same value.
    ``decode``: the server refuses the object before it looks at any schema.
    ``advisory``: the API accepts the object; server-side apply, or a cluster with other settings, does not.
    """

    blocking: bool = False
    secondary: bool = False
    decode: bool = False
    advisory: bool = False


_Words: TypeAlias = Callable[[Failure, Path], Violation]
_DIGITS = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_DIGITS}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_DIGITS}))?$"
"""The pattern of quantities in every CRD generated from Go's types."""

_AMOUNT = lazy(r"\s*([0-9]+|[0-9]*\.[0-9]+)\s*([kmgtpe])\s*(i?)(b|bytes)?\s*", re.I)
"""Amounts of memory as people write them."""

_FORMS = {
    _QUANTITY: "a quantity such as 500m or 2Gi",
    "cidr": "a CIDR block such as 10.0.0.0/8",
    "date": "a date such as 2006-01-02",
    "date-time": "a time such as 2006-01-02T15:04:05Z",
    "datetime": "a time such as 2006-01-02T15:04:05Z",
    "duration": "a duration such as 1h30m",
    "email": "an e-mail address",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "isbn": "an ISBN",
    "mac": "a MAC address",
    "uri": "a URI",
    "uuid": "a UUID",
}
"""The names of patterns and formats in messages."""

ARTICLES = {
    "object": "a mapping",
    "array": "a list",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}


def violations(schema: Structural, failures: Iterable[Failure]) -> tuple[Violation, ...]:
    """Return the violations of the failures of a walk over a value of schema, each text once."""
    found: dict[str, Violation] = {}
    for failure in failures:
        if failure.keyword not in (UNKNOWN, UNREADABLE):
            violation = (
                _list_type(failure, schema)
                if failure.keyword == LIST_TYPE
                else _WORDS[failure.keyword](failure, failure.path)
            )
            found.setdefault(violation.upstream or "", violation)
    if all(violation.secondary for violation in found.values()):
        return tuple(msgspec.structs.replace(violation, secondary=False) for violation in found.values())
    return tuple(found.values())


def native_violation(failure: Failure) -> Violation:
    """Return the violation of a failure of a native kind, for which the server has other texts."""
    violation = _NATIVE_WORDS[failure.keyword](failure, failure.path)
    decode = failure.keyword in ("type", GO_TYPE)
    return msgspec.structs.replace(violation, upstream="", blocking=False, secondary=False, decode=decode)


QUOTE_IT: Final = "write it in quotes"
"""The hint for a number or boolean where a string is expected."""


def wrong_type(code: str, path: Path, upstream: str, value: Any, *, expected: str, hint: str | None) -> Violation:
    """Return the violation of a value whose type is not the expected one."""
    found = show(value)
    if hint == QUOTE_IT:
        found += " (a boolean)" if isinstance(value, bool) else " (a number)"
    message = f"{_name(path)} must be {expected}"
    return Violation(code, path, message, upstream, found, expected, hint, blocking=True)


def show(value: Any, limit: int = 60) -> str:
    """Return a value as a finding shows it: shortened JSON."""
    text = go_json(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _field(path: Path) -> str:
    return dotted(path) or NO_FIELD


def _name(path: Path) -> str:
    return dotted(path) or "the document"


def _invalid(path: Path, value: str, detail: str) -> str:
    return f"{_field(path)}: Invalid value: {value}: {detail}"


def _keyword(failure: Failure) -> Any:
    """Return the value in the schema of the failed keyword."""
    assert failure.node is not None
    return failure.node.schema.keywords[failure.keyword]


def _type(failure: Failure, path: Path) -> Violation:
    assert failure.node is not None
    expected, found = failure.detail
    types = [name for name in failure.node.types if name != "null"]
    wanted = " or ".join(ARTICLES.get(name, f"a {name}") for name in types or expected.split(","))
    upstream = _invalid(path, quote(found), f"{dotted(path)} in body must be of type {expected}: {quote(found)}")
    violation = wrong_type(
        "TC102", path, upstream, failure.value, expected=wanted, hint=type_hint(types, failure.value)
    )
    return msgspec.structs.replace(violation, secondary=failure.secondary)


def type_hint(types: list[str], value: Any) -> str | None:
    """Return how to correct a value whose type is not one of ``types``, or None where that is unclear."""
    if types == ["string"] and isinstance(value, bool | int | float):
        return QUOTE_IT
    if types in (["integer"], ["number"]) and isinstance(value, str) and value.lstrip("-").isdecimal():
        return f"write {value} without quotes"
    if types == ["boolean"] and value in ("true", "false"):
        return f"write {value} without quotes"
    if types == ["array"] and not isinstance(value, list) and value is not None:
        return "begin each item with a dash"
    return None


def _required(failure: Failure, path: Path) -> Violation:
    assert failure.node is not None
    name = failure.detail
    return Violation(
        "TC103",
        path,
        f"{_name((*path, name))} is missing",
        f"{_field((*path, name))}: Required value",
        expected=name,
        hint=_misspelled(name, failure.value, failure.node.schema.properties),
        blocking=True,
    )


def _misspelled(name: str, value: Mapping[str, Any], declared: Container[str]) -> str | None:
    """Return which unknown key of value should probably be ``name``, a field that value lacks."""
    near = suggest(name, [key for key in value if key not in declared])
    return near and f"{near.removeprefix('did you mean ').removesuffix('?')} should be '{name}'"


def _enum(failure: Failure, path: Path) -> Violation:
    allowed = [value if isinstance(value, str) else go_json(value) for value in _keyword(failure)]
    listed = ", ".join(map(quote, allowed))
    upstream = f"{_field(path)}: Unsupported value: {go_value(failure.value)}: supported values: {listed}"
    return not_allowed(path, failure.value, allowed, upstream)


def not_allowed(path: Path, value: Any, allowed: list[str], upstream: str | None) -> Violation:
    """Return the violation of a value that is none of those allowed; an empty one among them is not listed."""
    names = [each for each in allowed if each]
    listed = ", ".join(map(quote, names))
    hint = suggest(value, names) if isinstance(value, str) else None
    message = f"{_name(path)} must be {'one of ' if len(names) > 1 else ''}{listed}"
    return Violation("TC104", path, message, upstream, show(value), listed, hint, blocking=True)


def _too_many(what: str) -> _Words:
    def words(failure: Failure, path: Path) -> Violation:
        most, size = _keyword(failure), len(failure.value)
        if what == "characters":
            unit = "byte" if most == 1 else "bytes"  # the server's word; it counts code points
            upstream = f"{_field(path)}: Too long: may not be more than {most} {unit}"
        else:
            unit = "item" if most == 1 else "items"
            upstream = f"{_field(path)}: Too many: {size}: must have at most {most} {unit}"
        return Violation(
            "TC105",
            path,
            f"{_name(path)} may have at most {most} {what}",
            upstream,
            found=f"{size} {what}",
            expected=f"at most {most} {what}",
            blocking=True,
        )

    return words


def _too_few(what: str) -> _Words:
    def words(failure: Failure, path: Path) -> Violation:
        least, size = _keyword(failure), len(failure.value)
        given, detail = str(size), f"should have at least {least} {what}"
        if what == "characters":
            given, detail = quote(failure.value), f"should be at least {least} chars long"
        return Violation(
            "TC105",
            path,
            f"{_name(path)} must have at least {least} {what}",
            _invalid(path, given, f"{dotted(path)} in body {detail}"),
            found=f"{size} {what}",
            expected=f"at least {least} {what}",
        )

    return words


def _pattern(failure: Failure, path: Path) -> Violation:
    pattern = _keyword(failure)
    form = _FORMS.get(pattern)
    return Violation(
        "TC106",
        path,
        f"{_name(path)} " + (f"must be {form}" if form else "does not match its pattern"),
        _invalid(path, quote(failure.value), f"{dotted(path)} in body should match '{pattern}'"),
        found=show(failure.value),
        expected=form or f"text that matches {pattern}",
        hint=quantity_hint(failure.value) if pattern == _QUANTITY else None,
    )


def quantity_hint(value: Any) -> str | None:
    """Return a hint with the quantities that a text such as ``16GB`` or ``4 Gi`` may mean, or None."""
    found = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    number, unit, binary, has_bytes = found.groups()
    if not has_bytes and re.fullmatch(_QUANTITY, written := f"{number}{unit}{binary}"):
        return f"did you mean {written}?"
    power = "kmgtpe".index(unit.lower()) + 1
    large = f"{number}{unit.upper()}i (2^{10 * power} bytes)"
    if binary:
        return f"did you mean {large}?"
    return f"did you mean {number}{'k' if power == 1 else unit.upper()} (10^{3 * power} bytes) or {large}?"


def _format(failure: Failure, path: Path) -> Violation:
    form, text = _keyword(failure), quote(failure.value)
    wanted = _FORMS.get(form, f"a {form}")
    return Violation(
        "TC106",
        path,
        f"{_name(path)} must be {wanted}",
        _invalid(path, text, f"{dotted(path)} in body must be of type {form}: {text}"),
        found=show(failure.value),
        expected=wanted,
        blocking=True,
    )


def _number(failure: Failure, path: Path) -> Violation:
    assert failure.node is not None
    keyword, expected, value, cast = failure.detail
    message, wanted = f"{_name(path)} must be {expected}", expected
    if cast:
        text = f'{NO_FIELD}: Invalid value: "": {cast} value must be of type {expected} in {dotted(path)}'
        wanted = _WIDTHS.get(expected, f"a number that is an {expected}")
        message = f"{_name(path)} must be {wanted}"
    elif expected.startswith("positive"):
        text = _invalid(path, go_value(value), f"factor MultipleOf declared for {dotted(path)} must be {expected}")
    else:
        text = _invalid(path, go_value(value), f"{dotted(path)} in body should be {expected}")
    given = failure.value
    is_fraction = isinstance(given, float) and "integer" in failure.node.types and given != int(given)
    secondary = keyword == "format" and is_fraction
    return Violation("TC105", path, message, text, found=show(given), expected=wanted, secondary=secondary)


def _list_type(failure: Failure, schema: Structural) -> Violation:
    path, (_, value, is_duplicate) = failure.path, failure.detail
    keys, field = _key_names(failure), in_brackets(schema, path)
    if is_duplicate:
        message, upstream = (
            f"{_name(path)} has the same {keys} as an earlier item",
            f"{field}: Duplicate value: {go_value(value)}",
        )
        return Violation("TC107", path, message, upstream, found=show(value), expected=f"a unique {keys}")
    return Violation(
        "TC102",
        path,
        f"{_name(path)} must be a mapping: the items of the list are identified by {keys}",
        f"{field}: Invalid value: {go_value(value)}: must be an object for an array of list-type map",
        found=show(value),
        expected="a mapping",
        secondary=True,
    )


def _key_names(failure: Failure) -> str:
    assert failure.node is not None
    keywords = failure.node.schema.keywords
    return " and ".join(keywords.get(LIST_KEYS, ())) if keywords[LIST_TYPE] == "map" else "value"


def in_brackets(schema: Structural, path: Path) -> str:
    """Spell a path with the keys of maps in brackets, as some of the server's checks do."""
    text, at = "", schema
    for step in path:
        text += f"{'.' if text else ''}{step}" if step in at.properties else f"[{step}]"
        at = at.child(step) or at
    return text


def _alternatives(text: str, message: str) -> _Words:
    def words(failure: Failure, path: Path) -> Violation:
        return Violation(
            "TC102",
            path,
            f"{_name(path)} {message}",
            f'{NO_FIELD}: Invalid value: "": {quote(dotted(path))} {text}{failure.detail or ""}',
            found=show(failure.value),
            secondary=failure.keyword in ("anyOf", "allOf"),
        )

    return words


def _go_type(failure: Failure, path: Path) -> Violation:
    code, wanted = failure.detail
    hint = quantity_hint(failure.value) if code == "TC106" else None
    return Violation(code, path, f"{dotted(path)} must be {wanted}", "", show(failure.value), wanted, hint)


def _repeated(failure: Failure, path: Path) -> Violation:
    keys = _key_names(failure)
    message = f"{dotted(path)} has the same {keys} as an earlier item; server-side apply rejects this"
    found, expected = show(failure.detail.value), f"a unique {keys}"
    return Violation("TC107", path, message, "", found, expected, advisory=True)


_WIDTHS = {
    "integer with format int32": "a 32-bit integer",
    "integer with format int64": "a 64-bit integer",
    "integer (default format)": "a 64-bit integer",
    "number with format float": "a 32-bit float",
}
_WORDS: dict[str, _Words] = {
    "type": _type,
    "required": _required,
    "enum": _enum,
    "maxLength": _too_many("characters"),
    "minLength": _too_few("characters"),
    "maxItems": _too_many("items"),
    "minItems": _too_few("items"),
    "maxProperties": _too_many("fields"),
    "minProperties": _too_few("properties"),
    "pattern": _pattern,
    "format": _format,
    NUMBER: _number,
    "anyOf": _alternatives("must validate at least one schema (anyOf)", "fits none of the alternatives"),
    "oneOf": _alternatives("must validate one and only one schema (oneOf). ", "must fit exactly one alternative"),
    "allOf": _alternatives("must validate all the schemas (allOf)", "does not fit all schemas"),
    "not": _alternatives("must not validate the schema (not)", "has a form that is not allowed"),
}
_NATIVE_WORDS: dict[str, _Words] = {"type": _type, "required": _required, GO_TYPE: _go_type, LIST_TYPE: _repeated}
