"""Runs of the benchmark add up, where code and machine are the same."""

from __future__ import annotations

from pathlib import Path

import contest
import crdrules
import fleet
import kept
import pytest
import scenes
from growth import Growth, Turn
from results import Results
from stopwatch import Figures, Pair, Sample


def figures(*walls: float) -> Figures:
    return Figures(tuple(Sample(wall, wall, 0.5, 10) for wall in walls))


def some(wall: float, *more: scenes.Row) -> Results:
    return Results(
        (scenes.Row("", scenes.HELP, "", 0, figures(wall, wall * 2)), *more),
        (contest.Bout(fleet.LIKE, "helm", 1000, contest.ABSENT, Pair(figures(wall), figures(3.0))),),
        crdrules.Findings({"a": wall, "b": 2.0}, {crdrules.JOBSET_CREATED: wall}, 2.0),
        (Growth(fleet.LIKE, 1, 100, (Turn(wall, 5.0),)),),
    )


def test_results_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "build" / "bench.json"
    assert kept.add(some(1.0), "mark", file) == some(1.0)
    assert kept.add(Results((), runs=0), "mark", file) == some(1.0)


def test_figures_of_further_runs_are_added(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    kept.add(some(2.0), "mark", file)
    extra = scenes.Row(fleet.LIKE, scenes.CHECK, scenes.COLD, 1, figures(7.0))
    found = kept.add(some(1.0, extra), "mark", file)
    assert found.runs == 2
    help_row, check_row = found.rows
    assert help_row.figures == figures(2.0, 4.0, 1.0, 2.0) and check_row == extra
    assert found.bouts[0].pair == Pair(figures(2.0, 1.0), figures(3.0, 3.0))
    assert found.rules == crdrules.Findings({"a": 1.0, "b": 2.0}, {crdrules.JOBSET_CREATED: 1.0}, 2.0)
    assert found.growths == (Growth(fleet.LIKE, 1, 100, (Turn(2.0, 5.0), Turn(1.0, 5.0))),)
    assert kept.add(Results(), "mark", file).rules == found.rules


def test_another_code_or_machine_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    kept.add(some(2.0), "one", file)
    assert kept.add(some(1.0), "other", file) == some(1.0)


@pytest.mark.parametrize(
    "path", ["compiler/trainc/a.py", "compiler/trainc/data/b.json", "tests/bench/scenes.py", "compiler/trainc/new.py"]
)
def test_the_fingerprint_is_of_the_code_and_the_machine(tmp_path: Path, path: str) -> None:
    for name in ("compiler/trainc/a.py", "compiler/trainc/data/b.json", "tests/bench/scenes.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    before = kept.fingerprint("a machine", tmp_path)
    (tmp_path / "tests" / "bench" / "test_scenes.py").write_text("no matter")
    assert kept.fingerprint("a machine", tmp_path) == before != kept.fingerprint("another", tmp_path)
    (tmp_path / path).write_text("2")
    assert kept.fingerprint("a machine", tmp_path) != before
