"""Figures, targets, tables and the page; what is measured is invented here."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import contest
import pytest
import report
import scenes
import targets
from fleet import EVERYTHING, FLAVOURS, LIKE
from stopwatch import BenchError, Command, Effort, Figures, Sample, in_turns, run


def main_module() -> Any:
    spec = importlib.util.spec_from_file_location("bench_main", Path(__file__).with_name("__main__.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures(wall: float) -> Figures:
    return Figures((Sample(wall, wall, wall / 4, 40), Sample(2 * wall, 2 * wall, wall, 50)))


def measured(ratio: float) -> targets.Results:
    """Return figures of every scene and peer, ours so many times theirs."""
    rows = [
        scenes.Row(flavour, scene.name, scene.cache, size, figures(ratio), figures(1))
        for size in (1, targets.THOUSAND, targets.ONE_FILE, targets.TEN_THOUSAND)
        for flavour in FLAVOURS
        for scene in scenes.SCENES
    ]
    rows += [scenes.Row("", scene.name, scene.cache, 0, figures(ratio), figures(1)) for scene in scenes.OWN_SCENES]
    bouts = [
        contest.Bout(flavour, peer, targets.THOUSAND, contest.ABSENT, figures(ratio), figures(1))
        for flavour in FLAVOURS
        for peer in contest.NAMES
    ]
    return targets.Results(rows, bouts)


@pytest.mark.parametrize(
    ("effort", "took", "runs"), [(Effort(5), 100, 5), (Effort(5, 30), 40, 2), (Effort(5, 35), 20, 3), (Effort(1), 1, 1)]
)
def test_runs_end_with_their_number_or_time(effort: Effort, took: float, runs: int) -> None:
    clock = iter(range(0, 100_000, int(took)))  # asked at the start, then before each run from LEAST on
    (found,) = in_turns([lambda turn: Sample(turn, 0, 0, 0)], effort, lambda: float(next(clock)))
    assert [each.wall for each in found.samples] == list(range(runs))


def test_a_process_is_measured(tmp_path: Path) -> None:
    code = "import sys; block = b'x' * (64 << 20); sum(range(300000)); sys.stdout.write(sys.stdin.read())"
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("through")
    command = Command((sys.executable, "-I", "-c", code), tmp_path, source=source, output=output)
    found = run(command, tmp_path)
    assert output.read_text() == "through"
    assert found.peak > 64, "MiB"
    assert found.user + found.system > 0
    assert 0 < found.wall < 60


def test_an_unexpected_exit_status_is_an_error(tmp_path: Path) -> None:
    command = Command((sys.executable, "-c", "print('why'); raise SystemExit(3)"), tmp_path)
    with pytest.raises(BenchError, match=r"exit status 3\nwhy"):
        run(command, tmp_path)


@pytest.mark.parametrize(("ratio", "verdict"), [(0.01, "met"), (10.0, "not met")])
def test_every_target_is_judged(ratio: float, verdict: str) -> None:
    results = measured(ratio)
    same = ("4,000 jobs in one file, of 4,000 in files", "10,000 jobs, cold: memory")  # ours over ours; same memory
    assert {each.verdict(results) for each in targets.TARGETS if each.text not in same} == {verdict}
    assert {each.verdict(results) for each in targets.TARGETS if each.text in same} == {"met"}
    assert {each.verdict(targets.Results()) for each in targets.TARGETS} == {"not measured"}
    assert bool(targets.missed(results)) == (verdict == "not met")


def test_the_page() -> None:
    text = report.page(measured(0.5), "A processor, 2 cores.", [("helm", "v3.22.0")], "make bench ARGS=...")
    assert "on: A processor, 2 cores." in text
    titles = re.findall(r"(?m)^## (.+)$", text)
    sizes = ["This repository", "1 job", "1,000 jobs", "4,000 jobs", "10,000 jobs"]
    assert titles == ["What is measured", "Targets", *sizes, "Other tools", "Notes"]
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 8
    for block in blocks:
        assert len({line.count("|") for line in block}) == 1, block[0]
    assert "\n\n\n" not in text


def test_peers_are_chosen_from_those_available() -> None:
    chosen = main_module().chosen
    available = {"helm": "", "kustomize": "not installed", contest.CHAIN: ""}
    assert chosen("all", available) == ["helm", contest.CHAIN]
    assert chosen("none", available) == []
    assert chosen(f"helm; {contest.CHAIN}", available) == ["helm", contest.CHAIN]
    for name, reason in (("kustomize", "not installed"), ("make", "unknown peer")):
        with pytest.raises(BenchError, match=f"{name}: {reason}"):
            chosen(name, available)


def test_the_command_line() -> None:
    module = main_module()
    options = module.arguments(["--jobs", "1000,1", "--flavours", "like", "--folder", "somewhere", "--base", "here/x"])
    assert (options.jobs, options.flavours) == ((1, 1000), (LIKE,))
    assert module.arguments([]).flavours == (LIKE, EVERYTHING)
    command = 'make bench ARGS="--base ../base --jobs 1,1000 --peers none --runs 5 --seconds 30 --write"'
    assert module.command(options) == command
    for wrong in ("0", "a", "", "1,-5"):
        with pytest.raises(argparse.ArgumentTypeError):
            module.sizes(wrong)
    with pytest.raises(argparse.ArgumentTypeError):
        module.flavours("vanilla")
