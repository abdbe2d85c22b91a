"""The words of syntax errors, which are our own: cel-go refuses the same texts in ANTLR's."""

from __future__ import annotations

import pytest

from trainc.cel.issues import CompileError
from trainc.cel.parser import parse

CASES = [
    ("", 0, "expected an expression"),
    ("a &&", 4, "expected an expression after '&&'"),
    ("a && )", 5, "expected an expression after '&&', found ')'"),
    ("f(a b)", 4, "expected an operator, ',' or ')' after 'a', found 'b'"),
    ("f(a, [b\nc])", 8, "expected an operator, ',' or ']' after 'b', found 'c'"),
    ("a b", 2, "expected an operator or the end of the expression after 'a', found 'b'"),
    ("a)", 1, "expected an operator or the end of the expression after 'a', found ')'"),
    ("(a", 0, "'(' is not closed"),
    ("f(a.b[0] + (c)", 1, "'(' is not closed"),
    ("[1, {2: 3]", 9, "expected an operator, ',' or '}' after '3', found ']'"),
    ("{1}", 2, "expected an operator or ':' after '1', found '}'"),
    ("a ? b", 5, "expected an operator or ':' after 'b'"),
    ("a.", 2, "expected a field name after '.'"),
    ("a.in", 2, "expected a field name after '.', found 'in'"),
    (".", 1, "expected a name after '.'"),
    ("T{1: 2}", 2, "expected a field name after '{', found '1'"),
    ("T{a}", 3, "expected ':' after 'a', found '}'"),
    ("f(){a: 1}", 3, "a type name is expected before '{'"),
    ("a & b", 2, "unexpected '&', did you mean '&&'?"),
    ("a = 1", 2, "unexpected '=', did you mean '=='?"),
    ("a # b", 2, "unexpected character '#'"),
    ("a == 'b", 5, "the string is not closed"),
    ("a == '''b", 7, "the string is not closed"),
    ("a == 'b\nc'", 5, "the string is not closed"),
    ("a == 'b\\", 5, "the string is not closed"),
    (r"a == 'b\n\d'", 9, r"invalid escape sequence '\d'"),
    (r"a == 'b\x4'", 7, r"invalid escape sequence '\x'"),
    (f"a '{'b' * 40}'", 2, f"expected an operator or the end of the expression after 'a', found '{'b' * 26}..."),
]


@pytest.mark.parametrize(("text", "position", "message"), CASES, ids=[text[:12] for text, _, _ in CASES])
def test_the_first_error_is_described(text: str, position: int, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse(text, frozenset())
    [issue] = caught.value.issues
    assert (issue.position, issue.message) == (position, f"Syntax error: {message}")
