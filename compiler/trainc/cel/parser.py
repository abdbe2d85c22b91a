"""Parses expressions into the same trees as cel-go v0.26.0, with macros expanded."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from trainc.cel.ast import Call, Node, Select, children, postorder
from trainc.cel.build import ESCAPE, ONE_CHARACTER_ESCAPES, RENAMING, Builder
from trainc.cel.issues import CompileError, Issue
from trainc.cel.lalr import BROKEN, END, Token, UnexpectedToken, accepts, drive, scan

WHOLE = -1
"""The position of an issue with the whole expression."""
CODE_POINTS = 100_000
LIMIT = 250
"""How deeply expressions may nest."""


def parse(text: str, macros: frozenset[tuple[str, int]]) -> Node:
    """Return the tree of an expression; raises CompileError.

    ``macros``: names with their numbers of arguments; ``has`` is a function, all others are members. Positions are
    offsets in code points.
    """
    if len(text) > CODE_POINTS:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {CODE_POINTS}"
        raise CompileError((Issue(WHOLE, message),))
    tokens = scan(text)
    builder = Builder(macros)
    try:
        root: Node = drive(tokens, builder, RENAMING)
    except UnexpectedToken as error:
        raise CompileError((_syntax_error(text, tokens, error),)) from None
    if issues := _nesting(root, tokens) or builder.issues:
        raise CompileError(tuple(issues))
    return root


def _nesting(root: Node, tokens: Sequence[Token]) -> list[Issue]:
    """Return the issue of an expression that nests brackets, or operators and selections, too deeply.

    cel-go (parser/parser.go) counts the open rules of its grammar instead, and so may refuse an expression that nests
    operators in brackets a little earlier.
    """
    if len(tokens) < LIMIT:  # each level takes a token
        return []
    changes = ((token.kind in BRACKETS) - (token.kind in BRACKETS.values()) for token in tokens)
    if max(accumulate(changes)) >= LIMIT:
        return [Issue(WHOLE, f"expression recursion limit exceeded: {LIMIT}")]
    heights: dict[Node, int] = {}
    for node in postorder(root):
        heights[node] = isinstance(node, Call | Select) + max((heights[child] for child in children(node)), default=0)
    return [Issue(WHOLE, "max recursion depth exceeded")] if heights[root] > LIMIT else []


# Syntax errors: only the first one, in our own words. cel-go rejects the same expressions in ANTLR's.

DOUBLED = {"&": "&&", "|": "||", "=": "=="}
BRACKETS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
FOLLOWING = {
    "PLUS": "an operator",
    "COMMA": "','",
    "COLON": "':'",
    "RPAR": "')'",
    "RSQB": "']'",
    "RBRACE": "'}'",
    END: "the end of the expression",
}
"""Terminals that may follow an operand; where a plus may, other operators may, too."""
SHOWN = 30
"""The number of characters of a token in a message."""


def _syntax_error(text: str, tokens: Sequence[Token], error: UnexpectedToken) -> Issue:
    """Return the first syntax error of a text with these tokens."""
    token = error.token
    if token.kind != BROKEN:
        position, message = _unexpected(tokens, error)
    elif token.text in ("'", '"'):
        position, message = _string(text, token)
    elif token.text in DOUBLED:
        position, message = token.start, f"unexpected '{token.text}', did you mean '{DOUBLED[token.text]}'?"
    else:
        position, message = token.start, f"unexpected character {_quoted(token)}"
    return Issue(position, f"Syntax error: {message}")


def _string(text: str, quote: Token) -> tuple[int, str]:
    """Describe an unclosed string, or the invalid escape sequence in it."""
    position = quote.start + 1
    while position < len(text) and text[position] not in "\r\n":
        if text[position] == "\\" and (escape := ESCAPE.match(text, position)):
            if len(escape[1]) == 1 and escape[1] not in ONE_CHARACTER_ESCAPES:
                return position, f"invalid escape sequence '{_shown(escape[0])}'"
            position = escape.end()
        else:
            position += 1
    return quote.start, "the string is not closed"


def _unexpected(tokens: Sequence[Token], error: UnexpectedToken) -> tuple[int, str]:
    """Describe an unexpected token."""
    token = error.token
    before = [each for each in tokens if each.start < token.start]
    if not error.states:
        return token.start, "a type name is expected before '{'"
    wanted = _wanted(error.states)
    if wanted.startswith("an operator") and token.kind == END and (opened := _open_bracket(before)):
        return opened.start, f"'{opened.text}' is not closed"
    found = f", found {_quoted(token)}" if token.kind != END else ""
    after = f" after {_quoted(before[-1])}" if before else ""
    return token.start, f"expected {wanted}{after}{found}"


def _wanted(states: Sequence[int]) -> str:
    """Describe what may follow in a state."""
    for kind, name in (("INT_LIT", "an expression"), ("ESC_IDENT", "a field name"), ("IDENT", "a name")):
        if accepts(states, kind):
            return name
    wanted = [name for kind, name in FOLLOWING.items() if accepts(states, kind)]
    return " or ".join(filter(None, (", ".join(wanted[:-1]), wanted[-1])))


def _open_bracket(tokens: Sequence[Token]) -> Token | None:
    """Return the innermost bracket that is open after tokens whose brackets match."""
    opened = []
    for token in tokens:
        if token.kind in BRACKETS:
            opened.append(token)
        elif token.kind in BRACKETS.values():
            opened.pop()
    return opened[-1] if opened else None


def _quoted(token: Token) -> str:
    text = token.text if len(token.text) <= SHOWN else f"{token.text[: SHOWN - 3]}..."
    return _shown(text) if text[0] in "'\"" else f"'{_shown(text)}'"


def _shown(text: str) -> str:
    return text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
