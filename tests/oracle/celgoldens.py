# ruff: noqa: T201
"""Asks the CEL oracle about the recorded expressions again: ``python tests/oracle/celgoldens.py [--check]``.

The files hold an expression per line. Those of ``cel/goldens/`` and of ``tests/cel/{checker,library,runner}/`` have
``{"question": {...}, "answer": {...}}``: the question as ``trainc cel --jsonl`` takes it, the answer without its id,
its error without the excerpts of the source. Those of ``tests/cel/parser/`` have ``{"expr", "tree"}`` or ``{"expr",
"errors", "display"}``. To add an expression, add a line with ``question`` or ``expr`` only. ``spec-<file>.jsonl`` are
the tests of cel-spec. Questions whose answer differs from run to run (Go's maps have no order) are dropped; where only
the cost differs, it is null.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import celrunner  # noqa: E402 - the folder above is not on the path of a script
from oracle.celrunner import Answer, Question  # noqa: E402

GOLDENS = HERE / "cel" / "goldens"
CASES = HERE.parent / "cel"

Pair = tuple[Question, Answer]


def answered() -> list[Path]:
    """Return the files whose answers trainc is compared with; those of checker/ are about types only."""
    return sorted([*GOLDENS.glob("*.jsonl"), *CASES.glob("library/*.jsonl"), *CASES.glob("runner/*.jsonl")])


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def read(path: Path) -> list[Pair]:
    """Return the questions of a file with their answers."""
    return [(row["question"], row["answer"]) for row in rows(path)]


def judge(questions: list[Question]) -> list[Pair]:
    """Pair each question with the oracle's answer, if that is always the same. Raises OracleError."""
    pairs = zip(questions, celrunner.ask(questions, "stable"), strict=True)
    return [(question, condense(answer)) for question, answer in pairs if answer.get("unstable") != "value"]


def condense(answer: Answer) -> Answer:
    """Drop the id, a cost that varies, and from the error of a compiler the lines that repeat the expression."""
    result = {key: value for key, value in answer.items() if key not in {"id", "unstable"}}
    if answer.get("unstable") == "cost":
        result["cost"] = None
    if result["error"]:
        result["error"] = without_excerpt(result["error"])
    return result


def without_excerpt(error: str) -> str:
    """Return a compiler's error without the lines that repeat the expression."""
    return "\n".join(line for line in error.split("\n") if not line.startswith(" | "))


def parse(expressions: list[str]) -> list[dict[str, Any]]:
    """Return what cel-go's parser makes of each. Raises OracleError."""
    return celrunner.ask([{"id": number, "expr": text} for number, text in enumerate(expressions)], "parse")


def fresh(path: Path) -> str:
    """Return the text that a file should have. Raises OracleError."""
    found = rows(path)
    made: Iterator[dict[str, Any]]
    if "expr" in found[0]:
        texts = [row["expr"] for row in found]
        made = ({"expr": text, **answer} for text, answer in zip(texts, parse(texts), strict=True))
    else:
        spec = path.stem.removeprefix("spec-") if path.stem.startswith("spec-") else None
        questions = celrunner.run(["spec", spec]) if spec else [row["question"] for row in found]
        made = ({"question": question, "answer": answer} for question, answer in judge(questions))
    return "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in made)


def main() -> int:
    """Write the answers, or with ``--check`` say which files are out of date. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is out of date")
    check = parser.parse_args().check
    if why := celrunner.missing():
        print(why, file=sys.stderr)
        return 2
    celrunner.build()
    texts = {path: fresh(path) for path in sorted([*GOLDENS.glob("*.jsonl"), *CASES.glob("*/*.jsonl")])}
    stale = [path for path, text in texts.items() if path.read_text(encoding="ascii") != text]
    for path in stale:
        print(path.name)
        if not check:
            path.write_text(texts[path], encoding="ascii")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
