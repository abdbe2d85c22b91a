"""Go programs below tests/oracle: whether they can be built here, how to build and run them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

ORACLE = Path(__file__).resolve().parent


class OracleError(Exception):
    """A program cannot be built, or broke down on its input."""


@cache
def missing(folder: Path = ORACLE, *modules: str) -> str | None:
    """Say why programs of a Go module cannot be built on this machine, or None if they can."""
    if shutil.which("go") is None:
        return "no Go toolchain (go is not on the PATH)"
    command = ["go", "mod", "download", *modules]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    name = (folder / "go.mod").relative_to(ORACLE.parent)
    return f"the Go modules of tests/{name} are not there: {done.stderr.strip()[-300:]}" if done.returncode else None


@cache
def _changed() -> float:
    """Return when the last of all sources was changed."""
    files = (Path(root, name) for root, _, names in os.walk(ORACLE) for name in names)
    return max(file.stat().st_mtime for file in files if file.suffix in (".go", ".mod", ".sum"))


@cache
def build(folder: Path = ORACLE, package: str = ".") -> Path:
    """Compile a program beside its source, if a source is newer. Raises OracleError.

    `go build` would find out as well, but takes a second of CPU time for that.
    """
    home = (folder / package).resolve()
    binary = home / home.name
    if not binary.exists() or binary.stat().st_mtime <= _changed():
        with tempfile.TemporaryDirectory(prefix=".trainc-", suffix=".tmp", dir=home) as new:
            run(["go", "build", "-o", new, package], folder=folder)
            (built,) = Path(new).iterdir()
            built.replace(binary)  # at once: other processes may run it
    return binary


def run(command: list[str | Path], text: str = "", folder: Path = ORACLE) -> str:
    """Run a command on a text and return what it prints. Raises OracleError."""
    try:
        done = subprocess.run(
            command, cwd=folder, input=text, capture_output=True, text=True, check=False, encoding="utf-8"
        )
    except FileNotFoundError as error:
        raise OracleError(f"{command[0]} is not on the PATH") from error
    if done.returncode:
        raise OracleError(done.stderr[-2000:] or f"{command[0]} ended with status {done.returncode}")
    return done.stdout


def rows(text: str) -> list[Any]:
    """Read JSON, a value per line. Not by splitlines, which breaks at U+0085 and U+2028 inside a text, too."""
    return [json.loads(line) for line in text.split("\n") if line]


def ask(
    command: list[str | Path] | str, questions: Iterable[Any], folder: Path = ORACLE, *, escaped: bool = True
) -> list[Any]:
    """Return the answer to each question, both JSON; a text as command is a package to build. Raises OracleError.

    ``escaped``: letters beyond ASCII are written as escapes, so that lone surrogates can be sent, too.
    """
    lines = [json.dumps(question, ensure_ascii=escaped) + "\n" for question in questions]
    words: list[str | Path] = [build(folder, command)] if isinstance(command, str) else command
    answers = rows(run(words, "".join(lines), folder))
    if len(answers) != len(lines):
        raise OracleError(f"{len(answers)} answers to {len(lines)} questions")
    return answers
