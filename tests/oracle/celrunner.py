"""Builds the CEL oracle and asks it: questions in, answers out (cel/README.md says what both hold)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "cel"
BINARY = HERE / "cel"

Question = dict[str, Any]
Answer = dict[str, Any]


class OracleError(Exception):
    """The oracle cannot be built, or broke down on a question."""


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    if shutil.which("go") is None:
        return "no Go toolchain (go is not on the PATH)"
    done = subprocess.run(["go", "mod", "download"], cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"the Go modules of tests/oracle/cel/go.mod are not there: {done.stderr.strip()[-300:]}"
    return None


def build() -> None:
    """Compile the oracle; Go's own cache makes that quick when nothing changed. Raises OracleError."""
    try:
        done = subprocess.run(
            ["go", "build", "-o", BINARY.name, "."], cwd=HERE, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise OracleError("no Go toolchain (go is not on the PATH)") from error
    if done.returncode:
        raise OracleError(done.stderr)


def ask(questions: Iterable[Question], command: str = "answer") -> list[Answer]:
    """Give the oracle's answers, in order; ``command`` may be ``estimate`` for static costs. Raises OracleError."""
    lines = [json.dumps(question) for question in questions]
    answers = run([command], "".join(line + "\n" for line in lines))
    if len(answers) != len(lines):
        raise OracleError(f"{len(answers)} answers to {len(lines)} questions")
    return answers


def run(arguments: list[str], text_in: str = "") -> list[dict[str, Any]]:
    """Run a command of the oracle and read the JSON objects that it prints, one a line. Raises OracleError."""
    # Not splitlines, which breaks at U+0085 and U+2028 inside a text, too.
    return [json.loads(line) for line in text(arguments, text_in).split("\n") if line]


def text(arguments: list[str], text_in: str = "") -> str:
    """Run a command of the oracle and return what it prints. Raises OracleError."""
    done = subprocess.run(
        [BINARY, *arguments], cwd=HERE, input=text_in, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    if done.returncode:
        raise OracleError(done.stderr[-2000:] or f"the oracle ended with status {done.returncode}")
    return done.stdout
