"""Breaks the syntax of good expressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle.generator.rng import Rng

_GOOD = (
    "x.a.b + 1 > 2 && has(x.c)",
    "[1, 2, 3].map(y, y * 2)",
    "{'a': 1, 'b': 2}['a']",
    "x ? 'yes' : 'no'",
    "!(x == 1 || -x < 2)",
    "x.?a.orValue('b').startsWith('b')",
    "'a' in ['a', 'b'] && 1 in {1: true}",
    "[1, ?optional.of(2)].size() % 2u",
    "x[0][?1].hasValue() // comment",
    "duration('1h') + timestamp('2024-01-01T00:00:00Z')",
    "x.all(i, v, i < size(v))",
    'r"\\d" + b"a" + """x"""',
    "1.5e3 / .5 - 0xFF",
    "google.protobuf.Duration{seconds: 1}",
    "type(1) == int ? null : dyn(3u)",
)
_CHARS = "()[]{}.,:?!&|<>=+-*/%'\"`@#$^;\\~ \n\té_0a"
_WORDS = (
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
    "true",
    "null",
    "&&",
    "||",
    "==",
    "..",
    "??",
    "=>",
    "//",
    "has",
    "1.",
    "0x",
    "1e",
    "5uu",
    "1f",
)


def syntax(rng: Rng, count: int) -> Iterator[dict[str, Any]]:
    """Delete, insert, double or swap a character or a word."""
    for _ in range(count):
        text = rng.pick(_GOOD)
        for _ in range(1 + rng.below(2)):
            text = _broken(rng, text)
        yield {"env": "dyn", "expr": text, "vars": {"x": rng.pick((1, [[1]], {"a": {"b": 1}}, None))}}


def _broken(rng: Rng, text: str) -> str:
    at, choice = rng.below(len(text) + 1), rng.below(4)
    if choice == 0:
        return text[:at] + text[at + 1 :]
    if choice == 1:
        return text[:at] + rng.pick(_CHARS) + text[at:]
    if choice == 2:
        return text[:at] + rng.pick(("", " ")) + rng.pick(_WORDS) + " " + text[at:]
    return text[:at] + text[at + 1 : at + 2] + text[at : at + 1] + text[at + 2 :]
