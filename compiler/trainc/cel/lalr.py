"""Drives the LALR(1) tables over tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from trainc.cel.grammar import END, Tables
from trainc.cel.tokens import Token

Action: TypeAlias = Callable[..., Any] | None
"""What makes the value of a rule from those of its symbols; none where the only symbol's value is it."""


class UnexpectedToken(Exception):
    """No rule goes on with ``token``."""

    def __init__(self, token: Token) -> None:
        super().__init__(token)
        self.token = token


def actions(tables: Tables, maker: type, renaming: frozenset[str]) -> tuple[Action, ...]:
    """Return a maker's method for each rule, by its name.

    A rule of one symbol only renames, and needs none, unless its name is in ``renaming``.
    """
    return tuple(getattr(maker, name) if size > 1 or name in renaming else None for name, size in tables.rules)


def drive(tables: Tables, tokens: Sequence[Token], length: int, maker: object, made_by: Sequence[Action]) -> Any:
    """Return the value of the start rule; raises UnexpectedToken at the first token that no rule allows.

    ``made_by``: the `actions` of the maker's class. The value of a terminal is its token. ``length``: of the text,
    where the end token is.
    """
    table, gotos, rules = tables.actions, tables.gotos, tables.rules
    states, values = [tables.start], list[Any]()
    for token in (*tokens, Token(END, length, "")):
        kind = token.kind
        while (step := table[states[-1]].get(kind, None)) is None or step < 0:
            if step is None:
                if kind == END and states[-1] == tables.end:
                    return values[0]
                raise UnexpectedToken(token)
            name, size = rules[-1 - step]
            action = made_by[-1 - step]
            if size == 1:
                del states[-1]
                if action is not None:
                    values[-1] = action(maker, values[-1])
            else:
                assert action is not None
                del states[-size:]
                parts = values[-size:]
                del values[-size:]
                values.append(action(maker, *parts))
            states.append(gotos[states[-1]][name])
        states.append(step)
        values.append(token)
    raise AssertionError("the end token is always there")
