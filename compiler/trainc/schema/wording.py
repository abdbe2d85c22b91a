"""Words for jsonschema's errors: ours, and the API server's own text.

Source of the texts: k8s.io/kube-openapi pkg/validation/errors and k8s.io/apiextensions-apiserver v0.36
pkg/apiserver/validation (which makes field errors of them).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from trainc.findings import suggest
from trainc.kube.fielderror import NO_FIELD, go_value, quote
from trainc.kube.gojson import go_json
from trainc.schema.dialect import LIST_KEYS, LIST_TYPE, NUMBER
from trainc.schema.violation import Violation
from trainc.source import Path, dotted

if TYPE_CHECKING:
    from jsonschema import ValidationError

_Words: TypeAlias = Callable[[Any, Path], Violation]
_DIGITS = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"^(\+|-)?{_DIGITS}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_DIGITS}))?$"
"""The pattern of quantities in every CRD made from Go's types."""

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
"""What people call a pattern or a format."""

_ARTICLES = {
    "object": "a mapping",
    "array": "a list",
    "integer": "an integer",
    "boolean": "true or false",
    "null": "null",
}


def word(error: ValidationError) -> Violation:
    """Return the violation that an error of explain's validator stands for."""
    return _WORDS[str(error.validator)](error, tuple(error.absolute_path))


def show(value: Any, limit: int = 60) -> str:
    """Return a value as a finding shows it: shortened JSON."""
    text = go_json(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def spelled_types(names: str) -> str:
    """Return types, separated by commas, as words: ``an integer or a string``."""
    return " or ".join(_ARTICLES.get(name, f"a {name}") for name in names.split(","))


def _field(path: Path) -> str:
    return dotted(path) or NO_FIELD


def _invalid(path: Path, value: str, detail: str) -> str:
    return f"{_field(path)}: Invalid value: {value}: {detail}"


def _place(path: Path) -> str:
    return dotted(path) or "the document"


def _type(error: Any, path: Path) -> Violation:
    expected, found = error.validator_value
    detail = f"{dotted(path)} in body must be of type {expected}: {quote(found)}"
    types = [name for name in error.schema["type"] if name != "null"]
    wanted = spelled_types(",".join(types) or expected)
    return Violation(
        "TC102",
        path,
        f"{_place(path)} must be {wanted}",
        _invalid(path, quote(found), detail),
        found=show(error.instance),
        expected=wanted,
        hint=type_hint(types, error.instance),
        blocking=True,
        secondary=_of_an_alternative(error),
    )


def _of_an_alternative(error: Any) -> bool:
    steps = [None, None, *error.absolute_schema_path]
    return bool(steps[-2] == "anyOf" and steps[-3] != "properties")


def type_hint(types: list[str], value: Any) -> str | None:
    """Return what to do about a value of another type than one of ``types``, or None where nothing is plain."""
    if types == ["string"] and isinstance(value, bool | int | float):
        return "write it in quotes"
    if types in (["integer"], ["number"]) and isinstance(value, str) and value.lstrip("-").isdecimal():
        return f"write {value} without quotes"
    if types == ["boolean"] and value in ("true", "false"):
        return f"write {value} without quotes"
    if types == ["array"] and not isinstance(value, list) and value is not None:
        return "begin each item with a dash"
    return None


def _required(error: Any, path: Path) -> Violation:
    parent, name = path[:-1], str(path[-1])
    return Violation(
        "TC103",
        parent,
        f"{_place(parent)} lacks {name}",
        f"{_field(path)}: Required value",
        expected=name,
        hint=misspelt(name, error.instance, error.schema.get("properties", {})),
        blocking=True,
    )


def misspelt(name: str, value: Mapping[str, Any], known: Container[str]) -> str | None:
    """Return which unknown key of value should probably be ``name``, a field that value lacks."""
    near = suggest(name, [key for key in value if key not in known])
    return near and f"{near.removeprefix('did you mean ').removesuffix('?')} should be '{name}'"


def _enum(error: Any, path: Path) -> Violation:
    allowed = [value if isinstance(value, str) else go_json(value) for value in error.validator_value]
    listed = ", ".join(map(quote, allowed))
    value = error.instance
    return Violation(
        "TC104",
        path,
        f"{_place(path)} must be one of {listed}",
        f"{_field(path)}: Unsupported value: {go_value(value)}: supported values: {listed}",
        found=show(value),
        expected=listed,
        hint=suggest(value, allowed) if isinstance(value, str) else None,
        blocking=True,
    )


def _too_long(error: Any, path: Path) -> Violation:
    most = error.validator_value
    unit = "byte" if most == 1 else "bytes"  # the server's word; it counts code points
    return Violation(
        "TC105",
        path,
        f"{_place(path)} may have at most {most} characters",
        f"{_field(path)}: Too long: may not be more than {most} {unit}",
        found=f"{len(error.instance)} characters",
        expected=f"at most {most} characters",
        blocking=True,
    )


def _too_short(error: Any, path: Path) -> Violation:
    least = error.validator_value
    detail = f"{dotted(path)} in body should be at least {least} chars long"
    return Violation(
        "TC105",
        path,
        f"{_place(path)} must have at least {least} characters",
        _invalid(path, quote(error.instance), detail),
        found=f"{len(error.instance)} characters",
        expected=f"at least {least} characters",
    )


def _too_many(what: str) -> _Words:
    def words(error: Any, path: Path) -> Violation:
        most, size = error.validator_value, len(error.instance)
        return Violation(
            "TC105",
            path,
            f"{_place(path)} may have at most {most} {what}",
            f"{_field(path)}: Too many: {size}: must have at most {most} {'item' if most == 1 else 'items'}",
            found=f"{size} {what}",
            expected=f"at most {most} {what}",
            blocking=True,
        )

    return words


def _too_few(what: str) -> _Words:
    def words(error: Any, path: Path) -> Violation:
        least, size = error.validator_value, len(error.instance)
        detail = f"{dotted(path)} in body should have at least {least} {what}"
        return Violation(
            "TC105",
            path,
            f"{_place(path)} must have at least {least} {what}",
            _invalid(path, str(size), detail),
            found=f"{size} {what}",
            expected=f"at least {least} {what}",
        )

    return words


def _pattern(error: Any, path: Path) -> Violation:
    pattern = error.validator_value
    form = _FORMS.get(pattern)
    return Violation(
        "TC106",
        path,
        f"{_place(path)} " + (f"must be {form}" if form else "does not have the form that is asked for"),
        _invalid(path, quote(error.instance), f"{dotted(path)} in body should match '{pattern}'"),
        found=show(error.instance),
        expected=form or f"a match of {pattern}",
    )


def _format(error: Any, path: Path) -> Violation:
    form, text = error.validator_value, quote(error.instance)
    wanted = _FORMS.get(form, f"a {form}")
    return Violation(
        "TC106",
        path,
        f"{_place(path)} must be {wanted}",
        _invalid(path, text, f"{dotted(path)} in body must be of type {form}: {text}"),
        found=show(error.instance),
        expected=wanted,
        blocking=True,
    )


_WIDTHS = {
    "integer with format int32": "a 32-bit integer",
    "integer with format int64": "a 64-bit integer",
    "integer (default format)": "a 64-bit integer",
    "number with format float": "a 32-bit float",
}


def _number(error: Any, path: Path) -> Violation:
    keyword, expected, value, cast = error.validator_value
    message, wanted = f"{_place(path)} must be {expected}", expected
    if cast:
        text = f'{NO_FIELD}: Invalid value: "": {cast} value must be of type {expected} in {dotted(path)}'
        wanted = _WIDTHS.get(expected, f"a number that is an {expected}")
        message = f"{_place(path)} must be {wanted}"
    elif expected.startswith("positive"):
        text = _invalid(path, go_value(value), f"factor MultipleOf declared for {dotted(path)} must be {expected}")
    else:
        text = _invalid(path, go_value(value), f"{dotted(path)} in body should be {expected}")
    types = error.schema["type"]
    fraction = isinstance(error.instance, float) and "integer" in types and error.instance != int(error.instance)
    return Violation(
        "TC105",
        path,
        message,
        text,
        found=show(error.instance),
        expected=wanted,
        secondary=keyword == "format" and fraction,
    )


def _list_type(error: Any, path: Path) -> Violation:
    _, value, duplicate = error.validator_value
    keys = " and ".join(error.schema[LIST_KEYS]) if error.schema[LIST_TYPE] == "map" else "value"
    if not duplicate:
        detail = "must be an object for an array of list-type map"
        return Violation(
            "TC102",
            path,
            f"{_place(path)} must be a mapping: the items of its list are told apart by {keys}",
            f"{_keyed(error, path)}: Invalid value: {go_value(value)}: {detail}",
            found=show(value),
            expected="a mapping",
            secondary=True,
        )
    return Violation(
        "TC107",
        path,
        f"{_place(path)} has the same {keys} as an item before it",
        f"{_keyed(error, path)}: Duplicate value: {go_value(value)}",
        found=show(value),
        expected=f"items of different {keys}",
    )


def _keyed(error: Any, path: Path) -> str:
    """Spell a path as the check of lists does: the keys of maps in brackets."""
    text, steps = "", iter(path)
    words = iter(error.absolute_schema_path)
    for keyword in words:
        if keyword == "properties":
            text += f"{'.' if text else ''}{next(steps)}"
            next(words)
        elif keyword in ("additionalProperties", "items"):
            text += f"[{next(steps)}]"
    return text + "".join(f"[{step}]" for step in steps)


def _alternatives(text: str, message: str) -> _Words:
    def words(error: Any, path: Path) -> Violation:
        more = error.validator_value if isinstance(error.validator_value, str) else ""
        detail = f"{quote(dotted(path))} {text}{more}"
        return Violation(
            "TC102",
            path,
            f"{_place(path)} {message}",
            f'{NO_FIELD}: Invalid value: "": {detail}',
            found=show(error.instance),
            secondary=error.validator in ("anyOf", "allOf"),
        )

    return words


_WORDS: dict[str, _Words] = {
    "type": _type,
    "required": _required,
    "enum": _enum,
    "maxLength": _too_long,
    "minLength": _too_short,
    "maxItems": _too_many("items"),
    "minItems": _too_few("items"),
    "maxProperties": _too_many("fields"),
    "minProperties": _too_few("properties"),
    "pattern": _pattern,
    "format": _format,
    NUMBER: _number,
    LIST_TYPE: _list_type,
    "anyOf": _alternatives("must validate at least one schema (anyOf)", "fits none of the alternatives"),
    "oneOf": _alternatives("must validate one and only one schema (oneOf). ", "must fit exactly one alternative"),
    "allOf": _alternatives("must validate all the schemas (allOf)", "does not fit all schemas"),
    "not": _alternatives("must not validate the schema (not)", "has a form that is not allowed"),
}
