"""Writes documents as YAML text, plainly, with room for scalars that are left as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_SAFE = re.compile(r"[A-Za-z][A-Za-z./-]*[A-Za-z]")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null"}


class Plain(str):
    """A scalar that is written without quotes, whatever it then means."""

    __slots__ = ()


def dump(document: Any) -> str:
    """Return a document as block style YAML; text whose meaning could depend on the reader is quoted."""
    return "\n".join(_lines(document, "")) + "\n"


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(key)}:", item, f"{indent}  ")
    elif isinstance(value, list) and value:
        for item in value:
            lines = list(_lines(item, f"{indent}  "))
            yield f"{indent}- {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        yield f"{indent}{_scalar(value)}"


def _entry(head: str, item: Any, indent: str) -> Iterator[str]:
    if isinstance(item, dict | list) and item:
        yield head
        yield from _lines(item, indent)
    else:
        yield f"{head} {_scalar(item)}"


def _scalar(value: Any) -> str:
    if isinstance(value, Plain) or (isinstance(value, str) and _SAFE.fullmatch(value) and value.lower() not in _WORDS):
        return str(value)
    return json.dumps(value, ensure_ascii=False)
