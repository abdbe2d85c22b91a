"""Writes the tables of the CEL parser as package data: lark makes them of trainc/cel/kubernetes.lark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lark import Lark

PACKAGE = Path(__file__).resolve().parents[1] / "trainc"
GRAMMAR = PACKAGE / "cel" / "kubernetes.lark"
OUTPUT = PACKAGE / "data" / "cel_grammar.json"

START, END = "expr", "$END"
ORDER = (
    *("BYTES_LIT", "MLSTRING_LIT", "STRING_LIT", "FLOAT_LIT", "UINT_LIT", "INT_LIT", "IDENT", "ESC_IDENT"),
    *("SKIP", "SYMBOL"),
)
"""Groups of the scanner. If two match, the first one's match is not shorter."""
SKIPPED = ("WHITESPACE", "COMMENT")


def parser() -> Lark:
    """Return lark's parser of the grammar; celpy is found, but not imported."""
    celpy = find_spec("celpy")
    assert celpy is not None and celpy.origin is not None
    return Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer="basic",
        start=START,
        maybe_placeholders=False,
        debug=True,
        import_paths=[str(Path(celpy.origin).parent)],
    )


def text() -> str:
    """Return the file's text, a line for each part."""
    lark = parser()
    parts = {**terminals(lark), **automaton(lark)}
    lines = (f"{json.dumps(key)}: {json.dumps(part, separators=(',', ':'))}" for key, part in parts.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def terminals(lark: Lark) -> dict[str, Any]:
    """Return the scanner: one pattern for all terminals without a fixed text, tables by text for the others."""
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


def automaton(lark: Lark) -> dict[str, Any]:
    """Return states and rules, numbered in an order that does not depend on how lark's sets are ordered."""
    table = lark.parser.parser._parse_table  # lark shows it in no other way than pickled
    reductions = {target for row in table.states.values() for kind, target in row.values() if kind.name == "Reduce"}
    rules = {rule: number for number, rule in enumerate(sorted(reductions, key=str))}
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


if __name__ == "__main__":
    OUTPUT.write_text(text(), encoding="utf-8")
