"""Writes the trees of all rules of the CRDs in the package: what runs at every start must not wait for a parser."""

from __future__ import annotations

import json
from pathlib import Path

from trainc.cel.astjson import dump
from trainc.cel.environments import base
from trainc.cel.parser import parse
from trainc.data import load_json

OUTPUT = Path(__file__).resolve().parents[1] / "trainc" / "data" / "schemas" / "rules.json"


def texts() -> list[str]:
    """Return every rule and messageExpression, sorted."""
    rules = [rule for node in load_json("schemas/nodes.json") for rule in node.get("x-kubernetes-validations", ())]
    return sorted({rule[name] for rule in rules for name in ("rule", "messageExpression") if name in rule})


def render() -> str:
    """Return the file's text."""
    macros = base(False).macros
    rows = {text: dump(parse(text, macros)) for text in texts()}
    lines = ",\n".join(f"{json.dumps(text)}:{json.dumps(tree, separators=(',', ':'))}" for text, tree in rows.items())
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    OUTPUT.write_text(render(), encoding="utf-8")
