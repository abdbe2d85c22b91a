"""Drives the LALR(1) tables over tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from trainc.cel.grammar import END, Tables
from trainc.cel.tokens import Token
from trainc.records import NamedTuple

Action: TypeAlias = Callable[..., Any] | None
"""What makes the value of a rule from those of its symbols; none where the only symbol's value is it."""


class UnexpectedToken(Exception):
    """No rule goes on with ``token``."""

    def __init__(self, token: Token) -> None:
        super().__init__(token)
        self.token = token


class Actions(NamedTuple):
    """What a maker does for each rule. ``renamed``: where runs of renamings have led, by two states and a terminal.

    An operand is renamed a dozen times, from literal to expression: such a run depends on these three only.
    """

    of_rule: tuple[Action, ...]
    renamed: dict[tuple[int, int, str], int]


def actions(tables: Tables, maker: type, renaming: frozenset[str]) -> Actions:
    """Return a maker's method for each rule, by its name.

    A rule of one symbol only renames, and needs none, unless its name is in ``renaming``.
    """
    found = (getattr(maker, name) if size > 1 or name in renaming else None for name, size in tables.rules)
    return Actions(tuple(found), {})


def drive(tables: Tables, tokens: Sequence[Token], length: int, maker: object, made_by: Actions) -> Any:
    """Return the value of the start rule; raises UnexpectedToken at the first token that no rule allows.

    ``made_by``: the `actions` of the maker's class. The value of a terminal is its token. ``length``: of the text,
    where the end token is.
    """
    table, gotos, rules = tables.actions, tables.gotos, tables.rules
    of_rule, renamed = made_by
    states, values = [tables.start], list[Any]()
    for token in (*tokens, Token(END, length, "")):
        kind = token.kind
        while (step := table[states[-1]].get(kind, None)) is None or step < 0:
            if step is None:
                if kind == END and states[-1] == tables.end:
                    return values[0]
                raise UnexpectedToken(token)
            name, size = rules[-1 - step]
            action = of_rule[-1 - step]
            if action is None:
                states[-1] = renamed.get((states[-2], states[-1], kind)) or _rename(tables, made_by, states, kind)
                continue
            if size == 1:
                del states[-1]
                values[-1] = action(maker, values[-1])
            else:
                del states[-size:]
                parts = values[-size:]
                del values[-size:]
                values.append(action(maker, *parts))
            states.append(gotos[states[-1]][name])
        states.append(step)
        values.append(token)
    raise AssertionError("the end token is always there")


def _rename(tables: Tables, made_by: Actions, states: list[int], kind: str) -> int:
    """Return, and note, the state after all renamings that follow one another before a terminal."""
    below, top = states[-2:]
    while (step := tables.actions[top].get(kind, 0)) < 0 and made_by.of_rule[-1 - step] is None:
        top = tables.gotos[below][tables.rules[-1 - step][0]]
    made_by.renamed[below, states[-1], kind] = top
    return top
