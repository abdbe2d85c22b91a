"""Parses expressions into the tree that cel-go v0.26.0 makes of them, macros expanded."""

from __future__ import annotations

from functools import cache

from trainc.cel import build, depth
from trainc.cel.ast import Node
from trainc.cel.grammar import Tables, tables
from trainc.cel.issues import CompileError, Issue
from trainc.cel.lalr import Action, UnexpectedToken, actions, drive
from trainc.cel.tokens import NoToken, Token, tokenize

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
    builder = build.Builder(macros)
    try:
        tokens = tokenize(text, automaton)
        root: Node = drive(automaton, tokens, len(text), builder, _building(automaton))
        issues = _too_deep(automaton, tokens, len(text)) or tuple(builder.issues)
    except (NoToken, UnexpectedToken) as error:
        raise CompileError((_syntax(error),)) from None
    if issues:
        raise CompileError(issues)
    return root


def _too_deep(automaton: Tables, tokens: list[Token], length: int) -> tuple[Issue, ...]:
    if len(tokens) < depth.LIMIT:  # each level takes a token
        return ()
    message = depth.excess(drive(automaton, tokens, length, depth.Measure(), _measuring(automaton)))
    return (Issue(NOWHERE, message),) if message else ()


def _syntax(error: NoToken | UnexpectedToken) -> Issue:
    if isinstance(error, NoToken):
        return Issue(error.position, "Syntax error: token recognition error")
    found = error.token.text or "<EOF>"
    return Issue(error.token.start, f"Syntax error: mismatched input '{found}'")


@cache
def _building(automaton: Tables) -> tuple[Action, ...]:
    return actions(automaton, build.Builder, build.RENAMING)


@cache
def _measuring(automaton: Tables) -> tuple[Action, ...]:
    return actions(automaton, depth.Measure, depth.RENAMING)
