"""Parses expressions into the tree that cel-go v0.26.0 makes of them, macros expanded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from trainc.cel import build
from trainc.cel.ast import Node
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
    if len(tokens) < LIMIT:  # each level takes a token
        return []
    message = excess(drive(automaton, tokens, length, Measure(), _measuring(automaton)))
    return [Issue(WHOLE, message)] if message else []


@cache
def _building(automaton: Tables) -> Actions:
    return actions(automaton, build.Builder, build.RENAMING)


@cache
def _measuring(automaton: Tables) -> Actions:
    return actions(automaton, Measure, MEASURED)


# How deep cel-go's parser would go into itself: it refuses what exceeds 250 (parser/parser.go). There are two limits:
# while it reads, how often each rule of CEL.g4 is open at once, where a chain of operators or of selections opens its
# rule once, and once more for each right operand; and while it makes the tree, how many operators are in each other.

LIMIT = 250


class Depth(NamedTuple):
    """How often each rule is open at once below a place; ``visit``: operators in each other."""

    expr: int = 0
    relation: int = 0
    calc: int = 0
    member: int = 0
    visit: int = 0


FLAT = Depth()
MEASURED = frozenset(("expr", "relation", "multiplication", "primary", "literal", "ident", "unary_not", "unary_neg"))
"""Rules of one symbol that change a depth."""


def deepest(*parts: Depth | Token) -> Depth:
    """Return the maximum of each part; tokens have no depth."""
    depths = [part for part in parts if isinstance(part, Depth)]
    return Depth(*(max(column) for column in zip(FLAT, *depths, strict=True)))


class Measure:
    """The measuring of one expression, which is known to be one."""

    def _within(self, *parts: Depth | Token) -> Depth:
        return deepest(*parts)

    exprlist = optexpr = listinits = mapinits = mapinit = fieldinits = fieldinit = _within
    paren_expr = list_lit = map_lit = ident_arg = dot_ident_arg = literal = ident = dot_ident = _within
    conditionaland = conditionalor = unary = unary_not = unary_neg = _within

    def _left(self, operand: Depth, _: Token) -> Depth:
        return operand

    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = _left
    addition_add = addition_sub = multiplication_mul = multiplication_div = multiplication_mod = _left

    def expr(self, *parts: Depth | Token) -> Depth:
        """``conditionalor ["?" conditionalor ":" expr]``."""
        inner = deepest(*parts)
        return inner._replace(expr=inner.expr + 1, visit=inner.visit + (len(parts) > 1))

    def relation(self, left: Depth, right: Depth | None = None) -> Depth:
        """``addition``, or a link of a chain of them."""
        if right is None:
            return left._replace(relation=left.relation + 1)
        both = deepest(left, right._replace(relation=right.relation + 2))
        return both._replace(visit=both.visit + 1)

    def multiplication(self, left: Depth, right: Depth | None = None) -> Depth:
        """``unary``, or a link of a chain of them."""
        if right is None:
            return left._replace(calc=left.calc + 1)
        return self.addition(left, self.multiplication(right))

    def addition(self, left: Depth, right: Depth) -> Depth:
        """Return the depth with a link more; sums and products are one rule of cel-go's grammar."""
        both = deepest(left, right._replace(calc=right.calc + 1))
        return both._replace(visit=both.visit + 1)

    def primary(self, inner: Depth) -> Depth:
        """Return the depth of a member without selections."""
        return inner._replace(member=inner.member + 1)

    def _link(self, left: Depth, *rest: Depth | Token) -> Depth:
        both = deepest(left, self.primary(deepest(*rest)))
        return both._replace(visit=both.visit + 1)

    member_dot = member_dot_arg = member_index = _link

    def member_object(self, _: Depth, *rest: Depth | Token) -> Depth:
        """Return the depth of a message, of which the name is no chain."""
        return self.primary(deepest(*rest))


def excess(depth: Depth) -> str | None:
    """Return cel-go's message where an expression is too deep."""
    if max(depth.expr, depth.relation, depth.calc, depth.member) > LIMIT:
        return f"expression recursion limit exceeded: {LIMIT}"
    return "max recursion depth exceeded" if depth.visit > LIMIT else None


# Syntax errors: the first one, in our own words. cel-go refuses the same expressions in ANTLR's.

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
"""What may follow an operand besides operators."""
SHOWN = 30
"""How many characters of a token a message shows."""


def syntax_error(text: str, automaton: Tables, tokens: Sequence[Token], error: UnexpectedToken) -> Issue:
    """Return what is wrong with a text; ``tokens`` are those of the text."""
    if error.token.kind == BROKEN:
        return _broken(text, error.token)
    position, message = _unexpected(automaton, tokens, error)
    return Issue(position, PREFIX + message)


def _broken(text: str, token: Token) -> Issue:
    """Describe a character at which no token begins."""
    if token.text in ("'", '"'):
        return _string(text, token)
    if token.text in DOUBLED:
        return Issue(token.start, f"{PREFIX}unexpected '{token.text}', did you mean '{DOUBLED[token.text]}'?")
    return Issue(token.start, f"{PREFIX}unexpected character {_quoted(token)}")


def _string(text: str, quote: Token) -> Issue:
    """Describe a string that does not end, or the escape sequence that breaks it."""
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
    """Return where a token is that does not fit, and the message."""
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
    """Return what may follow in a state."""
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
