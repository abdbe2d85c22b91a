"""MPI jobs of every kind, rendered and run: the ranks run where the manifests say."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from matrix import CHOICES, IMPOSSIBLE, TABLE, Row, parts, rows, table
from running import Runner, assert_spread, hosts

ROWS = rows()


def test_every_pair_is_there() -> None:
    covered = {part for row in ROWS for part in parts(row.values)}
    for (first, ones), (second, others) in itertools.combinations(enumerate(CHOICES), 2):
        for pair in itertools.product(((first, one) for one in ones), ((second, other) for other in others)):
            assert (frozenset(pair) in covered) is (frozenset(pair) not in IMPOSSIBLE), pair
    for three in itertools.product(*CHOICES[:3]):
        assert frozenset(enumerate(three)) in covered
    assert len(ROWS) <= 30


def test_the_table_is_the_committed_one() -> None:
    assert TABLE.read_text(encoding="utf-8") == table(), "python tests/e2e/matrix.py writes it"
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.e2e
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_ranks_run_where_the_manifests_say(row: Row, table: Path, runner: Runner) -> None:
    outcome = runner(table / row.name)
    assert outcome.ended(f"JobSet/{row.name}") == ("Completed", "AllJobsCompleted"), outcome
    assert_spread(hosts(outcome, f"{row.name}-launcher-0-0"), row.hosts, row.slots)
    execs = [path for method, path, code in outcome.requests if "/exec?" in path and code == 101]
    assert (len(execs) > 0) is (row.transport == "kubexec"), outcome
    sshd = [pod for pod in outcome.pods_of(r".*-node-0-\d") if "Server listening on" in "".join(pod.logs.values())]
    assert len(sshd) == (row.workers if row.transport == "ssh" else 0)
