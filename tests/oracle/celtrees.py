# ruff: noqa: T201
"""Asks cel-go's parser again: ``python tests/oracle/celtrees.py [--check]``.

Its questions are the expressions of ``tests/cel/parser/``. A line of a file is an expression with what the parser makes
of it: ``{"expr", "tree"}`` or ``{"expr", "errors", "display"}``. To add an expression, add a line with only ``expr``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import celrunner  # noqa: E402 - the folder above is not on the path of a script

CASES = HERE.parent / "cel" / "parser"


def read(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def ask(expressions: list[str]) -> list[dict[str, Any]]:
    """Return what the parser makes of each. Raises OracleError."""
    return celrunner.ask([{"id": number, "expr": text} for number, text in enumerate(expressions)], "parse")


def fresh(path: Path) -> str:
    """Return the text that a file should have. Raises OracleError."""
    expressions = [line["expr"] for line in read(path)]
    pairs = zip(expressions, ask(expressions), strict=True)
    return "".join(json.dumps({"expr": text, **made}, separators=(",", ":")) + "\n" for text, made in pairs)


def main() -> int:
    """Write the answers, or with ``--check`` say which files are out of date. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    if why := celrunner.missing():
        print(why, file=sys.stderr)
        return 2
    celrunner.build()
    wanted = {path: fresh(path) for path in sorted(CASES.glob("*.jsonl"))}
    stale = [path for path, text in wanted.items() if path.read_text(encoding="ascii") != text]
    for path in stale:
        print(path.name)
        if not check:
            path.write_text(wanted[path], encoding="ascii")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
