"""The failures of a walk over a value (walk.py), and their texts in trainc and in the API server.

Source of the texts: k8s.io/kube-openapi pkg/validation/errors and k8s.io/apiextensions-apiserver v0.36
pkg/apiserver/validation (which makes field errors of them).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from trainc.basics.jsonvalues import Path, dotted
from trainc.basics.regex import lazy
from trainc.findings import suggest
from trainc.findings.reporting import Fault
from trainc.kube.fielderror import NO_FIELD, go_value, quote
from trainc.kube.gojson import go_json
from trainc.schema.formats import CHARACTER, Work
from trainc.schema.structural import Structural, compiled

UNKNOWN: Final = "unknown"
NUMBER: Final = "number"
GO_TYPE: Final = "Go type"
LIST_TYPE: Final = "x-kubernetes-list-type"
LIST_KEYS: Final = "x-kubernetes-list-map-keys"


class Failure:
    """One error of a value. ``detail`` depends on the keyword; ``steps`` lead to the value, innermost first.

    ``secondary``: it adds nothing to another failure of the same value.
    """

    __slots__ = ("detail", "keyword", "schema", "secondary", "steps", "value")

    def __init__(self, keyword: str, value: Any, schema: Structural | None = None, detail: Any = None) -> None:
        self.keyword, self.value, self.schema, self.detail = keyword, value, schema, detail
        self.secondary = False
        self.steps: list[str | int] = []

    @property
    def path(self) -> tuple[str | int, ...]:
        """The path from the start of the walk."""
        return tuple(reversed(self.steps))


class Failures(list[Failure]):
    """The failures of a value, or of a part of it, and the work of the patterns in all of the object."""

    __slots__ = ("work",)

    def __init__(self, work: Work | None = None) -> None:
        super().__init__()
        self.work = work or Work()


Visit: TypeAlias = Callable[[Any, Failures], Any]
"""Returns the stored form of a value, ``_ABSENT`` for a field to drop, and adds to the failures."""


class Violation(Fault, frozen=True):
    """An error of an object, with our text and the API server's.

    ``code`` is one of TC102..TC112, or TC012. ``path`` leads to a value of the object (for a missing field, to its
    parent).
    ``upstream`` is the API server's own text, ``<path>: <type>: <value>: <detail>``; '' where it is unknown.
    ``blocking``: the server does not evaluate the CRD's rules after such an error. ``secondary``: the server reports
    it, but it adds nothing to another violation of the same value. ``decode``: the server refuses the object before it
    looks at any schema. ``advisory``: the API accepts the object; server-side apply, or a cluster with other settings,
    does not.
    """

    blocking: bool = False
    secondary: bool = False
    decode: bool = False
    advisory: bool = False


_Words: TypeAlias = Callable[[Failure], Violation]
_DIGITS = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_DIGITS}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_DIGITS}))?$"
"""The pattern of quantities in every CRD generated from Go's types."""

_AMOUNT = lazy(r"\s*+([0-9]++|[0-9]*+\.[0-9]++)\s*+([kmgtpe])\s*+(i?)(b|bytes)?\s*+", re.I)
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


def violations(schema: Structural, failures: Failures) -> tuple[Violation, ...]:
    """Return the violations for the failures of a walk over a value, each text once. Raises TooMuchWork."""
    found: dict[str, Violation] = {}
    for failure in failures:
        if failure.keyword != UNKNOWN:
            violation = (
                _list_type(failure, schema) if failure.keyword == LIST_TYPE else _WORDS[failure.keyword](failure)
            )
            text = violation.upstream or ""
            failures.work.spend(CHARACTER * (len(violation.message) + len(text)))
            found.setdefault(text, violation)
    if all(violation.secondary for violation in found.values()):
        return tuple(msgspec.structs.replace(violation, secondary=False) for violation in found.values())
    return tuple(found.values())


def native_violation(failure: Failure) -> Violation:
    """Return the violation for a failure of a built-in kind, for which the server has other texts."""
    violation = _NATIVE_WORDS[failure.keyword](failure)
    decode = failure.keyword in ("type", GO_TYPE)
    return msgspec.structs.replace(violation, upstream="", blocking=False, secondary=False, decode=decode)


QUOTE_IT: Final = "write it in quotes"
"""The hint for a number or boolean where a string is expected."""

_LISTED: Final = 100
"""The most allowed values that a message lists; as many values may be wrong as are allowed."""

_TRIED: Final = 500
"""The most allowed values that a message is made of; a hint compares fewer (``suggest``)."""


def wrong_type(code: str, path: Path, upstream: str, value: Any, *, expected: str, hint: str | None) -> Violation:
    """Return the violation of a value whose type is not the expected one."""
    found = show_unquoted(value) if hint == QUOTE_IT else show(value)
    message = f"{_name(path)} must be {expected}"
    return Violation(code, path, message, upstream, found, expected, hint, blocking=True)


def show_unquoted(value: bool | float) -> str:
    """Return a boolean or number that should be a string, with its type."""
    return f"{show(value)} ({'a boolean' if isinstance(value, bool) else 'a number'})"


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


def _violation(failure: Failure, code: str, message: str, upstream: str, **more: Any) -> Violation:
    """Return the violation of a failure; the message follows the path, and ``more`` are further fields."""
    if "found" not in more:  # of a wrong item, the value is the whole list
        more["found"] = show(failure.value)
    return Violation(code, failure.path, f"{_name(failure.path)} {message}", upstream, **more)


def _schema(failure: Failure) -> Structural:
    assert failure.schema is not None, "only unknown fields have none"
    return failure.schema


def _keyword(failure: Failure) -> Any:
    """Return the value in the schema of the failed keyword."""
    return _schema(failure).keywords[failure.keyword]


def _type(failure: Failure) -> Violation:
    (expected, found), path = failure.detail, failure.path
    types = [name for name in _schema(failure).types if name != "null"]
    wanted = " or ".join(ARTICLES.get(name, f"a {name}") for name in types or expected.split(","))
    upstream = _invalid(path, quote(found), f"{dotted(path)} in body must be of type {expected}: {quote(found)}")
    hint = type_hint(types, failure.value)
    violation = wrong_type("TC102", path, upstream, failure.value, expected=wanted, hint=hint)
    return msgspec.structs.replace(violation, secondary=failure.secondary)


def type_hint(types: list[str], value: Any) -> str | None:
    """Return a hint for a value whose type is not one of ``types``, or None if it is unclear."""
    if "string" in types and isinstance(value, float if "integer" in types else bool | int | float):
        return QUOTE_IT
    number = types in (["integer"], ["number"]) and isinstance(value, str) and value.lstrip("-").isdecimal()
    if number or (types == ["boolean"] and value in ("true", "false")):
        return f"write {value} without quotes"
    if types == ["array"] and not isinstance(value, list) and value is not None:
        return "begin each item with a dash"
    return None


def _required(failure: Failure) -> Violation:
    name, declared = failure.detail, _schema(failure).properties
    near = suggest(name, [key for key in failure.value if key not in declared])
    hint = near and f"{near.removeprefix('did you mean ').removesuffix('?')} should be '{name}'"
    path = (*failure.path, name)
    upstream = f"{_field(path)}: Required value"
    message = f"{_name(path)} is missing"
    return Violation("TC103", failure.path, message, upstream, expected=name, hint=hint, blocking=True)


def _enum(failure: Failure) -> Violation:
    allowed, listed = compiled(_allowed, _schema(failure))
    upstream = f"{_field(failure.path)}: Unsupported value: {go_value(failure.value)}: supported values: {listed}"
    return not_allowed(failure.path, failure.value, allowed, upstream)


def _allowed(schema: Structural) -> tuple[list[str], str]:
    """Return the texts of an enum, and those of them that the server's text lists."""
    allowed = [value if isinstance(value, str) else go_json(value) for value in schema.keywords["enum"][:_TRIED]]
    return allowed, _listed(allowed)


def not_allowed(path: Path, value: Any, allowed: list[str], upstream: str | None) -> Violation:
    """Return the violation of a value that is not allowed; an allowed empty value is not listed."""
    names = [each for each in allowed if each]
    listed = _listed(names)
    hint = suggest(value, names) if isinstance(value, str) else None
    message = f"{_name(path)} must be {'one of ' if len(names) > 1 else ''}{listed}"
    return Violation("TC104", path, message, upstream, show(value), listed, hint, blocking=True)


def _listed(values: list[str]) -> str:
    return ", ".join(map(quote, values[:_LISTED])) + ", ..." * (len(values) > _LISTED)


def _too_many(failure: Failure) -> Violation:
    most, size, what = _keyword(failure), len(failure.value), _COUNTED[failure.keyword]
    if what == "characters":  # the server's word is bytes; it counts code points
        upstream = f"{_field(failure.path)}: Too long: may not be more than {most} byte{'s' * (most != 1)}"
    else:
        upstream = f"{_field(failure.path)}: Too many: {size}: must have at most {most} item{'s' * (most != 1)}"
    limit, found = f"at most {most} {what}", f"{size} {what}"
    return _violation(failure, "TC105", f"may have {limit}", upstream, found=found, expected=limit, blocking=True)


def _too_few(failure: Failure) -> Violation:
    least, size, what = _keyword(failure), len(failure.value), _COUNTED[failure.keyword]
    shown, detail = str(size), f"should have at least {least} {what}"
    if what == "characters":
        shown, detail = quote(failure.value), f"should be at least {least} chars long"
    upstream = _invalid(failure.path, shown, f"{dotted(failure.path)} in body {detail}")
    limit, found = f"at least {least} {what}", f"{size} {what}"
    return _violation(failure, "TC105", f"must have {limit}", upstream, found=found, expected=limit)


def _pattern(failure: Failure) -> Violation:
    pattern, text = _keyword(failure), failure.value
    form = _FORMS.get(pattern)
    upstream = _invalid(failure.path, quote(text), f"{dotted(failure.path)} in body should match '{pattern}'")
    message = f"must be {form}" if form else "does not match its pattern"
    hint = _quantity_hint(text, failure.path) if pattern == _QUANTITY else None
    return _violation(failure, "TC106", message, upstream, expected=form or f"text that matches {pattern}", hint=hint)


def _quantity_hint(value: Any, path: Path) -> str | None:
    """Return a hint with the quantities that a text such as ``16GB`` or ``4 Gi`` may mean, or None.

    Of cpu, ``500mi`` means thousandths, and no larger unit is likely.
    """
    found = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    number, unit, binary, has_bytes = found.groups()
    if path[-1:] == ("cpu",):
        return f"did you mean {number}m?" if unit == "m" else None
    if not has_bytes and re.fullmatch(_QUANTITY, written := f"{number}{unit}{binary}"):
        return f"did you mean {written}?"
    power = "kmgtpe".index(unit.lower()) + 1
    large = f"{number}{unit.upper()}i (2^{10 * power} bytes)"
    if binary:
        return f"did you mean {large}?"
    return f"did you mean {number}{'k' if power == 1 else unit.upper()} (10^{3 * power} bytes) or {large}?"


def _format(failure: Failure) -> Violation:
    form, text, name = _keyword(failure), quote(failure.value), dotted(failure.path)
    wanted = _FORMS.get(form, f"a {form}")
    upstream = _invalid(failure.path, text, f"{name} in body must be of type {form}: {text}")
    return _violation(failure, "TC106", f"must be {wanted}", upstream, expected=wanted, blocking=True)


def _number(failure: Failure) -> Violation:
    (keyword, expected, value, cast), path, wanted = failure.detail, failure.path, failure.detail.expected
    if cast:
        text = f'{NO_FIELD}: Invalid value: "": {cast} value must be of type {expected} in {dotted(path)}'
        wanted = _WIDTHS.get(expected, f"a number that is an {expected}")
    elif expected.startswith("positive"):
        text = _invalid(path, go_value(value), f"factor MultipleOf declared for {dotted(path)} must be {expected}")
    else:
        text = _invalid(path, go_value(value), f"{dotted(path)} in body should be {expected}")
    given = failure.value
    is_fraction = isinstance(given, float) and "integer" in _schema(failure).types and given != int(given)
    secondary = keyword == "format" and is_fraction
    return _violation(failure, "TC105", f"must be {wanted}", text, expected=wanted, secondary=secondary)


def _list_type(failure: Failure, schema: Structural) -> Violation:
    _, value, is_duplicate = failure.detail
    keys, field, found = _key_names(failure), in_brackets(schema, failure.path), show(value)
    if is_duplicate:
        upstream, expected = f"{field}: Duplicate value: {go_value(value)}", f"a unique {keys}"
        message = f"has the same {keys} as an earlier item"
        return _violation(failure, "TC107", message, upstream, found=found, expected=expected)
    message, expected = f"must be a mapping: the items of the list are identified by {keys}", "a mapping"
    upstream = f"{field}: Invalid value: {go_value(value)}: must be an object for an array of list-type map"
    return _violation(failure, "TC102", message, upstream, found=found, expected=expected, secondary=True)


def _key_names(failure: Failure) -> str:
    keywords = _schema(failure).keywords
    return " and ".join(keywords.get(LIST_KEYS, ())) if keywords[LIST_TYPE] == "map" else "value"


def in_brackets(schema: Structural, path: Path) -> str:
    """Return a path with the keys of maps in brackets, as in some of the server's errors."""
    text, at = "", schema
    for step in path:
        text += f"{'.' if text else ''}{step}" if step in at.properties else f"[{step}]"
        at = at.child(step) or at
    return text


def _alternatives(failure: Failure) -> Violation:
    text, message = _ALTERNATIVES[failure.keyword]
    upstream = f'{NO_FIELD}: Invalid value: "": {quote(dotted(failure.path))} {text}{failure.detail or ""}'
    return _violation(failure, "TC102", message, upstream, secondary=failure.keyword in ("anyOf", "allOf"))


def _go_type(failure: Failure) -> Violation:
    code, wanted = failure.detail
    hint = _quantity_hint(failure.value, failure.path) if code == "TC106" else None
    return _violation(failure, code, f"must be {wanted}", "", expected=wanted, hint=hint)


def _repeated(failure: Failure) -> Violation:
    keys, found = _key_names(failure), show(failure.detail.value)
    message = f"has the same {keys} as an earlier item; server-side apply rejects this"
    return _violation(failure, "TC107", message, "", found=found, expected=f"a unique {keys}", advisory=True)


_WIDTHS = {
    "integer with format int32": "a 32-bit integer",
    "integer with format int64": "a 64-bit integer",
    "integer (default format)": "a 64-bit integer",
    "number with format float": "a 32-bit float",
}
_COUNTED = {
    "maxLength": "characters",
    "minLength": "characters",
    "maxItems": "items",
    "minItems": "items",
    "maxProperties": "fields",
    "minProperties": "properties",
}
_ALTERNATIVES = {
    "anyOf": ("must validate at least one schema (anyOf)", "fits none of the alternatives"),
    "oneOf": ("must validate one and only one schema (oneOf). ", "must fit exactly one alternative"),
    "allOf": ("must validate all the schemas (allOf)", "does not fit all schemas"),
    "not": ("must not validate the schema (not)", "has a form that is not allowed"),
}
_WORDS: dict[str, _Words] = {
    "type": _type,
    "required": _required,
    "enum": _enum,
    **dict.fromkeys(("maxLength", "maxItems", "maxProperties"), _too_many),
    **dict.fromkeys(("minLength", "minItems", "minProperties"), _too_few),
    "pattern": _pattern,
    "format": _format,
    NUMBER: _number,
    **dict.fromkeys(_ALTERNATIVES, _alternatives),
}
_NATIVE_WORDS: dict[str, _Words] = {"type": _type, "required": _required, GO_TYPE: _go_type, LIST_TYPE: _repeated}
