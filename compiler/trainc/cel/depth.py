"""How deep cel-go's parser would go into itself: it refuses what exceeds 250 (v0.26.0, parser/parser.go).

Two limits: while it reads, for each rule of CEL.g4 how often the rule is open at once, where a chain of operators or of
selections opens its rule once, and once more for each right operand; and while it makes the tree, how many operators
are in each other. Methods of Measure are named after the rules of the grammar.
"""

from __future__ import annotations

from typing import NamedTuple

from trainc.cel.tokens import Token

LIMIT = 250


class Depth(NamedTuple):
    """How often each rule is open at once below a place; ``visit``: operators in each other."""

    expr: int = 0
    relation: int = 0
    calc: int = 0
    member: int = 0
    visit: int = 0


FLAT = Depth()
RENAMING = frozenset(("expr", "relation", "multiplication", "primary", "literal", "ident", "unary_not", "unary_neg"))
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
