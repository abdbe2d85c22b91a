"""YAML files that have a type: trainc.yaml, image.yaml and images.lock.yaml.

msgspec decides whether a file fits its type, and stops at the first error. Only then does jsonschema, which takes long
to load, find all of them, by the schema that msgspec generates from the type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec

from trainc.basics.jsonvalues import Json, Path, dotted
from trainc.documents.problems import Problem, Refused
from trainc.documents.yaml import read_yaml
from trainc.findings import Finding, report, suggest
from trainc.inputs.source import Document, Mark, Source

_BOM = "\ufeff"
_SHOWN = 60
"""The most characters of a value that a finding shows."""

_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a string",
    "boolean": "a boolean",
    "integer": "an integer",
    "null": "null",
}
T = TypeVar("T")


def read_document(source: Source) -> tuple[Json, Document, tuple[Finding, ...]]:
    """Return the one YAML value of a text that is no Kubernetes object, a document to place findings in, and findings.

    Findings are those of any YAML text: TC001 to TC005, TC012. The document's data is empty if the value is no mapping.
    """
    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8", "surrogateescape")
    text = text.removeprefix(_BOM)
    try:
        data, problems = read_yaml(text)
    except Refused as refusal:
        mark = _mark(text, refusal.offset)
        document = Document(source, {}, 0, lambda: {(): mark})
        return None, document, (_finding(document, refusal.problem),)
    document = Document(source, data if isinstance(data, dict) else {}, 0, _marks(text))
    return data, document, tuple(_finding(document, problem) for problem in problems)


def _marks(text: str) -> Callable[[], Mapping[Path, Mark]]:
    def marks() -> Mapping[Path, Mark]:
        from trainc.documents.yaml import offsets  # only to place a finding

        return {path: _mark(text, offset) for path, offset in offsets(text).items()}

    return cache(marks)


def _mark(text: str, offset: int) -> Mark:
    start = text.rfind("\n", 0, offset) + 1
    return Mark(text.count("\n", 0, offset) + 1, offset - start + 1)


def _finding(document: Document, problem: Problem) -> Finding:
    # A syntax error's hint is about files that hold several documents.
    hint = problem.hint if problem.code != "TC002" else None
    return report(problem.code, document, problem.path, problem.message, found=problem.found, hint=hint)


def convert(data: Json, document: Document, kind: type[T], code: str) -> tuple[T | None, list[Finding]]:
    """Return a value as a type, or None and a finding of ``code`` for each thing in it that does not fit the type."""
    try:
        return msgspec.convert(data, kind), []
    except msgspec.ValidationError as error:
        rows = dict.fromkeys(misfits(data, kind)) or {((), str(error), None, None, None): None}
        return None, [
            report(code, document, path, message, found=found, expected=expected, hint=hint)
            for path, message, found, expected, hint in rows
        ]


Words = tuple[Path, str, str | None, str | None, str | None]
"""Path, message, found, expected and hint."""


def misfits(data: Json, kind: type[Any]) -> Iterator[Words]:
    """Yield what in a value does not fit the schema of a type."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    # JSON schema takes 1.0 for an integer, msgspec does not.
    checker = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator: Any = extend(Draft202012Validator, type_checker=checker)  # type: ignore[no-untyped-call]
    for error in validator(msgspec.json.schema(kind)).iter_errors(data):
        yield from _words(error)


def _words(error: Any) -> Iterator[Words]:
    """Yield what one ValidationError of jsonschema says, in our words."""
    path, value, wanted = tuple(error.absolute_path), error.instance, error.validator_value
    where = dotted(path) or "the file"
    match error.validator:
        case "additionalProperties":
            known = sorted(error.schema["properties"])
            for key in sorted(value.keys() - known):
                yield (*path, key), f"unknown key {key!r}", None, ", ".join(known), suggest(key, known)
        case "required":
            for key in sorted({*wanted} - value.keys()):
                yield path, f"{where} lacks {key}", None, key, None
        case "anyOf" if alternative := _alternative(error):
            for each in alternative:
                yield from _words(each)
        case "anyOf" | "enum" | "type":
            yield path, *_choice(where, value, wanted if error.validator == "anyOf" else [error.schema])
        case "pattern" if "propertyNames" in error.relative_schema_path:
            yield (*path, value), *_limit(repr(value), error)
        case _:
            yield path, *_limit(where, error)


def _limit(where: str, error: Any) -> tuple[str, str | None, str | None, str | None]:
    """Return message, found, expected and hint for a value of the right type that is not valid."""
    found, wanted = _show(error.instance), error.validator_value
    match error.validator:
        case "pattern":
            noun, _, rule = error.schema["patternErrorMessage"].partition(": ")
            return f"{where} is not {noun}", found, rule, None
        case "minLength" | "minItems" | "minProperties":
            return f"{where} must not be empty", None, None, None
        case "maxLength":
            return f"{where} is too long", found, f"at most {wanted} characters", None
        case "minimum" | "maximum":
            bound = f"{'greater' if error.validator == 'minimum' else 'less'} than or equal to {wanted}"
            return f"{where} must be {bound}", found, bound, None
    return f"{where}: {error.message}", None, None, None


def _alternative(error: Any) -> list[Any]:
    """Return the errors of that alternative whose type the value has; none if there is no such alternative."""
    found: dict[object, list[Any]] = {}
    for each in error.context:
        found.setdefault(each.schema_path[0], []).append(each)
    for errors in found.values():
        if not any(not each.relative_path and each.validator in ("type", "enum") for each in errors):
            return errors
    return []


def _choice(where: str, value: Json, alternatives: Iterable[Mapping[str, Any]]) -> tuple[str, str, str, str | None]:
    """Return message, found, expected and hint for a value that is none of some alternatives."""
    texts: list[str] = []
    types: list[str] = []
    for each in alternatives:
        texts += map(str, each.get("enum", ()))
        if "enum" not in each and each.get("type") != "null":
            types.append(_TYPES["object" if "$ref" in each else each["type"]])
    *most, last = [*(f'"{text}"' for text in texts), *types]
    expected = f"{', '.join(most)} or {last}" if most else last
    hint = None
    if isinstance(value, str):
        hint = suggest(value, texts) or ("begin each item with a dash" if _TYPES["array"] in types else None)
    return f"{where} must be {expected}", _show(value), expected, hint


def _show(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
