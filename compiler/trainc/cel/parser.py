"""Parses expressions into the tree that cel-go v0.26.0 makes of them, macros expanded."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache

from trainc.cel import build, depth
from trainc.cel.ast import Node
from trainc.cel.grammar import Tables, tables
from trainc.cel.issues import CompileError, Issue
from trainc.cel.lalr import Actions, UnexpectedToken, actions, drive
from trainc.cel.tokens import BROKEN, Token, operands, scan

NOWHERE = -1
"""The position of an issue that concerns the whole expression."""
CODE_POINTS = 100_000


def parse(text: str, macros: frozenset[tuple[str, int]]) -> Node:
    """Return the tree of an expression; raises CompileError.

    ``macros``: names with their numbers of arguments; ``has`` is a function, all others are members. Positions are
    offsets in code points.
    """
    if len(text) > CODE_POINTS:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {CODE_POINTS}"
        raise CompileError((Issue(NOWHERE, message),))
    automaton = tables()
    scanned = scan(text, automaton)
    tokens = operands(scanned)
    builder = build.Builder(macros)
    try:
        root: Node = drive(automaton, tokens, len(text), builder, _building(automaton))
        issues = _too_deep(automaton, tokens, len(text)) or builder.issues
    except UnexpectedToken as error:
        before = [token for token in tokens if token.start < error.token.start]
        issues = [*_syntax(scanned, len(text)), *_meaning(automaton, before, macros)]
        raise CompileError(tuple(issues)) from None
    if any(token.kind == BROKEN for token in scanned):
        issues = [*_syntax(scanned, len(text)), *issues]
    if issues:
        raise CompileError(tuple(issues))
    return root


def _syntax(scanned: Sequence[Token], length: int) -> list[Issue]:
    from trainc.cel.recovery import reports  # 10 ms that no valid expression needs

    return reports(scanned, length)


def _meaning(automaton: Tables, tokens: Sequence[Token], macros: frozenset[tuple[str, int]]) -> list[Issue]:
    """Return what is wrong, but not of syntax, with the beginning of what is no expression."""
    builder = build.Builder(macros)
    with suppress(UnexpectedToken):
        drive(automaton, tokens, 0, builder, _building(automaton))
    return builder.issues


def _too_deep(automaton: Tables, tokens: Sequence[Token], length: int) -> list[Issue]:
    if len(tokens) < depth.LIMIT:  # each level takes a token
        return []
    message = depth.excess(drive(automaton, tokens, length, depth.Measure(), _measuring(automaton)))
    return [Issue(NOWHERE, message)] if message else []


@cache
def _building(automaton: Tables) -> Actions:
    return actions(automaton, build.Builder, build.RENAMING)


@cache
def _measuring(automaton: Tables) -> Actions:
    return actions(automaton, depth.Measure, depth.RENAMING)
