"""What is made of measurements: statistics, targets, tables, the page."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import contest
import crdrules
import fleet
import floors
import growth
import machine
import peers
import pytest
import report
import scenes
from results import Results
from stopwatch import BenchError, Command, Effort, Figures, Pair, Sample, alternate, in_turns, measure, run

HERE = Path(__file__).parent


def main_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_main", HERE / "__main__.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures(wall: float, peak: float = 50.0) -> Figures:
    return Figures((Sample(wall * 2, wall, wall / 4, peak - 1), Sample(wall, wall * 1.5, wall / 2, peak)))


def test_figures_are_of_all_runs() -> None:
    found = Figures((Sample(3.0, 1.0, 0.5, 40), Sample(1.0, 2.0, 0.1, 60), Sample(2.0, 1.2, 0.1, 50)))
    assert (found.wall, found.median, found.cpu, found.user, found.peak) == (1.0, 2.0, 1.3, 1.0, 60)
    with pytest.raises(ValueError, match="no run"):
        Figures(())


def test_runs_end_with_the_effort() -> None:
    def ticking(step: float) -> Iterator[float]:
        now = 0.0
        while True:
            yield now
            now += step

    def count(effort: Effort, step: float) -> int:
        clock = ticking(step)
        return len(measure(lambda turn: Sample(turn + 1, 1, 1, 1), effort, lambda: next(clock)).samples)

    assert count(Effort(5), 100) == 5
    assert count(Effort(5, 35), 10) == 3
    assert count(Effort(5, 0), 10) == 1
    assert count(Effort(9, 0, 5), 10) == 5
    assert count(Effort(3, 100, steady=45), 10) == 4
    assert count(Effort(3, 100, steady=20), 10) == 3


def test_seconds_are_of_one_call() -> None:
    clock = iter(range(0, 1000, 10))
    found = in_turns([lambda turn: Sample(turn, 1, 1, 1)] * 2, Effort(9, 16), lambda: next(clock))
    assert [[sample.wall for sample in figures.samples] for figures in found] == [[0, 1, 2]] * 2


def test_growth_compares_a_large_fleet_with_small_ones_around_it() -> None:
    order: list[int] = []
    slow = iter([1.0] * 11 + [2.0] * 5 + [3.0] + [2.0] * 5 + [4.0] * 11)  # a machine that is slower in later turns

    def site(size: int) -> scenes.Site:
        def afresh() -> Sample:
            order.append(size)
            return Sample(9, size / 1000 * next(slow), 9, 9)

        return cast("scenes.Site", SimpleNamespace(size=size, flavour=fleet.LIKE, afresh=afresh))

    small, large = site(1000), site(10_000)
    [found] = growth.growths([large, small], Effort(3))
    assert order == ([1000] * 5 + [10_000] + [1000] * 5) * 3
    assert found == growth.Growth(
        fleet.LIKE, 1000, 10_000, (growth.Turn(1, 10), growth.Turn(2, 30), growth.Turn(4, 40))
    )
    assert found.turn == growth.Turn(4, 40), "the one in the middle"
    assert growth.growths([small], Effort(3)) == []


def test_a_pair_runs_in_turns() -> None:
    order: list[str] = []

    def runner(name: str, wall: float) -> Sample:
        order.append(name)
        return Sample(wall, wall, 0, 1)

    pair = alternate(lambda turn: runner(f"ours {turn}", 2), lambda turn: runner(f"theirs {turn}", 4), Effort(2))
    assert order == ["ours 0", "theirs 0", "ours 1", "theirs 1"]
    assert (pair.wall_ratio, pair.cpu_ratio) == (0.5, 0.5)


def test_a_process_is_measured(tmp_path: Path) -> None:
    code = "import sys; block = b'x' * (64 << 20); sum(range(300000)); sys.stdout.write(sys.stdin.read())"
    source, output = tmp_path / "in", tmp_path / "out"
    source.write_text("through")
    command = Command((sys.executable, "-I", "-c", code), tmp_path, source=source, output=output)
    found = run(command, tmp_path)
    assert output.read_text() == "through"
    assert found.peak > 64, "MiB"
    assert found.cpu > 0
    assert 0 < found.wall < 60


def test_a_small_process_is_not_given_the_memory_of_the_benchmark(tmp_path: Path) -> None:
    ballast = b"x" * (96 << 20)
    assert run(Command((sys.executable, "-S", "-c", ""), tmp_path), tmp_path).peak < 48
    assert ballast


def test_a_failure_is_told_with_what_was_said(tmp_path: Path) -> None:
    command = Command(("sh", "-c", "echo spoken; echo wrong >&2; exit 3"), tmp_path)
    with pytest.raises(BenchError, match=r"(?s)exit status 3.*spoken.*wrong"):
        run(command, tmp_path)
    assert run(replace(command, expected=frozenset((3,))), tmp_path).wall > 0
    with pytest.raises(BenchError, match="there-is-no-such-program"):
        run(Command(("there-is-no-such-program",), tmp_path), tmp_path)


def test_only_what_is_named_of_the_environment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINC_UPDATE", "1")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    output = tmp_path / "out"
    run(Command(("env",), tmp_path, {"MINE": "yes"}, output=output), tmp_path)
    names = {line.partition("=")[0] for line in output.read_text().splitlines()}
    assert {"MINE", "HOME", "PATH"} <= names
    assert not names & {"TRAINC_UPDATE", "PYTHONDONTWRITEBYTECODE", "SPAWN_INPUT"}


def everything_measured(wall: float) -> Results:
    """Results in which every scene takes so long, at all sizes and in both flavours, and every peer a second."""
    site_scenes = [
        value for name, value in vars(scenes).items() if name.startswith(("RENDER_", "CHECK", "VALID", "BUILD"))
    ]
    rows = [
        scenes.Row(flavour, scene, cache, size, figures(wall * (size if size > 1 else 1), 90))
        for flavour in fleet.FLAVOURS
        for scene in site_scenes
        for cache in (scenes.COLD, scenes.WARM)
        for size in (1, 1000, 10_000)
    ]
    rows += [
        scenes.Row("", scene, cache, 0, figures(wall)) for scene in (scenes.OWN_CHECK,) for cache in ("cold", "warm")
    ]
    rows += [scenes.Row("", scenes.HELP, "", 0, figures(wall))]
    bouts = [
        contest.Bout(flavour, name, 1000, out, Pair(figures(wall), figures(1.0)))
        for flavour in fleet.FLAVOURS
        for name in contest.NAMES
        for out in (contest.ABSENT, contest.PRESENT)
    ]
    rules = crdrules.Findings({"self >= 1": wall, "a || b": wall}, {crdrules.JOBSET_CREATED: wall}, 1.0)
    growths = [
        growth.Growth(flavour, *sizes, (growth.Turn(wall * sizes[0], wall * sizes[1]),))
        for flavour in fleet.FLAVOURS
        for sizes in pairwise((1, 1000, 10_000))
    ]
    return Results(tuple(rows), tuple(bouts), rules, tuple(growths))


def test_every_target_can_be_measured_met_and_missed() -> None:
    assert [floor.text for floor in floors.FLOORS if floor.measure(everything_measured(1e-6)) is None] == []
    relative = {floor.text for floor in floors.FLOORS if "of one" in floor.text or "tenth changed" in floor.text}
    relative |= {floor.text for floor in floors.FLOORS if "peak memory" in floor.text or "user CPU" in floor.text}
    fast, slow = everything_measured(1e-6), everything_measured(1e3)
    assert {floor.text for floor in floors.missed(fast)} == {"10,000 jobs, cold: wall by two workers, of one"}
    assert {floor.text for floor in floors.FLOORS} - {floor.text for floor in floors.missed(slow)} <= relative
    assert all(floor.verdict(Results()) == floors.UNKNOWN for floor in floors.FLOORS)
    assert floors.missed(Results()) == ()


def test_a_short_run_lists_what_it_measured() -> None:
    some = Results(rows=(scenes.Row("", scenes.HELP, "", 0, figures(0.05)),))
    assert [cells(line)[0] for line in report.floor_table(some, whole=False).splitlines()[2:]] == ["--help: wall"]
    assert len(report.floor_table(some).splitlines()) == 2 + len(floors.FLOORS)


def test_the_worst_figure_counts() -> None:
    rows = [
        scenes.Row(fleet.LIKE, scenes.RENDER_SAME, scenes.WARM, 10_000, figures(0.1)),
        scenes.Row(fleet.EVERYTHING, scenes.RENDER_SAME, scenes.WARM, 10_000, figures(0.6)),
    ]
    (floor,) = [floor for floor in floors.FLOORS if floor.text == "10,000 jobs, nothing changed: wall"]
    assert floor.verdict(Results(tuple(rows[:1]))) == floors.MET
    assert floor.verdict(Results(tuple(rows))) == floors.MISSED


def test_scenes_in_turns_are_compared_turn_by_turn() -> None:
    slow = (1.0, 3.0, 1.5)  # what else the machine does slows down whole turns
    rows = [
        scenes.Row(
            fleet.LIKE, scene, scenes.COLD, 10_000, Figures(tuple(Sample(wall * each, 1, 1, 1) for each in slow))
        )
        for scene, wall in ((scenes.RENDER_ABSENT, 10.0), (scenes.RENDER_TWO, 6.0))
    ]
    (floor,) = [floor for floor in floors.FLOORS if "two workers" in floor.text]
    assert floor.measure(Results(tuple(rows))) == pytest.approx(0.6)
    jump = replace(rows[0], figures=Figures((Sample(5.0, 1, 1, 1), *rows[0].figures.samples[1:])))
    assert floor.measure(Results((jump, rows[1]))) == pytest.approx(0.6), "one turn that was disturbed says nothing"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.012345, "0.0123"), (0.1234, "0.123"), (1.234, "1.23"), (12.34, "12.3"), (1234.4, "1,234"), (0, "0.0000")],
)
def test_numbers(value: float, text: str) -> None:
    assert report.number(value) == text


def test_a_table() -> None:
    assert report.table(["what", "s"], [["a long name", "1"], ["b", "10.25"]]) == (
        "| what        |     s |\n| ----------- | ----: |\n| a long name |     1 |\n| b           | 10.25 |\n"
    )
    with pytest.raises(ValueError, match="cells"):
        report.table(["a", "b"], [["only one"]])


def test_flavours_stand_side_by_side() -> None:
    rows = [
        scenes.Row(fleet.LIKE, scenes.VALIDATE, scenes.COLD, 100, figures(2.0)),
        scenes.Row(fleet.EVERYTHING, scenes.VALIDATE, scenes.COLD, 100, figures(4.0)),
        scenes.Row(fleet.LIKE, scenes.DIFF, scenes.WARM, 100, figures(1.0)),
    ]
    header, _, first, second = report.scene_table(rows).splitlines()
    assert cells(header)[2] == "like for like: wall s" and cells(header)[6] == "everything: wall s"
    assert cells(first) == [
        "validate",
        "cold",
        "2.00 / 3.00",
        "2.50",
        "50.0",
        "20.0",
        "4.00 / 6.00",
        "5.00",
        "50.0",
        "40.0",
    ]
    assert cells(second)[6:] == ["", "", "", ""]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split(" | ")]


def test_growth() -> None:
    lines = report.growth_table(everything_measured(0.001)).splitlines()[2:]
    assert [cells(line)[:3] for line in lines[:2]] == [
        ["like for like", "1", "1,000"],
        ["like for like", "1,000", "10,000"],
    ]
    assert cells(lines[1])[-1] == "10.0"
    assert report.growth_table(Results()) == ""


def test_the_page() -> None:
    where = machine.Machine("A processor", 2, 24.0, "Linux 6.1", "ext4", "3.11.7")
    text = report.page(everything_measured(0.001), where.sentence, [("helm", "v3.22.0")], "make bench ARGS=...")
    assert "on: A processor, 2 cores, 24 GiB, Linux 6.1, ext4, Python 3.11.7." in text
    assert re.search(r"\| helm +\| v3\.22\.0 \|", text)
    titles = re.findall(r"(?m)^## (.+)$", text)
    expected = ["What is measured", "Targets", "From process start", "1 job", "1,000 jobs", "10,000 jobs", "Growth"]
    assert titles == [*expected, "Other tools", "Rules of the CRDs", "Notes"]
    assert r"a \|\| b" in text, "a bar in a cell is escaped"
    blocks = [block.splitlines() for block in text.split("\n\n") if block.startswith("|")]
    assert len(blocks) == 9
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block}) == 1, block[0]
    assert "\n\n\n" not in text


def test_the_machine_names_nobody() -> None:
    found = machine.here(Path.cwd())
    assert found.cores >= 1 and found.memory > 0
    assert platform_node() not in found.sentence
    assert machine.plain_release("6.1.0-somebody-42") == "6.1.0"
    assert machine.plain_release("") == ""


def platform_node() -> str:
    import platform

    return platform.node() or "no name at all"


def test_the_file_system_is_that_of_the_nearest_mount() -> None:
    mounts = "root / ext4 rw 0 0\ntmp /scratch tmpfs rw 0 0\nnew / overlay rw 0 0\n"
    assert machine.filesystem_of(Path("/scratch/a"), mounts) == "tmpfs"
    assert machine.filesystem_of(Path("/scratches"), mounts) == "overlay"


def test_versions_are_read_from_the_build() -> None:
    said = "helm: go1.26.8\n\tpath\thelm.sh/helm/v3/cmd/helm\n\tmod\thelm.sh/helm/v3\tv3.22.0\th1:x=\n"
    assert peers.built_from(said, "helm.sh/helm/v3") == "v3.22.0"
    assert peers.built_from(said, "helm.sh/helm") == "unknown"


def test_every_peer_has_a_pinned_version() -> None:
    assert {peer.name for peer in peers.PEERS} == {*contest.RENDERERS, *contest.CHECKERS}
    for peer in peers.PEERS:
        assert re.fullmatch(r"v\d+\.\d+\.\d+", peer.version)
        assert peer.package.startswith(peer.module)


def test_what_is_not_installed_cannot_be_asked_for() -> None:
    module = main_module()
    able = {"helm": "", "kustomize": "not installed", contest.CHAIN: ""}
    assert module.chosen("all", able) == ["helm", contest.CHAIN]
    assert module.chosen("none", able) == []
    assert module.chosen(f"helm; {contest.CHAIN}", able) == ["helm", contest.CHAIN]
    with pytest.raises(BenchError, match="kustomize: not installed"):
        module.chosen("kustomize", able)
    with pytest.raises(BenchError, match="no such peer"):
        module.chosen("make", able)


def test_the_command_line() -> None:
    module = main_module()
    options = module.arguments(["--jobs", "1000,1,100", "--flavours", "like", "--folder", "somewhere", "--runs", "5"])
    assert options.jobs == (1, 100, 1000)
    assert options.flavours == (fleet.LIKE,)
    assert "somewhere" not in module.spelt(options)
    assert module.spelt(options).startswith('make bench ARGS="--jobs 1,100,1000 --peers none --runs 5 --write"')
    assert (options.runs, options.seconds) == (5, float("inf"))
    assert module.arguments([]).seconds == module.SECONDS
    for wrong in ("0", "a", "", "1,-5"):
        with pytest.raises(argparse.ArgumentTypeError):
            module.sizes(wrong)
    with pytest.raises(argparse.ArgumentTypeError):
        module.flavours("vanilla")
