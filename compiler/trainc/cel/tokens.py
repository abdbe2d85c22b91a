"""Cuts an expression into tokens, as cel-go's lexer does (v0.26.0, parser/gen/CEL.g4)."""

from __future__ import annotations

from typing import NamedTuple

from trainc.cel.grammar import Tables

CONSTANTS = ("INT_LIT", "UINT_LIT", "FLOAT_LIT", "STRING_LIT", "MLSTRING_LIT", "BYTES_LIT", "BOOL_LIT", "NULL_LIT")
OPERAND_ENDS = frozenset((*CONSTANTS, "IDENT", "ESC_IDENT", "RPAR", "RSQB", "RBRACE"))
"""Terminals behind which a minus is a subtraction."""
SIGNED = ("INT_LIT", "FLOAT_LIT")


class Token(NamedTuple):
    """A token. ``start``: an offset in code points; of a signed number, where its sign is."""

    kind: str
    start: int
    text: str


class NoToken(Exception):
    """At ``position`` no token begins."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


def tokenize(text: str, tables: Tables) -> list[Token]:
    """Return the tokens of text, without white space and comments; raises NoToken."""
    tokens: list[Token] = []
    symbols, keywords = tables.symbols, tables.keywords
    match = tables.scanner.match
    position, end = 0, len(text)
    while position < end:
        found = match(text, position)
        if found is None:
            raise NoToken(position)
        kind, spelling = found.lastgroup, found.group()
        if kind == "SYMBOL":
            tokens.append(Token(symbols[spelling], position, spelling))
        elif kind == "IDENT":
            tokens.append(Token(keywords.get(spelling, kind), position, spelling))
        elif kind in SIGNED and tokens and _is_signed(tokens):
            tokens[-1] = Token(kind, tokens[-1].start, "-" + spelling)
        elif kind != "SKIP":
            tokens.append(Token(str(kind), position, spelling))
        position = found.end()
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
