"""Writes the tables of the CEL parser, made by lark from the installed celpy's grammar, as package data."""

from __future__ import annotations

import json
from pathlib import Path

from trainc.cel.grammar import TABLES, grammar_file
from trainc.cel.grammarbuild import build

OUTPUT = Path(__file__).resolve().parents[1] / "trainc" / "data" / TABLES


def text() -> str:
    """Return the file's text, a line for each part."""
    parts = (
        f"{json.dumps(key)}: {json.dumps(part, separators=(',', ':'))}" for key, part in build(grammar_file()).items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    OUTPUT.write_text(text(), encoding="utf-8")
