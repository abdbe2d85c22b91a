"""Makes the parser's tables from the grammar with lark, in a form that needs no lark to be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from trainc.cel.grammar import END, START, WORD, GrammarChanged, adapted, digest

if TYPE_CHECKING:
    from lark import Lark

ORDER = (
    *("BYTES_LIT", "MLSTRING_LIT", "STRING_LIT", "FLOAT_LIT", "UINT_LIT", "INT_LIT", WORD, "ESC_IDENT"),
    *("SKIP", "SYMBOL"),
)
"""Groups of the scanner. What comes first is never shorter than what comes later and fits too."""
SKIPPED = ("WHITESPACE", "COMMENT")


def build(source: bytes) -> dict[str, Any]:
    """Return the packed tables of celpy's grammar, plain JSON; equal for equal grammars. Takes 200 ms.

    Raises GrammarChanged where the substitutions do not fit, or leave no LALR(1) grammar.
    """
    from lark import Lark
    from lark.exceptions import LarkError

    try:
        lark = Lark(adapted(source), parser="lalr", lexer="basic", start=START, maybe_placeholders=False, debug=True)
    except LarkError as error:
        raise GrammarChanged(str(error)) from error
    return {"digest": digest(source), **_terminals(lark), **_automaton(lark)}


def _terminals(lark: Lark) -> dict[str, Any]:
    """Return the scanner: one pattern for all that is no fixed text, tables by text for the rest."""
    patterns: dict[str, list[str]] = {name: [] for name in ORDER}
    symbols: dict[str, str] = {}
    keywords: dict[str, str] = {}
    for terminal in lark.terminals:
        name, expression = terminal.name, terminal.pattern.to_regexp()
        words = re.fullmatch(r"(?:\(\?:)?(\w+(?:\|\w+)*)\)?", expression)
        if terminal.pattern.type == "str" and words is None:
            symbols[terminal.pattern.value] = name
        elif words:
            keywords.update(dict.fromkeys(words[1].split("|"), name))
        else:
            patterns["SKIP" if name in SKIPPED else name].append(expression)
    patterns["SYMBOL"] = [re.escape(text) for text in sorted(symbols, key=lambda text: (-len(text), text))]
    scanner = "|".join(f"(?P<{name}>{'|'.join(parts)})" for name, parts in patterns.items())
    return {"scanner": scanner, "symbols": dict(sorted(symbols.items())), "keywords": dict(sorted(keywords.items()))}


def _automaton(lark: Lark) -> dict[str, Any]:
    """Return states and rules, numbered in an order that does not depend on how lark's sets are ordered."""
    table = lark.parser.parser._parse_table  # lark shows it in no other way than pickled
    rules: dict[Any, int] = {}
    for rule in sorted(_reductions(table.states), key=str):
        rules[rule] = len(rules)
    start, end = table.start_states[START], table.end_states[START]
    numbers = {start: 0}
    order = [start]
    for state in order:
        for symbol in sorted(table.states[state]):
            kind, target = table.states[state][symbol]
            if kind.name == "Shift" and target not in numbers:
                numbers[target] = len(numbers)
                order.append(target)
    names = sorted({symbol for row in table.states.values() for symbol in row} | {END})
    name = {text: number for number, text in enumerate(names)}
    terminals = {terminal.name for terminal in lark.terminals} | {END}
    actions = [_row(table.states[state], terminals, name, numbers, rules) for state in order]
    unique = list(dict.fromkeys(actions))
    return {
        "names": names,
        "actions": unique,
        "rows": [unique.index(row) for row in actions],
        "gotos": [_row(table.states[state], set(names) - terminals, name, numbers, rules) for state in order],
        "rules": [(name[str(rule.origin.name)], len(rule.expansion)) for rule in rules],
        "start": 0,
        "end": numbers[end],
    }


def _reductions(states: Mapping[Any, Mapping[str, Any]]) -> Iterable[Any]:
    return {target for row in states.values() for kind, target in row.values() if kind.name == "Reduce"}


def _row(
    row: Mapping[str, Any],
    wanted: set[str],
    name: Mapping[str, int],
    numbers: Mapping[Any, int],
    rules: Mapping[Any, int],
) -> tuple[int, ...]:
    """Return a state's symbols and actions, in turn: shifts as the next state, reductions as -1 - rule."""
    flat: list[int] = []
    for symbol in sorted(row):
        if symbol in wanted:
            kind, target = row[symbol]
            flat += (name[symbol], numbers[target] if kind.name == "Shift" else -1 - rules[target])
    return tuple(flat)
