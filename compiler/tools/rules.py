"""Writes the weights of the regular expressions in the package's CRDs, so that a start does not load RE2."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from trainc.cel.ast import Call, Literal, Node, children
from trainc.cel.declarations import base
from trainc.cel.library.regex import pattern
from trainc.cel.parser import parse
from trainc.data import load_json

SCHEMAS = Path(__file__).resolve().parents[1] / "trainc" / "data" / "schemas"
PATTERNS = SCHEMAS / "patterns.json"


def texts() -> list[str]:
    """Return every rule and messageExpression, sorted."""
    rules = [rule for node in load_json("schemas/nodes.json") for rule in node.get("x-kubernetes-validations", ())]
    return sorted({rule[name] for rule in rules for name in ("rule", "messageExpression") if name in rule})


def patterns() -> list[str]:
    """Return every constant pattern of the rules, sorted."""
    macros = base(False).macros
    nodes = [node for text in texts() for node in _all(parse(text, macros))]
    calls = [node for node in nodes if isinstance(node, Call) and node.function == "matches"]
    last = [call.args[-1] for call in calls]
    return sorted({node.value for node in last if isinstance(node, Literal) and isinstance(node.value, str)})


def _all(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _all(child)


def render_patterns() -> str:
    """Return the file of patterns: what RE2 compiles each into, in instructions."""
    rows = {text: pattern(text).programsize for text in patterns()}
    return json.dumps(rows, indent=0) + "\n"


if __name__ == "__main__":
    PATTERNS.write_text(render_patterns(), encoding="utf-8")
