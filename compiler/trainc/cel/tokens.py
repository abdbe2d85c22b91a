"""Splits an expression into tokens as cel-go's lexer does (v0.26.0, parser/gen/CEL.g4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from trainc.cel.lalr import Tables

CONSTANTS = ("INT_LIT", "UINT_LIT", "FLOAT_LIT", "STRING_LIT", "MLSTRING_LIT", "BYTES_LIT", "BOOL_LIT", "NULL_LIT")
OPERAND_ENDS = frozenset((*CONSTANTS, "IDENT", "ESC_IDENT", "RPAR", "RSQB", "RBRACE"))
"""Terminals after which a minus is a subtraction."""
SIGNED = ("INT_LIT", "FLOAT_LIT")

SKIP, BROKEN = "SKIP", "BROKEN"
"""White space and comments; a character at which no token begins."""


class Token(msgspec.Struct, frozen=True):
    """A token. ``start`` is an offset in code points; a signed number starts at its sign."""

    kind: str
    start: int
    text: str


def scan(text: str, automaton: Tables) -> list[Token]:
    """Return the tokens without white space and comments.

    The last one is BROKEN if the text has a character at which no token begins.
    """
    tokens: list[Token] = []
    symbols, keywords, scanner = automaton.symbols, automaton.keywords, automaton.scanner
    position, end = 0, len(text)
    while position < end:
        found = scanner.match(text, position)
        if found is None:
            return [*tokens, Token(BROKEN, position, text[position])]
        kind, spelling = str(found.lastgroup), found.group()
        if kind == "SYMBOL":
            kind = symbols[spelling]
        elif kind == "IDENT":
            kind = keywords.get(spelling, kind)
        if kind in SIGNED and _is_signed(tokens):
            tokens[-1] = Token(kind, tokens[-1].start, f"-{spelling}")
        elif kind != SKIP:
            tokens.append(Token(kind, position, spelling))
        position = found.end()
    return tokens


def _is_signed(before: Sequence[Token]) -> bool:
    """Tell whether the last of the tokens before a number is its sign.

    It is if it is a single minus where an operand begins. In a run of minuses all are operators, even the last one.
    """
    if not before or before[-1].kind != "MINUS":
        return False
    if len(before) == 1:
        return True
    if before[-2].kind == "MINUS":
        return len(before) > 2 and before[-3].kind in OPERAND_ENDS
    return before[-2].kind not in OPERAND_ENDS
