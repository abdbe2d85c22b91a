"""Explains every failure of a document, with jsonschema, in a dialect that reads schemas as the API server does.

Source of the rules: k8s.io/kube-openapi pkg/validation/validate, whose order and whose choice of alternatives are kept.
Only documents that the judge refused come here, so jsonschema is imported no sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from trainc.records import replace
from trainc.schema.dialect import LIST_TYPE, NUMBER, convert
from trainc.schema.formats import format_check
from trainc.schema.listtype import list_errors
from trainc.schema.numbers import number_errors
from trainc.schema.patterns import matcher
from trainc.schema.structural import Structural
from trainc.schema.values import is_member, mismatch
from trainc.schema.violation import Violation
from trainc.schema.wording import word
from trainc.source import Json

if TYPE_CHECKING:
    from jsonschema import ValidationError

_BORROWED = (
    "properties",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "maxLength",
)
"""Keywords that mean in Kubernetes what they mean in JSON Schema."""


def explain(schema: Structural, data: Json) -> tuple[Violation, ...]:
    """Return every failure of data, in the order of schema; the same text is said once."""
    found: dict[str, Violation] = {}
    for error in _validator()(convert(schema)).iter_errors(data):
        violation = word(error)
        found.setdefault(violation.upstream, violation)
    if all(violation.secondary for violation in found.values()):
        return tuple(replace(violation, secondary=False) for violation in found.values())
    return tuple(found.values())


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import create

    borrowed: dict[str, Any] = {name: Draft202012Validator.VALIDATORS[name] for name in _BORROWED}
    own: dict[str, Any] = {
        "type": _type,
        "anyOf": _any_of,
        "oneOf": _one_of,
        "allOf": _all_of,
        "not": _not,
        "minLength": _min_length,
        "pattern": _pattern,
        "format": _format,
        NUMBER: _number,
        LIST_TYPE: _list_type,
        "enum": _enum,
        "required": _required,
    }
    return create({}, {**borrowed, **own}, type_checker=Draft202012Validator.TYPE_CHECKER)


def _error(message: str, detail: Any = None, path: tuple[str | int, ...] = ()) -> ValidationError:
    """Make an error. ``detail`` stands where the value of the keyword would, which is in the error's schema, too."""
    from jsonschema import ValidationError

    error = ValidationError(message, path=path)
    if detail is not None:
        error.validator_value = detail
    return error


def _type(_validator: Any, _types: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    if (wrong := mismatch(schema, instance)) is not None:
        yield _error("type", wrong)


def _min_length(_validator: Any, least: int, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    if isinstance(instance, str) and len(instance) < least and len(instance) <= schema.get("maxLength", len(instance)):
        yield _error("minLength")  # of a text that is too long and too short the server says the former


def _pattern(_validator: Any, pattern: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    if not isinstance(instance, str) or not pattern:
        return
    fits = schema.get("minLength", 0) <= len(instance) <= schema.get("maxLength", len(instance))
    if fits and not matcher(pattern)(instance):  # a wrong length is all that the server says
        yield _error("pattern")


def _format(_validator: Any, form: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    check = format_check(form)
    if isinstance(instance, str) and check is not None and not check(instance):
        yield _error("format")


def _number(_validator: Any, limits: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, int | float) and not isinstance(instance, bool):
        for failure in number_errors(limits, instance):
            yield _error(failure.keyword, failure)


def _list_type(_validator: Any, _kind: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    if isinstance(instance, list):
        for failure in list_errors(schema, instance):
            yield _error("list type", failure, (failure.at,))


def _enum(_validator: Any, enum: list[Json], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if not is_member(instance, enum):
        yield _error("enum")


def _required(_validator: Any, names: list[str], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield _error("required", path=(name,))


def _any_of(validator: Any, schemas: list[Any], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if instance is None:
        return
    tried = [list(validator.descend(instance, schema)) for schema in schemas]
    if all(tried):
        yield _error("anyOf")
        yield from _best(schemas, tried, instance)


def _one_of(validator: Any, schemas: list[Any], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if instance is None:
        return
    tried = [list(validator.descend(instance, schema)) for schema in schemas]
    valid = sum(not errors for errors in tried)
    if valid != 1:
        yield _error("oneOf", f"Found {valid} valid alternatives" if valid else "Found none valid")
        if not valid:
            yield from _best(schemas, tried, instance)


def _all_of(validator: Any, schemas: list[Any], instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if instance is None:
        return
    tried = [list(validator.descend(instance, schema)) for schema in schemas]
    for errors in tried:
        yield from errors
    if any(tried):
        yield _error("allOf", ". None validated" if all(tried) else "")


def _not(validator: Any, schema: Any, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if instance is not None and next(iter(validator.descend(instance, schema)), None) is None:
        yield _error("not")


def _best(schemas: list[Any], tried: list[list[Any]], instance: Any) -> list[Any]:
    """Return the errors of the alternative that came furthest, of the first such one."""
    scores = [_score(schema, instance) for schema in schemas]
    return tried[scores.index(max(scores))]


def _score(schema: Mapping[str, Any], instance: Any) -> int:
    """Count the checks that an alternative went through, as kube-openapi's MatchCount does."""
    typed = bool(schema["type"] or "format" in schema)
    fits = mismatch(schema, instance) is None
    if instance is None:
        return int(fits)
    score = typed * (1 + fits) + 4  # type; alternatives, twice; enum; the schema itself
    for keyword in ("anyOf", "oneOf", "allOf"):
        score += _score_alternatives(keyword, schema.get(keyword, []), instance)
    if isinstance(instance, str):
        return score + 1 + ("format" in schema)
    if isinstance(instance, list):
        items = schema.get("items")
        return score + 2 + (sum(_score(items, item) for item in instance) if items is not None else 0)
    if isinstance(instance, dict):
        return score + 1 + sum(_score(sub, item) for sub, item in _fields(schema, instance))
    return score + (2 if not isinstance(instance, bool) else 0)


def _fields(schema: Mapping[str, Any], instance: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    known = schema.get("properties", {})
    for name, item in instance.items():
        sub = known.get(name, schema.get("additionalProperties"))
        if sub is not None:
            yield sub, item


def _score_alternatives(keyword: str, schemas: list[Any], instance: Any) -> int:
    if not schemas:
        return 0
    scores = [_score(schema, instance) for schema in schemas]
    if keyword == "allOf":
        return sum(scores)
    valid = [score for schema, score in zip(schemas, scores, strict=True) if _is_valid(schema, instance)]
    if keyword == "oneOf" and len(valid) > 1:
        return 0
    return valid[0] if valid else max(scores)


def _is_valid(schema: Mapping[str, Any], instance: Any) -> bool:
    return bool(_validator()(schema).is_valid(instance))
