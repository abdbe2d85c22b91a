"""Cuts an expression into tokens, as cel-go's lexer does (v0.26.0, parser/gen/CEL.g4)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trainc.cel.grammar import Tables
from trainc.records import NamedTuple
from trainc.regex import lazy

CONSTANTS = ("INT_LIT", "UINT_LIT", "FLOAT_LIT", "STRING_LIT", "MLSTRING_LIT", "BYTES_LIT", "BOOL_LIT", "NULL_LIT")
OPERAND_ENDS = frozenset((*CONSTANTS, "IDENT", "ESC_IDENT", "RPAR", "RSQB", "RBRACE"))
"""Terminals behind which a minus is a subtraction."""
SIGNED = ("INT_LIT", "FLOAT_LIT")

SKIP, BROKEN = "SKIP", "BROKEN"
"""What is no token: white space and comments; characters that begin none."""

USUAL = lazy(
    r"(?P<IDENT>[_a-zA-Z][_a-zA-Z0-9]*+(?![\"']))|(?P<SKIP>[ \n]++(?![\t\f\r]))"
    r"|(?P<SYMBOL>[(),?:\[\]{}%*+-]|\.(?![0-9])|&&|\|\||==|[!<>]=?|/(?!/))"
    r"|(?P<STRING_LIT>'(?:[^'\\\n\r]|\\[abfnrtv\"'\\?`])*+'(?!')|\"(?:[^\"\\\n\r]|\\[abfnrtv\"'\\?`])*+\"(?!\"))"
    r"|(?P<INT_LIT>[0-9]++(?![.xXeEuU]))"
)
"""The tokens that most expressions are made of. Compiling the pattern of all tokens takes five times as long."""

NAME = lazy(r"`[a-zA-Z0-9_.\- /]*")
WHOLE_ESCAPES = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
PARTS = {quote: lazy(rf"{quote}(?:[^{quote}\\\r\n]|{WHOLE_ESCAPES})*") for quote in ("'", '"')}
PART_OF_ESCAPE = lazy(r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?")
"""How far a text goes as the beginning of a token."""


class Token(NamedTuple):
    """A token. ``start``: an offset in code points; of a signed number, where its sign is."""

    kind: str
    start: int
    text: str


def scan(text: str, tables: Tables) -> list[Token]:
    """Return all tokens, white space, comments and what is broken included: together they are the text."""
    tokens: list[Token] = []
    symbols, keywords, usual, scanner = tables.symbols, tables.keywords, USUAL.match, tables.scanner
    position, end = 0, len(text)
    while position < end:
        found = usual(text, position) or scanner.match(text, position)
        if found is None:
            stop = _broken(text, position)
            tokens.append(Token(BROKEN, position, text[position:stop]))
            position = stop
            continue
        kind, spelling = str(found.lastgroup), found.group()
        if kind == "SYMBOL":
            kind = symbols[spelling]
        elif kind == "IDENT":
            kind = keywords.get(spelling, kind)
        tokens.append(Token(kind, position, spelling))
        position = found.end()
    return tokens


def _broken(text: str, start: int) -> int:
    """Return the offset behind what the lexer drops where no token begins: all that one could have begun with, and the
    character that it does not go on with."""
    first = text[start]
    if first in "&|=":
        stop = start + 1
    elif first == "`":
        stop = _end(NAME, text, start)
    elif first in PARTS:
        stop = _end(PARTS[first], text, start)
        stop = _end(PART_OF_ESCAPE, text, stop) if text.startswith("\\", stop) else stop
    else:
        stop = start
    return min(stop + 1, len(text))


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    assert found is not None
    return found.end()


def operands(scanned: Sequence[Token]) -> list[Token]:
    """Return the tokens that mean something, numbers with their signs."""
    tokens: list[Token] = []
    for token in scanned:
        kind = token.kind
        if kind in (SKIP, BROKEN):
            continue
        if kind in SIGNED and tokens and _is_signed(tokens):
            tokens[-1] = Token(kind, tokens[-1].start, "-" + token.text)
        else:
            tokens.append(token)
    return tokens


def _is_signed(before: list[Token]) -> bool:
    """Tell whether a number after these tokens has their last one as its sign.

    It has where that is one minus before an operand. A run of them are operators, the last one included.
    """
    if before[-1].kind != "MINUS":
        return False
    if len(before) == 1:
        return True
    if before[-2].kind == "MINUS":
        return len(before) > 2 and before[-3].kind in OPERAND_ENDS
    return before[-2].kind not in OPERAND_ENDS
