# ruff: noqa: T201
"""Asks the CEL oracle and writes ``cel/goldens/``: ``python tests/oracle/celgoldens.py [--check]``.

A golden is a file of lines ``{"question": {...}, "answer": {...}}``: the question as ``trainc cel --jsonl`` takes it,
the answer without its id, its error without the excerpts of the source. ``spec-<file>.jsonl`` are the tests of
cel-spec, the others come from ``celgen``. Questions whose answer differs from run to run (Go's maps have no order)
are left out; where only the cost differs, it is null.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import celgen, celrunner  # noqa: E402 - the folder above is not on the path of a script
from oracle.celrunner import Answer, Question  # noqa: E402

GOLDENS = HERE / "cel" / "goldens"

Pair = tuple[Question, Answer]


def names() -> list[str]:
    """Return the names of the goldens, sorted."""
    return sorted(path.stem for path in GOLDENS.glob("*.jsonl"))


def read(name: str) -> list[Pair]:
    """Return the questions of a golden with their answers."""
    lines = (GOLDENS / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
    return [(pair["question"], pair["answer"]) for pair in map(json.loads, lines)]


def suites() -> Iterator[tuple[str, list[Question]]]:
    """Yield name and questions of every golden. Raises OracleError, since cel-spec's files are the oracle's."""
    for listed in celrunner.run(["spec"]):
        yield f"spec-{listed['file']}", celrunner.run(["spec", listed["file"]])
    yield from celgen.selection().items()


def judge(questions: list[Question]) -> list[Pair]:
    """Pair each question with the oracle's answer, if that is always the same. Raises OracleError."""
    answers = celrunner.ask(questions, "stable")
    pairs = zip(questions, answers, strict=True)
    return [(question, condense(answer)) for question, answer in pairs if answer.get("unstable") != "value"]


def condense(answer: Answer) -> Answer:
    """Drop the id, a cost that varies, and from the error of a compiler the lines that repeat the expression."""
    result = {key: value for key, value in answer.items() if key not in {"id", "unstable"}}
    if answer.get("unstable") == "cost":
        result["cost"] = None
    if result["error"]:
        result["error"] = "\n".join(line for line in result["error"].split("\n") if not line.startswith(" | "))
    return result


def lines(pairs: list[Pair]) -> str:
    """Write a golden."""
    return "".join(
        json.dumps({"question": question, "answer": answer}, separators=(",", ":")) + "\n" for question, answer in pairs
    )


def main() -> int:
    """Write the goldens, or with ``--check`` say which are out of date. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a golden is out of date")
    check = parser.parse_args().check
    if why := celrunner.missing():
        print(why, file=sys.stderr)
        return 2
    celrunner.build()
    wanted = {name: lines(judge(questions)) for name, questions in suites() if questions}
    files = {f"{name}.jsonl": text for name, text in wanted.items()}
    present = {path.name: path.read_text(encoding="ascii") for path in GOLDENS.glob("*.jsonl")}
    stale = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    if check:
        print("\n".join(stale) or "all goldens are current")
        return 1 if stale else 0
    GOLDENS.mkdir(exist_ok=True)
    for name in present.keys() - files.keys():
        (GOLDENS / name).unlink()
    for name, text in files.items():
        (GOLDENS / name).write_text(text, encoding="ascii")
    print(f"{sum(text.count(chr(10)) for text in files.values())} answers in {len(files)} files, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
