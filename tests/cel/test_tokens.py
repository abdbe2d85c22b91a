"""The usual tokens are found by a short pattern, and are those of the pattern of all tokens."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from trainc.cel import tokens
from trainc.cel.grammar import tables
from trainc.cel.tokens import Token, scan

PIECES = (
    *(
        "a",
        "_b1",
        "b",
        "r",
        "R",
        "br",
        "u",
        "e",
        "x",
        "in",
        "true",
        "null",
        "0",
        "12",
        "0x1F",
        "1u",
        "1.5",
        ".5",
        "1e3",
        "1.",
    ),
    *(
        "'",
        "''",
        "'''",
        '"',
        '""',
        '"""',
        "'a b'",
        '"a\\n"',
        "\\",
        "\\x41",
        "\\\\",
        "\\'",
        '\\"',
        "\\n",
        "\\`",
        "\\8",
        "`",
        "`a.b`",
        "é",
        "\U0001f600",
    ),
    *("(", ")", "[", "]", "{", "}", ".", ",", ":", "?", "+", "-", "*", "/", "//", "// c\n", "%", "!", "!=", "=", "=="),
    *("<", "<=", ">", ">=", "&", "&&", "|", "||", " ", "\n", "\t", "\r", "\f", "\v", "\u00a0", "#", "$", "@", ";"),
)
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


def by_the_pattern_of_all(text: str) -> list[Token]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "USUAL", re.compile("(?!)"))
        return scan(text, tables())


@given(texts | st.text(max_size=8))
@example("object.spec.x == 'a' && !has(self.y) ? [1, 2].all(i, i >= 0) : \"b\" + string(3)")
@settings(max_examples=1000, deadline=None)
def test_usual_tokens_are_those_of_the_pattern_of_all(text: str) -> None:
    found = scan(text, tables())
    assert found == by_the_pattern_of_all(text)
    assert "".join(token.text for token in found) == text


def test_most_expressions_need_no_other_pattern() -> None:
    kinds = [token.kind for token in scan("a.b('c', 1) || [d][0] <= -2 && e in {}", tables())]
    assert {"IDENT", "STRING_LIT", "INT_LIT", "SKIP", "IN"} <= set(kinds)
    text = "a.b('c', 1) || [d][0] <= -2 && e in {}"
    at = 0
    while at < len(text):
        match = tokens.USUAL.match(text, at)
        assert match is not None, text[at:]
        at = match.end()
