"""The table of MPI cases: every pair of choices, and every MPI by every transport as either user, in few rows.

``python tests/e2e/matrix.py`` writes the table, cases/matrix.md. The rows are chosen greedily in a fixed order, so the
same choices give the same table.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).with_name("cases") / "matrix.md"

CHOICES: Final[tuple[tuple[str, ...], ...]] = (
    ("openmpi4", "openmpi5", "mpich"),
    ("ssh", "kubexec"),
    ("root", "mpiuser"),
    ("beside", "node"),
    ("1", "2", "4"),
)
"""MPI, transport, user, the launcher beside the nodes or a node itself, worker pods."""

NAMES: Final = ("MPI", "transport", "user", "launcher", "workers")

IMPOSSIBLE: Final[dict[frozenset[tuple[int, str]], str]] = {}
"""Pairs of choices (column, value) that no job can have, with the reason. With the recommended fixes there are none."""

Part = frozenset[tuple[int, str]]
"""Choices that stand in one row: column and value of each."""


@dataclass(frozen=True, slots=True)
class Row:
    """A case: one of each of CHOICES."""

    mpi: str
    transport: str
    user: str
    launcher: str
    workers: int

    @property
    def values(self) -> tuple[str, ...]:
        """The choices, in the order of CHOICES."""
        return self.mpi, self.transport, self.user, self.launcher, str(self.workers)

    @property
    def name(self) -> str:
        """The name of its job."""
        return "-".join(self.values)

    @property
    def slots(self) -> int:
        """Ranks a host: two, and one where there are many hosts."""
        return 1 if self.workers > 2 else 2

    @property
    def hosts(self) -> list[str]:
        """The host names of the pods where ranks are to run, in the order of the hostfile."""
        launcher = [f"{self.name}-launcher-0-0"] if self.launcher == "node" else []
        return launcher + [f"{self.name}-node-0-{index}" for index in range(self.workers)]


def parts(values: tuple[str, ...]) -> Iterator[Part]:
    """Yield what a row covers: its pairs, and MPI, transport and user together."""
    cells = list(enumerate(values))
    yield from map(frozenset, itertools.combinations(cells, 2))
    yield frozenset(cells[:3])


def rows() -> list[Row]:
    """Return the rows: each time the one that covers most of what is not covered yet; of several one of rare."""
    every = [
        values for values in itertools.product(*CHOICES) if not any(bad <= set(enumerate(values)) for bad in IMPOSSIBLE)
    ]
    left = {part for values in every for part in parts(values)}
    found: list[tuple[str, ...]] = []
    while left:
        used = Counter(cell for row in found for cell in enumerate(row))
        best = max(
            every, key=lambda row: (len(left.intersection(parts(row))), -sum(used[cell] for cell in enumerate(row)))
        )
        found.append(best)
        left.difference_update(parts(best))
    return [
        Row(mpi, transport, user, launcher, int(workers)) for mpi, transport, user, launcher, workers in sorted(found)
    ]


def table() -> str:
    """Return the rows as a table for people."""
    head = f"| {' | '.join(NAMES)} | ranks run on |\n|{'---|' * (len(NAMES) + 1)}\n"
    shown = {"node": "is a node", "beside": "beside the nodes", "mpiuser": "mpiuser (1000)"}
    lines = []
    for row in rows():
        cells = [shown.get(value, value) for value in row.values]
        hosts = [host.removeprefix(f"{row.name}-") for host in row.hosts]
        lines.append(f"| {' | '.join(cells)} | {', '.join(f'{host} x{row.slots}' for host in hosts)} |\n")
    impossible = "".join(f"- {pair}: {reason}\n" for pair, reason in IMPOSSIBLE.items()) or "None.\n"
    return (
        "# MPI cases\n\nWritten by `python tests/e2e/matrix.py`. Every pair of choices is in some row, and every MPI "
        "by every\ntransport as either user.\n\n" + head + "".join(lines) + "\nPairs that cannot be:\n\n" + impossible
    )


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
