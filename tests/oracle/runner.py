"""Builds the oracle and asks it: cases in, verdicts out (see main.go and judge.go for both)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from oracle import gotools
from oracle.gotools import OracleError

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


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    return gotools.missing()


def build() -> None:
    """Compile the oracle. Raises OracleError."""
    gotools.build()


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
    verdicts = gotools.rows(done.stdout)
    if done.returncode or len(verdicts) != len(cases):
        culprit = cases[min(len(verdicts), len(cases) - 1)]
        raise OracleError(f"the oracle broke down on {culprit.id}:\n{done.stderr[-2000:]}\n{culprit.text}")
    return verdicts
