"""The rules of cel-go's grammar as its generated parser goes through them (v0.26.0, parser/gen/CEL.g4, cel_parser.go).

Only what is no expression is read with them: what cel-go says of it follows from the order in which ANTLR's parser
looks for tokens. Terminals are spelt as in its messages.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from trainc.records import dataclass, field

EPSILON = "<EPSILON>"
"""In a set of terminals: the rule may end here."""
EOF = "<EOF>"

ORDER = (
    *(
        EOF,
        "'=='",
        "'!='",
        "'in'",
        "'<'",
        "'<='",
        "'>='",
        "'>'",
        "'&&'",
        "'||'",
        "'['",
        "']'",
        "'{'",
        "'}'",
        "'('",
        "')'",
    ),
    *("'.'", "','", "'-'", "'!'", "'?'", "':'", "'+'", "'*'", "'/'", "'%'", "'true'", "'false'", "'null'", "NUM_FLOAT"),
    *("NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"),
)
"""Terminals in the order of their types, which is that of messages."""

Set: TypeAlias = frozenset[str]
Steps: TypeAlias = tuple["Step", ...]


@dataclass(slots=True, eq=False)
class Step:
    """A state of the parser.

    ``expected``: what may come there within the rule; ``after``: what behind the step; ``begins``: what its body.
    """

    expected: Set = field(default=frozenset(), init=False)
    after: Set = field(default=frozenset(), init=False)
    begins: Set = field(default=frozenset(), init=False)


@dataclass(slots=True, eq=False)
class Match(Step):
    """One of some terminals."""

    terminals: Set


@dataclass(slots=True, eq=False)
class Invoke(Step):
    """A rule; ``level``: operators that bind less tightly end it."""

    rule: str
    level: int = 0


@dataclass(slots=True, eq=False)
class Maybe(Step):
    """Steps, or nothing."""

    body: Steps


@dataclass(slots=True, eq=False)
class Repeat(Step):
    """Steps, any number of times, or at least once.

    ``again`` tells whether once more; without it, the next terminal does. ``back`` is the state behind each round.
    """

    body: Steps
    again: Callable[[Lookahead], bool | Dead] | None = None
    once: bool = False
    back: Step = field(default_factory=Step)


@dataclass(slots=True, eq=False)
class Choose(Step):
    """One of several bodies; ``which`` tells its number."""

    bodies: tuple[Steps, ...]
    which: Callable[[Lookahead], int | Dead]


@dataclass(frozen=True, slots=True)
class Dead:
    """No body fits; ``offset`` tokens from here is the one that none goes on with."""

    offset: int


@dataclass(frozen=True, slots=True)
class Lookahead:
    """What comes: ``at(1)`` is the next terminal. ``level`` is that of the rule that looks."""

    at: Callable[[int], str]
    level: int


RELATIONS = frozenset(("'<'", "'<='", "'>='", "'>'", "'=='", "'!='", "'in'"))
PRODUCTS, SUMS = frozenset(("'*'", "'/'", "'%'")), frozenset(("'+'", "'-'"))
NUMBERS = ("NUM_INT", "NUM_FLOAT")
LITERALS = ("NUM_UINT", "STRING", "BYTES", "'true'", "'false'", "'null'")
MEMBER = frozenset((*NUMBERS, *LITERALS, "'('", "'['", "'{'", "'.'", "IDENTIFIER"))
EXPRESSION = MEMBER | {"'-'", "'!'"}
OPENINGS = {"'('": 2, "'['": 3, "'{'": 4}


def _unary(look: Lookahead) -> int | Dead:
    first, second = look.at(1), look.at(2)
    if first == "'!'":
        return 1
    if first == "'-'":
        if second in NUMBERS:
            return 0
        return 2 if second in MEMBER or second == "'-'" else Dead(1)
    return 0 if first in MEMBER else Dead(0)


def _minus_again(look: Lookahead) -> bool | Dead:
    first, second = look.at(1), look.at(2)
    if first != "'-'":
        return False if first in MEMBER else Dead(0)
    return True if second in MEMBER or second == "'-'" else Dead(1)


def _link(look: Lookahead) -> int | Dead:
    if look.at(1) == "'['":
        return 2
    if look.at(1) != "'.'" or look.at(2) not in ("IDENTIFIER", "ESC_IDENTIFIER", "'?'"):
        return Dead(1 if look.at(1) == "'.'" else 0)
    return 1 if (look.at(2), look.at(3)) == ("IDENTIFIER", "'('") else 0


def _primary(look: Lookahead) -> int | Dead:
    first = look.at(1)
    if first in OPENINGS:
        return OPENINGS[first]
    if first == "'-'" or first in NUMBERS or first in LITERALS:
        return 6
    offset = 2 if first == "'.'" else 1
    if look.at(offset) != "IDENTIFIER":
        return Dead(offset - 1)
    if look.at(offset + 1) == "'('":
        return 1
    while look.at(offset + 1) == "'.'" and look.at(offset + 2) == "IDENTIFIER":
        offset += 2
    return 5 if look.at(offset + 1) == "'{'" else 0


def _literal(look: Lookahead) -> int | Dead:
    first = look.at(1)
    if first == "'-'":
        return NUMBERS.index(look.at(2)) if look.at(2) in NUMBERS else Dead(1)
    if first in NUMBERS:
        return NUMBERS.index(first)
    return 2 + LITERALS.index(first) if first in LITERALS else Dead(0)


def _escape(look: Lookahead) -> int | Dead:
    names = ("IDENTIFIER", "ESC_IDENTIFIER")
    return names.index(look.at(1)) if look.at(1) in names else Dead(0)


def _relation_again(look: Lookahead) -> bool:
    return look.at(1) in RELATIONS and look.level <= 1


def _calc_again(look: Lookahead) -> bool:
    return (look.at(1) in PRODUCTS and look.level <= 2) or (look.at(1) in SUMS and look.level <= 1)


def _calc(look: Lookahead) -> int | Dead:
    return 0 if look.at(1) in PRODUCTS else 1


def _link_again(look: Lookahead) -> bool:
    return look.at(1) in ("'.'", "'['")


def _element_again(look: Lookahead) -> bool:
    return look.at(1) == "','" and (look.at(2) in EXPRESSION or look.at(2) == "'?'")


def _field_again(look: Lookahead) -> bool:
    return look.at(1) == "','" and look.at(2) in ("'?'", "IDENTIFIER", "ESC_IDENTIFIER")


def _t(*terminals: str) -> Match:
    return Match(frozenset(terminals))


def _maybe(*body: Step) -> Maybe:
    return Maybe(body)


def _list(item: Callable[[], Steps], again: Callable[[Lookahead], bool] | None) -> Steps:
    return (*item(), Repeat((_t("','"), *item()), again))


def _field() -> Steps:
    return Invoke("optField"), _t("':'"), Invoke("expr")


def _entry() -> Steps:
    return Invoke("optExpr"), _t("':'"), Invoke("expr")


def _chain(rule: str, operator: str) -> Steps:
    return Invoke(rule), Repeat((_t(operator), Invoke(rule)))


RULES: dict[str, Steps] = {
    "start": (Invoke("expr"), _t(EOF)),
    "expr": (
        Invoke("conditionalOr"),
        _maybe(_t("'?'"), Invoke("conditionalOr"), _t("':'"), Invoke("expr")),
    ),
    "conditionalOr": _chain("conditionalAnd", "'||'"),
    "conditionalAnd": _chain("relation", "'&&'"),
    "relation": (Invoke("calc"), Repeat((Match(RELATIONS), Invoke("relation", 2)), _relation_again)),
    "calc": (
        Invoke("unary"),
        Repeat(
            (Choose(((Match(PRODUCTS), Invoke("calc", 3)), (Match(SUMS), Invoke("calc", 2))), _calc),),
            _calc_again,
        ),
    ),
    "unary": (
        Choose(
            (
                (Invoke("member"),),
                (Repeat((_t("'!'"),), once=True), Invoke("member")),
                (Repeat((_t("'-'"),), _minus_again, once=True), Invoke("member")),
            ),
            _unary,
        ),
    ),
    "member": (
        Invoke("primary"),
        Repeat(
            (
                Choose(
                    (
                        (_t("'.'"), _maybe(_t("'?'")), Invoke("escapeIdent")),
                        (_t("'.'"), _t("IDENTIFIER"), _t("'('"), _maybe(Invoke("exprList")), _t("')'")),
                        (_t("'['"), _maybe(_t("'?'")), Invoke("expr"), _t("']'")),
                    ),
                    _link,
                ),
            ),
            _link_again,
        ),
    ),
    "primary": (
        Choose(
            (
                (_maybe(_t("'.'")), _t("IDENTIFIER")),
                (_maybe(_t("'.'")), _t("IDENTIFIER"), _t("'('"), _maybe(Invoke("exprList")), _t("')'")),
                (_t("'('"), Invoke("expr"), _t("')'")),
                (_t("'['"), _maybe(Invoke("listInit")), _maybe(_t("','")), _t("']'")),
                (_t("'{'"), _maybe(Invoke("mapInitializerList")), _maybe(_t("','")), _t("'}'")),
                (
                    *(_maybe(_t("'.'")), _t("IDENTIFIER"), Repeat((_t("'.'"), _t("IDENTIFIER")))),
                    *(_t("'{'"), _maybe(Invoke("fieldInitializerList")), _maybe(_t("','")), _t("'}'")),
                ),
                (Invoke("literal"),),
            ),
            _primary,
        ),
    ),
    "exprList": _list(lambda: (Invoke("expr"),), None),
    "listInit": _list(lambda: (Invoke("optExpr"),), _element_again),
    "fieldInitializerList": _list(_field, _field_again),
    "optField": (_maybe(_t("'?'")), Invoke("escapeIdent")),
    "mapInitializerList": _list(_entry, _element_again),
    "escapeIdent": (Choose(((_t("IDENTIFIER"),), (_t("ESC_IDENTIFIER"),)), _escape),),
    "optExpr": (_maybe(_t("'?'")), Invoke("expr")),
    "literal": (
        Choose(
            (
                (_maybe(_t("'-'")), _t("NUM_INT")),
                (_maybe(_t("'-'")), _t("NUM_FLOAT")),
                *((_t(kind),) for kind in LITERALS),
            ),
            _literal,
        ),
    ),
}


def _first(steps: Steps, after: Set) -> Set:
    """Return what may come where steps begin that ``after`` follows."""
    result: Set = frozenset()
    for step in steps:
        result |= _begins(step)
        if not isinstance(step, Maybe | Repeat) or (isinstance(step, Repeat) and step.once):
            return result
    return result | after


def _begins(step: Step) -> Set:
    match step:
        case Match():
            return step.terminals
        case Invoke():
            return _first(RULES[step.rule], frozenset())
        case Maybe() | Repeat():
            return _first(step.body, frozenset())
        case Choose():
            return frozenset[str]().union(*(_first(body, frozenset()) for body in step.bodies))
    raise AssertionError(step)


def _link_steps(steps: Steps, after: Set) -> None:
    """Fill in the sets of the states."""
    for step in reversed(steps):
        step.after = after
        step.expected = _first((step,), after)
        step.begins = _begins(step)
        if isinstance(step, Maybe):
            _link_steps(step.body, after)
        elif isinstance(step, Repeat):
            step.back.expected = step.begins | after
            _link_steps(step.body, step.back.expected)
        elif isinstance(step, Choose):
            for body in step.bodies:
                _link_steps(body, after)
        after = step.expected


for _steps in RULES.values():
    _link_steps(_steps, frozenset((EPSILON,)))
