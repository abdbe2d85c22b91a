"""The fast judge: does a document fit its schema, yes or no.

Schemas become closures, node by node, when a value first reaches them. A check is a class where the class of a value
says all, else a function of the value: the usual class of value first, whatever is rare in one general check behind it.
What is wrong with a document, and in whose words, is explain.py's business; the two are tested to agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from trainc.kube.gojson import INT64
from trainc.schema.dialect import LIST_TYPE, NUMBER, flat
from trainc.schema.formats import format_check
from trainc.schema.listtype import is_unique
from trainc.schema.numbers import number_errors
from trainc.schema.patterns import matcher
from trainc.schema.structural import Structural, compiled
from trainc.schema.values import INT32, is_member, mismatch
from trainc.source import Json

_Test: TypeAlias = Callable[[Any], bool]
_Check: TypeAlias = type | _Test
INTEGER_RANGES = {"": INT64, "int64": INT64, "int32": INT32}
"""What an integer of a format may be."""


def is_clean(schema: Structural, data: Json) -> bool:
    """Tell whether data, pruned and defaulted, fits schema and its list types."""
    check = _check_of(schema)
    return data.__class__ is check if check.__class__ is type else check(data)


def _check_of(schema: Structural) -> _Check:
    check: _Check = compiled(_make_check, schema)
    return check


def _test_of(schema: Structural) -> _Test:
    check = _check_of(schema)
    return check if not isinstance(check, type) else lambda value: value.__class__ is check


def _make_check(schema: Structural) -> _Check:
    keywords = flat(schema)
    simple = schema.keywords.keys().isdisjoint(("allOf", "oneOf", "not")) and not schema.nullable
    simple = simple and ("enum" not in keywords or schema.type == "string")
    if simple and schema.int_or_string and is_int_or_string(schema):
        return _int_or_string_check(schema, keywords)
    if not simple or "anyOf" in keywords:
        return _general_test(schema)
    make = {"string": _string_check, "object": _object_check, "array": _array_check, "integer": _integer_check}
    if schema.type in make:
        return make[schema.type](schema, keywords)
    return bool if schema.type == "boolean" else _general_test(schema)


def is_int_or_string(schema: Structural) -> bool:
    """Tell whether all that an int-or-string asks for is one of the two, and what is asked of text."""
    anyof = [dict(sub.keywords) for sub in schema.alternatives("anyOf")]
    return anyof in ([], [{"type": "integer"}, {"type": "string"}]) and NUMBER not in flat(schema)


def _int_or_string_check(schema: Structural, keywords: dict[str, Any]) -> _Check:
    of_text, general = text_test(keywords), _general_test(schema)

    def check(value: Any) -> bool:
        if value.__class__ is str:
            return of_text is None or of_text(value)
        return (value.__class__ is int and value in INT64) or general(value)

    return check


def _string_check(schema: Structural, keywords: dict[str, Any]) -> _Check:
    test = text_test(keywords)
    if "enum" in keywords:
        allowed = frozenset(value for value in keywords["enum"] if isinstance(value, str))
        return lambda value: value.__class__ is str and value in allowed and (test is None or test(value))
    if test is None and "format" not in keywords:
        return str
    general = _general_test(schema)
    return lambda value: (test is None or test(value)) if value.__class__ is str else general(value)


def _integer_check(schema: Structural, keywords: dict[str, Any]) -> _Check:
    limits, general = keywords[NUMBER], _general_test(schema)
    if limits.keys() > {"type", "format"}:
        return general
    allowed = INTEGER_RANGES.get(limits["format"], INT64)
    low, high = allowed.start, allowed.stop
    return lambda value: low <= value < high if value.__class__ is int else general(value)


def _object_check(schema: Structural, keywords: dict[str, Any]) -> _Check:
    return _mapping_test(schema, keywords) or dict


def _array_check(schema: Structural, keywords: dict[str, Any]) -> _Check:
    return _list_test(schema, keywords) or list


def text_test(keywords: dict[str, Any]) -> _Test | None:
    """Return the test of a string against length, pattern and format, or None where there is nothing to test."""
    tests: list[_Test] = []
    if (longest := keywords.get("maxLength")) is not None:
        tests.append(lambda text: len(text) <= longest)
    if (shortest := keywords.get("minLength")) is not None:
        tests.append(lambda text: len(text) >= shortest)
    if keywords.get("pattern"):
        tests.append(matcher(keywords["pattern"]))
    if (check := format_check(keywords.get("format", ""))) is not None:
        tests.append(check)
    if len(tests) <= 1:
        return tests[0] if tests else None
    return lambda text: all(test(text) for test in tests)


class _Fields(dict[str, "_Check | None"]):
    """The checks of a mapping's fields, made when first met; None where any value will do."""

    __slots__ = ("_additional", "_schema")

    def __init__(self, schema: Structural) -> None:
        super().__init__()
        self._schema = schema
        self._additional = _check_of(schema.additional) if schema.additional is not None else None

    def __missing__(self, key: str) -> _Check | None:
        child = self._schema.properties.get(key)
        if child is None:
            return self._additional
        found = self[key] = _check_of(child)
        return found


def _mapping_test(schema: Structural, keywords: dict[str, Any]) -> _Test | None:
    """Return the test of a mapping's class, fields and size, or None where there is nothing but the class to test."""
    required = tuple(keywords.get("required", ()))
    fewest, most = keywords.get("minProperties", 0), keywords.get("maxProperties")
    if not (schema.properties or schema.additional or required or fewest or most is not None):
        return None
    fields = _Fields(schema)

    def test(value: Any) -> bool:
        if value.__class__ is not dict:
            return False
        for key, item in value.items():
            check = fields[key]
            if check is None:
                continue
            if check.__class__ is type:
                if item.__class__ is not check:
                    return False
            elif not check(item):
                return False
        for key in required:
            if key not in value:
                return False
        return fewest <= len(value) and (most is None or len(value) <= most)

    return test


def _list_test(schema: Structural, keywords: dict[str, Any]) -> _Test | None:
    """Return the test of a list's class, items and length, or None where there is nothing but the class to test."""
    fewest, most = keywords.get("minItems", 0), keywords.get("maxItems")
    items = schema.items
    if items is None and LIST_TYPE not in keywords and not fewest and most is None:
        return None
    unique = LIST_TYPE in keywords

    def test(value: Any) -> bool:
        if value.__class__ is not list or len(value) < fewest or (most is not None and len(value) > most):
            return False
        if value and items is not None:
            check = _check_of(items)
            if check.__class__ is type:
                for item in value:
                    if item.__class__ is not check:
                        return False
            else:
                for item in value:
                    if not check(item):
                        return False
        return not unique or len(value) < 2 or is_unique(keywords, value)

    return test


def _general_test(schema: Structural) -> _Test:
    """Return the test of every keyword for every class of value; slower, and complete."""
    keywords = flat(schema)
    by_class: dict[type, _Test | None] = {
        str: text_test(keywords),
        dict: _mapping_test(schema, keywords),
        list: _list_test(schema, keywords),
    }
    if (limits := keywords.get(NUMBER)) is not None:
        by_class[int] = by_class[float] = lambda value: not number_errors(limits, value)
    alternatives = _alternatives_test(schema)
    enum = keywords.get("enum")

    def test(value: Any) -> bool:
        if mismatch(keywords, value) is not None or (enum is not None and not is_member(value, enum)):
            return False
        if value is None:
            return True
        own = by_class.get(value.__class__)
        return (own is None or own(value)) and (alternatives is None or alternatives(value))

    return test


def _alternatives_test(schema: Structural) -> _Test | None:
    anyof, oneof, allof = (list(map(_test_of, schema.alternatives(key))) for key in ("anyOf", "oneOf", "allOf"))
    negated = schema.negated()
    refused = None if negated is None else _test_of(negated)
    if not (anyof or oneof or allof or refused):
        return None

    def test(value: Any) -> bool:
        if anyof and not any(one(value) for one in anyof):
            return False
        if oneof and sum(one(value) for one in oneof) != 1:
            return False
        return all(one(value) for one in allof) and not (refused is not None and refused(value))

    return test
