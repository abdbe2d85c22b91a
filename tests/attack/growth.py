"""The CPU time that a command takes for an input of any kind and size, in a process of its own.

As a program, it doubles each kind of input from 1,000 to 64,000 and prints the table of docs/trust.md:

    python tests/attack/growth.py FIGURES SECONDS [KIND...]

FIGURES is a file of JSON lines; what it has is not measured again. A size is left out if it would take more SECONDS.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

sys.path.append(str(Path(__file__).parents[1]))
from growing_projects import PROJECTS
from growing_texts import JOB, TEXTS, Input, several, trained

from folders import put
from gitrepo import commit
from trainc.cli.root import trainc

KINDS = {**TEXTS, **PROJECTS}
SIZES = tuple(1000 * 2**power for power in range(7))
SECONDS = 600
"""The CPU time after which the kernel ends a command."""

LEAST = 0.1
"""Seconds below which the table compares nothing."""


class Run(NamedTuple):
    """The user CPU seconds of a command, its exit status (-1: a traceback), and the codes of its findings.

    ``memory``: the most MiB that the command has added to those of the process; 0 where the system is not Linux.
    """

    seconds: float
    status: int
    codes: tuple[str, ...]
    memory: int


def made(kind: str, size: int) -> Input:
    """Return the input of a kind at a size; a text is the standard input of ``build``."""
    found = KINDS[kind][1](size)
    return found if isinstance(found, Input) else Input(command=("build", "--no-cache", "-"), text=found)


@cache
def warm_up() -> None:
    """Load the modules that commands need, so that no figure has the time for it."""
    for text in (several(JOB, 2), several(JOB + "  unknown: 1\n", 2), trained()):
        CliRunner().invoke(trainc, ["build", "--no-cache", "-"], input=text.encode(), prog_name="trainc")


def measure(given: Input, seconds: int = SECONDS) -> Run:
    """Run a command on an input in a process of its own, with the modules that this process has loaded."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in given.committed.items():
            put(Path(folder), name, text)
        if given.committed:
            commit(Path(folder))
        for name, text in given.files.items():
            put(Path(folder), name, text)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _answer(given, folder, seconds, writing)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answer = pipe.read()
        _, _, usage = os.wait4(child, 0)
    status, codes, memory = json.loads(answer or b'[-1, ["killed"], 0]')
    return Run(usage.ru_utime, status, tuple(codes), memory)


def _answer(given: Input, folder: str, seconds: int, writing: int) -> None:
    """Run the command, write its exit status and codes, and end the process."""
    try:
        os.chdir(folder)
        gc.freeze()  # otherwise each collection would go over the objects of the parent
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        before = _most_memory(reset=True)
        result = CliRunner().invoke(trainc, given.command, input=given.text.encode(), prog_name="trainc")
        memory = _most_memory() - before
        failed = result.exception is not None and not isinstance(result.exception, SystemExit)
        found = set(re.findall(r"(?:error|warning|note)\[(TC\d{3})\]", result.output))  # quoted lines may name others
        codes = [repr(result.exception)[:200]] if failed else sorted(found)
        os.write(writing, json.dumps([-1 if failed else result.exit_code, codes[:20], memory]).encode())
    finally:
        os._exit(0)


def _most_memory(*, reset: bool = False) -> int:
    """Return the most MiB that the process has had in memory, with ``reset`` from now on."""
    if not Path("/proc/self/clear_refs").exists():
        return 0
    if reset:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # VmHWM becomes VmRSS
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) // 1024  # type: ignore[index]


def doubled(path: Path, most: float, kinds: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Measure kinds at each size, as long as twice the last time is at most ``most``, and add the figures to a file."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    have = {(row["kind"], row["size"]): row for row in rows}
    for kind in kinds or KINDS:
        seconds = 0.0
        for size in SIZES:
            if (row := have.get((kind, size))) is None:
                if 2 * seconds > most:
                    break
                run = measure(made(kind, size))
                row = {"kind": kind, "size": size, "seconds": round(run.seconds, 3), "status": run.status}
                row["codes"] = run.codes
                with path.open("a") as out:
                    out.write(json.dumps(row) + "\n")
            yield row
            seconds = row["seconds"]


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the rows of a Markdown table: seconds by kind and size, and the largest rise at a doubling."""
    yield f"| kind | {' | '.join(f'{size:,}' for size in SIZES)} | largest rise |"
    yield f"|---|{'---|' * len(SIZES)}---|"
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = {row["size"]: row for row in rows if row["kind"] == kind}
        cells = [
            f"{own[size]['seconds']:.2f}{'*' * ('TC012' in own[size]['codes'])}" if size in own else ""
            for size in SIZES
        ]
        times = [row["seconds"] for row in own.values()]
        rise = max((after / max(before, LEAST) for before, after in pairwise(times)), default=0)
        yield f"| {kind} | {' | '.join(cells)} | {rise:.1f} |"


if __name__ == "__main__":
    warm_up()
    measured = list(doubled(Path(sys.argv[1]), float(sys.argv[2]), tuple(sys.argv[3:])))
    sys.stdout.write("\n".join(table(measured)) + "\n")
