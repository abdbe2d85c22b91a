"""Measures trainc on fleets of jobs, and beside other tools. ``make bench`` runs it.

    make bench                                              small fleets, a few minutes
    make bench ARGS="--jobs 1,100,1000,10000 --peers all --runs 5 --write"    what docs/benchmarks.md shows

Other tools come from ``python tests/bench/peers.py``. Nothing is asserted without --enforce.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "oracle"))

import contest  # noqa: E402 - the path first
import crdrules  # noqa: E402
import fleet  # noqa: E402
import floors  # noqa: E402
import growth  # noqa: E402
import kept  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import scenes  # noqa: E402
from results import Results  # noqa: E402
from skeletons import skeletons  # noqa: E402
from stopwatch import BenchError, Effort, load  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
RUNS, SECONDS = 3, 5
"""Most runs of a scene, and seconds after which it is not run again, where nothing is said."""
PAIRS = scenes.TURNS
"""Fewest alternating runs of us and a peer."""
PEERS_UP_TO = 1000
"""The size that the targets are about: peers take minutes beyond it."""
STARTS = 20
"""Fewest runs of what depends on no fleet, before the fleets and after them."""
STEADY = 5
"""What is quick is run on for the seconds of a scene divided by this."""


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=sizes, default=(1, 100, 1000), help="sizes of fleets (default 1,100,1000)")
    parser.add_argument("--flavours", type=flavours, default=fleet.FLAVOURS, help="like, everything (default both)")
    parser.add_argument("--scenes", default="", help="only scenes whose name has this text")
    parser.add_argument("--runs", type=int, help=f"runs of a scene (default: {RUNS} within {SECONDS} seconds)")
    parser.add_argument(
        "--seconds",
        type=float,
        help="no further run of a scene after so long (with --runs: no such limit); what is quick is run more often, "
        f"for 1/{STEADY} of that",
    )
    parser.add_argument(
        "--peers",
        default="none",
        help="all that are there, none, or names: " + "; ".join(contest.NAMES) + " (default none)",
    )
    parser.add_argument(
        "--peers-up-to", type=int, default=PEERS_UP_TO, help=f"largest fleet for peers (default {PEERS_UP_TO})"
    )
    parser.add_argument("--tools", type=Path, default=peers.FOLDER, help="where the peers are (default build/peers)")
    parser.add_argument("--no-rules", action="store_true", help="do not time the rules of the CRDs")
    parser.add_argument("--folder", type=Path, help="where fleets are made (default: a temporary folder)")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument(
        "--keep",
        action="store_true",
        help="add to what build/bench.json keeps of runs of the same code on the same machine, and keep the sum",
    )
    parser.add_argument("--enforce", action="store_true", help="exit 1 if a target that was measured is missed")
    options = parser.parse_args(words)
    if options.seconds is None:
        options.seconds = SECONDS if options.runs is None else float("inf")
    options.runs = options.runs or RUNS
    return options


def sizes(text: str) -> tuple[int, ...]:
    """Read 1,100,1000. ArgumentTypeError for anything else."""
    try:
        found = tuple(sorted({int(each) for each in text.replace("_", "").split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers") from None
    if found[0] < 1:
        raise argparse.ArgumentTypeError("a fleet has at least one job")
    return found


def flavours(text: str) -> tuple[str, ...]:
    """Read a list of flavours, by the beginnings of their names. ArgumentTypeError for none such."""
    found = []
    for word in text.split(","):
        fits = [each for each in fleet.FLAVOURS if word and each.startswith(word)]
        if len(fits) != 1:
            raise argparse.ArgumentTypeError(f"{word!r} is no flavour: {', '.join(fleet.FLAVOURS)}")
        found += fits
    return tuple(found)


def chosen(text: str, able: dict[str, str]) -> list[str]:
    """Return the peers that --peers asks for. BenchError for one that is not there; "all" leaves those out."""
    if text == "none":
        return []
    if text == "all":
        return [name for name, reason in able.items() if not reason]
    names = [name.strip() for name in text.split(";" if ";" in text else ",")]
    for name in names:
        if able.get(name, "unknown"):
            raise BenchError(f"{name}: {able.get(name, 'no such peer; names are ' + '; '.join(able))}")
    return names


class Run:
    """One run of the benchmark: prints what it does, and collects figures."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        steady = options.seconds / STEADY if options.seconds != float("inf") else 0.0
        self.effort = Effort(options.runs, options.seconds, steady=steady)
        self.rows: list[scenes.Row] = []
        self.bouts: list[contest.Bout] = []
        self.sites: list[scenes.Site] = []
        self.binaries = peers.present(options.tools)
        self.peers: list[str] = []
        self.skipped: dict[str, str] = {}
        if options.peers != "none":
            able = contest.available(self.binaries)
            self.peers = chosen(options.peers, able)
            self.skipped = {name: reason for name, reason in able.items() if reason and options.peers == "all"}

    def measure(self) -> Results:
        """Measure everything that is asked for."""
        for name, reason in self.skipped.items():
            say(f"without {name}: {reason}")
        before = self._starts()
        for size in self.options.jobs:
            for flavour in self.options.flavours:
                self._fleet(size, flavour)
        grown = tuple(each for flavour in self.options.flavours for each in self._growths(flavour))
        rules = None
        if not self.options.no_rules:
            say("the rules of the CRDs")
            rules = crdrules.measure()
        starts = (row.joined(other) for row, other in zip(before, self._starts(), strict=True))
        return Results((*starts, *self.rows), tuple(self.bouts), rules, grown)

    def _starts(self) -> list[scenes.Row]:
        say("from process start")
        often = replace(self.effort, runs=max(self.options.runs, STARTS))
        return list(scenes.starts(self.folder, often, self._wanted))

    def _growths(self, flavour: str) -> list[growth.Growth]:
        if not self._wanted(growth.GROWTH):
            return []
        say(f"growth, {flavour}; load {load():.1f}")
        effort = Effort(max(self.options.runs, growth.TURNS))
        return growth.growths([site for site in self.sites if site.flavour == flavour], effort)

    def _wanted(self, name: str) -> bool:
        return self.options.scenes in name

    def _fleet(self, size: int, flavour: str) -> None:
        root = self.folder / f"{flavour.split(maxsplit=1)[0]}-{size}"
        say(f"{size:,} jobs, {flavour}; load {load():.1f}")
        site = scenes.Site(root, size, flavour)
        self.sites.append(site)
        for row in scenes.play(site, self.effort, self._wanted):
            self.rows.append(row)
            say(f"  {row.scene}, {row.cache}: {report.seconds(row.figures)} s of {len(row.figures.samples)}")
        for bout in self._contests(site):
            self.bouts.append(bout)
            say(f"  {bout.peer}, out/ {bout.out}: {report.number(bout.pair.wall_ratio)} times; load {load():.1f}")

    def _contests(self, site: scenes.Site) -> Iterator[contest.Bout]:
        names = self.peers if site.flavour == fleet.LIKE else [name for name in self.peers if name == "helm"]
        if not names or site.size > self.options.peers_up_to:
            return
        effort = replace(self.effort, runs=max(self.options.runs, PAIRS), least=PAIRS)
        yield from contest.bouts(contest.Arena(site, skeletons(), self.binaries), names, effort)

    def versions(self) -> Iterator[tuple[str, str]]:
        """Yield name and version of what takes part."""
        yield "trainc", importlib.metadata.version("trainc")
        for peer in peers.PEERS:
            used = {name for bout in self.bouts for name in bout.peer.replace(" and ", ", ").split(", ")}
            if peer.name in used:
                yield peer.name, peers.version(self.binaries[peer.name], peer.module)


def spelt(options: argparse.Namespace) -> str:
    """Write the command that these options come from, without folders of this machine."""
    words = [
        f"--jobs {','.join(map(str, options.jobs))}",
        f"--peers '{options.peers}'" if " " in options.peers else f"--peers {options.peers}",
        f"--runs {options.runs}",
        *([f"--seconds {options.seconds:g}"] if options.seconds != float("inf") else []),
        *([f"--peers-up-to {options.peers_up_to}"] if options.peers_up_to != PEERS_UP_TO else []),
        *(["--keep"] if options.keep else []),
        "--write",
    ]
    return f'make bench ARGS="{" ".join(words)}"'


def say(line: str) -> None:
    """Tell how far the run is."""
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measure, print, and write the page if asked to."""
    options = arguments()
    before = load()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:  # removed at the end alone: see Site.clear
        folder = Path(name)
        try:
            run = Run(options, folder)
            results = run.measure()
        except BenchError as error:
            say(f"error: {error}")
            return 2
        where = machine.here(folder)
    if options.keep:
        results = kept.add(results, kept.fingerprint(where.sentence))
    said = f"{where.sentence} Load average {before:.1f} before, {load():.1f} after (what is measured included)."
    print(f"{said}\n")
    for title, text in report.sections(results, whole=False):
        print(f"{title}\n\n{text}")
    if options.write:
        PAGE.write_text(report.page(results, said, run.versions(), spelt(options)), encoding="utf-8")
    return 1 if options.enforce and floors.missed(results) else 0


if __name__ == "__main__":
    sys.exit(main())
