"""Builds the oracle and asks it: cases in, verdicts out (see main.go and judge.go for both)."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
BINARY = HERE / "oracle"
CHUNK = 500

Verdict = dict[str, Any]


class Case(NamedTuple):
    """One case: a multi-document YAML text under a name; ``reversed`` turns the order of upstream's plugins.

    ``request``: one more object to be created while those of the text exist, or updated from ``old``.
    """

    id: str
    text: str
    reversed: bool = False
    request: str = ""
    old: str = ""


class OracleError(Exception):
    """The oracle cannot be built, or broke down on a case."""


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    if shutil.which("go") is None:
        return "no Go toolchain (go is not on the PATH)"
    done = subprocess.run(["go", "mod", "download"], cwd=HERE, capture_output=True, text=True, check=False)
    if done.returncode:
        return f"the Go modules of tests/oracle/go.mod are not there: {done.stderr.strip()[-300:]}"
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


def ask(cases: Iterable[Case]) -> Iterator[Verdict]:
    """Yield the oracle's verdict on each case, in order. Raises OracleError."""
    chunk: list[Case] = []
    for case in cases:
        chunk.append(case)
        if len(chunk) == CHUNK:
            yield from _ask(chunk)
            chunk = []
    if chunk:
        yield from _ask(chunk)


def _ask(cases: list[Case]) -> list[Verdict]:
    lines = "".join(json.dumps(case._asdict()) + "\n" for case in cases)
    done = subprocess.run([BINARY], input=lines, capture_output=True, text=True, check=False, encoding="utf-8")
    # Not splitlines, which breaks at U+0085 and U+2028 inside a text, too.
    verdicts = [json.loads(line) for line in done.stdout.split("\n") if line]
    if done.returncode or len(verdicts) != len(cases):
        culprit = cases[min(len(verdicts), len(cases) - 1)]
        raise OracleError(f"the oracle broke down on {culprit.id}:\n{done.stderr[-2000:]}\n{culprit.text}")
    return verdicts
