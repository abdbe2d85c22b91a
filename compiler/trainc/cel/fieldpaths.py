"""The fieldPath of a CRD's rule: ``.spec.names['a.b']`` below the place that the rule stands at.

Source: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema/cel/validation.go, ValidFieldPath.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainc.basics.jsonvalues import Path
from trainc.basics.regex import lazy
from trainc.schema import Structural

_TOKEN = lazy(r"'(?:[^'\\]|\\.|'(?<=\\'))*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPE = lazy(r"\\(.)", re.DOTALL)
_CHARACTERS = {**dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)), "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """A fieldPath that leads nowhere, or is none."""


def parse_field_path(text: str, schema: Structural) -> tuple[Path, str]:
    """Return the steps of a fieldPath, and its text as the server writes it: ``spec.names[a.b]``.

    Raises FieldPathError with the server's words.
    """
    tokens = iter(_TOKEN.findall(text))
    path: list[str] = []
    spelt = ""
    for token in tokens:
        if token == "[":
            name = _quoted(_next(tokens))
        elif token == ".":
            name = _next(tokens)
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
        named = schema.keywords.get("properties") is not None
        schema = _below(schema, name, named)
        path.append(name)
        spelt += f".{name}" if named else f"[{name}]"
        if token == "[" and (end := _next(tokens)) != "]":
            raise FieldPathError(f"expected ] but got {end}")
    return tuple(path), spelt.removeprefix(".")


def _next(tokens: Iterator[str]) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return token


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")

    def plain(found: re.Match[str]) -> str:
        if found[1] not in _CHARACTERS:
            raise FieldPathError(f"invalid string literal: invalid escape char {found[0]}")
        return _CHARACTERS[found[1]]

    return _ESCAPE.sub(plain, token[1:-1])


def _below(schema: Structural, name: str, named: bool) -> Structural:
    if named:
        found = schema.properties.get(name)
    else:
        if "additionalProperties" not in schema.keywords:
            raise FieldPathError("does not refer to a valid field")
        found = schema.additional
    if found is None:
        raise FieldPathError("does not refer to a valid field")
    return found
