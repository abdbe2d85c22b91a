"""The LALR(1) parser: tables that lark made of kubernetes.lark (compiler/tools/grammar.py), scanner and driver.

Tokens are those of cel-go's lexer (v0.26.0, parser/gen/CEL.g4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import msgspec

from trainc.data import load_json

FILE = "cel_grammar.json"
END = "$END"
"""The terminal at the end of the text."""

Action: TypeAlias = Callable[..., Any] | None
"""What makes the value of a rule from those of its symbols; None where the rule has the value of its only symbol."""


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


class Tables(msgspec.Struct, frozen=True, eq=False):
    """The tables of the parser.

    ``scanner`` matches one token; the name of the group that matched is the terminal, SKIP or SYMBOL. ``symbols`` and
    ``keywords`` give the terminals of operators and of reserved names. ``actions``: for each state what to do at a
    terminal: the next state, or minus one minus the number of a rule. ``gotos``: for each state the next one after a
    rule's name. ``rules``: name and number of symbols.
    """

    scanner: re.Pattern[str]
    symbols: Mapping[str, str]
    keywords: Mapping[str, str]
    actions: tuple[Mapping[str, int], ...]
    gotos: tuple[Mapping[str, int], ...]
    rules: tuple[tuple[str, int], ...]
    start: int
    end: int


@cache
def tables() -> Tables:
    """Return the tables of the package."""
    data = load_json(FILE)
    names: list[str] = data["names"]

    def row(numbers: list[int]) -> dict[str, int]:
        return {names[key]: to for key, to in zip(numbers[::2], numbers[1::2], strict=True)}

    actions = [row(numbers) for numbers in data["actions"]]
    return Tables(
        scanner=re.compile(data["scanner"]),
        symbols=data["symbols"],
        keywords=data["keywords"],
        actions=tuple(actions[number] for number in data["rows"]),
        gotos=tuple(map(row, data["gotos"])),
        rules=tuple((names[name], size) for name, size in data["rules"]),
        start=data["start"],
        end=data["end"],
    )


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


class UnexpectedToken(Exception):
    """No rule goes on with ``token``; ``states`` is the parser's stack before it, empty if irrelevant."""

    def __init__(self, token: Token, states: Sequence[int] = ()) -> None:
        super().__init__(token)
        self.token = token
        self.states = states


Actions: TypeAlias = tuple[Action, ...]
"""The actions of a builder, one for each rule."""


def actions(automaton: Tables, builder: type, renaming: frozenset[str]) -> Actions:
    """Return the method of a builder for each rule, by the rule's name.

    A rule of one symbol needs a method only if its name is in ``renaming``.
    """
    return tuple(getattr(builder, name) if size > 1 or name in renaming else None for name, size in automaton.rules)


def drive(automaton: Tables, tokens: Sequence[Token], length: int, builder: object, built_by: Actions) -> Any:
    """Return the value of the start rule; raises UnexpectedToken at the first token that no rule allows.

    ``built_by``: the `actions` of the builder's class. The value of a terminal is its token. ``length``: of the text,
    where the end token is.
    """
    table, gotos, rules = automaton.actions, automaton.gotos, automaton.rules
    states, values = [automaton.start], list[Any]()
    for token in (*tokens, Token(END, length, "")):
        kind, before = token.kind, states.copy()
        while (step := table[states[-1]].get(kind)) is None or step < 0:
            if step is None:
                if kind == END and states[-1] == automaton.end:
                    return values[0]
                raise UnexpectedToken(token, before)
            name, size = rules[-1 - step]
            del states[-size:]
            states.append(gotos[states[-1]][name])
            if (action := built_by[-1 - step]) is not None:
                values[-size:] = [action(builder, *values[-size:])]
        states.append(step)
        values.append(token)
    raise AssertionError("the end token ends the loop")


def accepts(automaton: Tables, states: Sequence[int], kind: str) -> bool:
    """Tell whether the text may go on with a terminal after a stack of states."""
    stack = list(states)
    while (step := automaton.actions[stack[-1]].get(kind)) is not None and step < 0:
        name, size = automaton.rules[-1 - step]
        del stack[-size:]
        stack.append(automaton.gotos[stack[-1]][name])
    return step is not None or (kind == END and stack[-1] == automaton.end)
