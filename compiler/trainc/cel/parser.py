"""Parses expressions into the tree that cel-go v0.26.0 makes of them, macros expanded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from trainc.cel import build, depth
from trainc.cel.ast import Node
from trainc.cel.issues import CompileError, Issue
from trainc.cel.lalr import Actions, Tables, UnexpectedToken, actions, drive, tables
from trainc.cel.syntaxerrors import syntax_error
from trainc.cel.tokens import Token, scan

WHOLE = -1
"""The position of an issue that concerns the whole expression."""
CODE_POINTS = 100_000


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
    if issues := _too_deep(automaton, tokens, len(text)) or builder.issues:
        raise CompileError(tuple(issues))
    return root


def _too_deep(automaton: Tables, tokens: Sequence[Token], length: int) -> list[Issue]:
    if len(tokens) < depth.LIMIT:  # each level takes a token
        return []
    message = depth.excess(drive(automaton, tokens, length, depth.Measure(), _measuring(automaton)))
    return [Issue(WHOLE, message)] if message else []


@cache
def _building(automaton: Tables) -> Actions:
    return actions(automaton, build.Builder, build.RENAMING)


@cache
def _measuring(automaton: Tables) -> Actions:
    return actions(automaton, depth.Measure, depth.RENAMING)
