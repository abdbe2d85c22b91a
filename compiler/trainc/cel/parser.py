"""Parses expressions into the same trees as cel-go v0.26.0, with macros expanded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from trainc.cel import build
from trainc.cel.ast import Call, Node, Select, children, postorder
from trainc.cel.issues import CompileError, Issue
from trainc.cel.lalr import (
    BROKEN,
    END,
    Actions,
    Tables,
    Token,
    UnexpectedToken,
    accepts,
    actions,
    drive,
    scan,
    tables,
)
from trainc.cel.literals import ESCAPE, ONE_CHARACTER_ESCAPES

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
    automaton = tables()
    tokens = scan(text, automaton)
    builder = build.Builder(macros)
    try:
        root: Node = drive(automaton, tokens, len(text), builder, _building(automaton))
    except UnexpectedToken as error:
        raise CompileError((syntax_error(text, automaton, tokens, error),)) from None
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


@cache
def _building(automaton: Tables) -> Actions:
    return actions(automaton, build.Builder, build.RENAMING)


# Syntax errors: only the first one, in our own words. cel-go rejects the same expressions in ANTLR's.

PREFIX = "Syntax error: "
DOUBLED = {"&": "&&", "|": "||", "=": "=="}
BRACKETS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
FOLLOWING = {
    "COMMA": "','",
    "COLON": "':'",
    "RPAR": "')'",
    "RSQB": "']'",
    "RBRACE": "'}'",
    END: "the end of the expression",
}
"""Terminals besides operators that may follow an operand."""
SHOWN = 30
"""The number of characters of a token in a message."""


def syntax_error(text: str, automaton: Tables, tokens: Sequence[Token], error: UnexpectedToken) -> Issue:
    """Return the first syntax error of a text with these tokens."""
    if error.token.kind == BROKEN:
        return _broken(text, error.token)
    position, message = _unexpected(automaton, tokens, error)
    return Issue(position, PREFIX + message)


def _broken(text: str, token: Token) -> Issue:
    """Describe a character that starts no token."""
    if token.text in ("'", '"'):
        return _string(text, token)
    if token.text in DOUBLED:
        return Issue(token.start, f"{PREFIX}unexpected '{token.text}', did you mean '{DOUBLED[token.text]}'?")
    return Issue(token.start, f"{PREFIX}unexpected character {_quoted(token)}")


def _string(text: str, quote: Token) -> Issue:
    """Describe an unclosed string, or the invalid escape sequence in it."""
    position = quote.start + 1
    while position < len(text) and text[position] not in "\r\n":
        if text[position] == "\\" and (escape := ESCAPE.match(text, position)):
            if len(escape[1]) == 1 and escape[1] not in ONE_CHARACTER_ESCAPES:
                return Issue(position, f"{PREFIX}invalid escape sequence '{_shown(escape[0])}'")
            position = escape.end()
        else:
            position += 1
    return Issue(quote.start, f"{PREFIX}the string is not closed")


def _unexpected(automaton: Tables, tokens: Sequence[Token], error: UnexpectedToken) -> tuple[int, str]:
    """Return the position of an unexpected token, and the message."""
    token = error.token
    before = [each for each in tokens if each.start < token.start]
    if not error.states:
        return token.start, "a type name is expected before '{'"
    wanted = _wanted(automaton, error.states)
    if wanted.startswith("an operator") and token.kind == END and (opened := _open_bracket(before)):
        return opened.start, f"'{opened.text}' is not closed"
    found = f", found {_quoted(token)}" if token.kind != END else ""
    after = f" after {_quoted(before[-1])}" if before else ""
    return token.start, f"expected {wanted}{after}{found}"


def _wanted(automaton: Tables, states: Sequence[int]) -> str:
    """Describe what may follow in a state."""
    if accepts(automaton, states, "INT_LIT"):
        return "an expression"
    if accepts(automaton, states, "ESC_IDENT"):
        return "a field name"
    if accepts(automaton, states, "IDENT"):
        return "a name"
    wanted = ["an operator"] if accepts(automaton, states, "PLUS") else []
    wanted += (name for kind, name in FOLLOWING.items() if accepts(automaton, states, kind))
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
