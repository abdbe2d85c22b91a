"""Escapes names of properties as CEL identifiers, and back (k8s.io/apiserver v0.34 pkg/cel/escaping.go)."""

from __future__ import annotations

import re

from trainc.basics.regex import lazy

_WORDS = """
true false null in as break const continue else for function if import let loop package namespace return var void while
"""

RESERVED = frozenset(_WORDS.split())
"""Reserved words of CEL."""

_SEQUENCES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = {escaped.strip("_"): plain for plain, escaped in _SEQUENCES.items()}
_SPECIAL = lazy(r"__|[-./]")
_SEQUENCE = lazy(r"__[^_]+__")
_NAME = lazy(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)


def escape(name: str) -> str | None:
    """Return the identifier of a property, or None if it cannot have one."""
    if name in RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _SPECIAL.sub(lambda found: _SEQUENCES[found[0]], name)


def unescape(identifier: str) -> str | None:
    """Return the property of an identifier, or None if it has an unknown escape."""
    failed = False

    def plain(found: re.Match[str]) -> str:
        nonlocal failed
        word = found[0][2:-2]
        if word in _ESCAPED:
            return _ESCAPED[word]
        failed = failed or word not in RESERVED or found[0] != identifier
        return word

    text = _SEQUENCE.sub(plain, identifier)
    return None if failed else text
