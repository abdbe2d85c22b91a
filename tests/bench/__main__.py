"""Measures trainc on fleets of jobs, against an earlier checkout and beside other tools. ``make bench`` runs it.

    make bench                                                        small fleets, a few minutes
    make bench ARGS="--base ../base --scenes 'render, out/ absent'"   one scene, in turns with another checkout
    make bench ARGS="--base ../base --jobs 1,1000,4000,10000 --peers all --write"    what docs/benchmarks.md shows
    make bench ARGS="--load --jobs 1000,10000,100000 --flavours everything"          what docs/trust.md shows

Other tools come from ``python tests/bench/peers.py``. Nothing is asserted without --enforce.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "oracle"))

import contest  # noqa: E402 - the path first
import fleet  # noqa: E402
import machine  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import scenes  # noqa: E402
import targets  # noqa: E402
from skeletons import skeletons  # noqa: E402
from stopwatch import BenchError, Effort, load  # noqa: E402

PAGE = ROOT / "docs" / "benchmarks.md"
PEERS_UP_TO = 1000
"""The size that the targets are about: peers take minutes beyond it."""


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--base", type=Path, help="another checkout of trainc, whose scenes run in turns with ours")
    add("--jobs", type=sizes, default=(1, 100, 1000), help="sizes of fleets (default 1,100,1000)")
    add("--flavours", type=flavours, default=fleet.FLAVOURS, help="like, everything (default both)")
    add(
        "--load",
        action="store_true",
        help="other scenes: killed runs, validate, diff and report, of jobs that share files",
    )
    add("--scenes", default="", help="only scenes whose name contains this text")
    add("--runs", type=int, default=5, help="most runs of a scene (default 5)")
    add("--seconds", type=float, default=30, help="no further run of a scene after so long (default 30)")
    names = "; ".join(contest.NAMES)
    add("--peers", default="none", help=f"all that are installed, none, or names: {names} (default none)")
    add("--peers-up-to", type=int, default=PEERS_UP_TO, help=f"largest fleet for peers (default {PEERS_UP_TO})")
    add("--tools", type=Path, default=peers.FOLDER, help="where the peers are (default build/peers)")
    add("--folder", type=Path, help="where to write fleets (default: a temporary folder)")
    add("--write", action="store_true", help="write docs/benchmarks.md")
    add("--enforce", action="store_true", help="exit 1 if a target that was measured is missed")
    return parser.parse_args(words)


def sizes(text: str) -> tuple[int, ...]:
    """Read 1,100,1000. ArgumentTypeError for anything else."""
    try:
        found = tuple(sorted({int(each) for each in text.split(",")}))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers") from None
    if found[0] < 1:
        raise argparse.ArgumentTypeError("a fleet has at least one job")
    return found


def flavours(text: str) -> tuple[str, ...]:
    """Read a list of flavours, by the beginnings of their names. ArgumentTypeError for an unknown one."""
    found = [each for word in text.split(",") for each in fleet.FLAVOURS if word and each.startswith(word)]
    if len(found) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: flavours are {', '.join(fleet.FLAVOURS)}")
    return tuple(found)


def chosen(text: str, available: dict[str, str]) -> list[str]:
    """Return the peers that --peers names, of those ``available`` without a reason against. BenchError for others."""
    if text in ("none", "all"):
        return [name for name, reason in available.items() if text == "all" and not reason]
    names = [name.strip() for name in text.split(";" if ";" in text else ",")]
    for name in names:
        if reason := available.get(name, f"unknown peer; names are {'; '.join(available)}"):
            raise BenchError(f"{name}: {reason}")
    return names


class Run:
    """One run of the benchmark: prints its progress and collects figures."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        if options.base and not (options.base / ".venv/bin/trainc").exists():
            raise BenchError(f"--base {options.base}: .venv/bin/trainc not found; run make setup there")
        self.effort = Effort(options.runs, options.seconds)
        self.binaries = peers.present(options.tools)
        available = {} if options.peers == "none" else contest.available(self.binaries)
        self.peers = chosen(options.peers, available)
        for name, reason in available.items():
            if reason and options.peers == "all":
                progress(f"without {name}: {reason}")
        self.bouts: list[contest.Bout] = []

    def measure(self) -> targets.Results:
        """Measure everything that the options name."""
        own = () if self.options.load else scenes.OWN_SCENES
        rows = list(self._rows(self._sites(self.folder / "own", 0, "", own=True), own))
        for size in self.options.jobs:
            for flavour in self.options.flavours:
                sites = self._sites(self.folder / f"{flavour.split(maxsplit=1)[0]}-{size}", size, flavour)
                rows += self._rows(sites, scenes.LOAD_SCENES if self.options.load else scenes.SCENES)
                self.bouts += self._contests(sites[0])
        return targets.Results(rows, self.bouts)

    def _sites(self, root: Path, size: int, flavour: str, *, own: bool = False) -> tuple[scenes.Site, ...]:
        checkouts = [ROOT, *([self.options.base.resolve()] if self.options.base else [])]
        return tuple(
            scenes.Site(
                *(root / str(number), size, flavour),
                checkout=path,
                repository=path if own else None,
                files=fleet.Files.MIXED if self.options.load else fleet.Files.OWN,
            )
            for number, path in enumerate(checkouts)
        )

    def _rows(self, sites: tuple[scenes.Site, ...], chosen: tuple[scenes.Scene, ...]) -> Iterator[scenes.Row]:
        site = sites[0]
        title = f"{site.size:,} jobs, {site.flavour}" if site.size else "this repository"
        progress(f"{title}; load {load():.1f}")
        for row in scenes.play(sites, self.effort, lambda name: self.options.scenes in name, chosen):
            base = f", base {report.seconds(row.base)}" if row.base else ""
            progress(f"  {row.scene}, {row.cache}: {report.seconds(row.figures)} s{base}")
            yield row

    def _contests(self, site: scenes.Site) -> Iterator[contest.Bout]:
        names = self.peers if site.flavour == fleet.LIKE else [name for name in self.peers if name == "helm"]
        if names and site.size <= self.options.peers_up_to:
            for bout in contest.bouts(contest.Arena(site, skeletons(), self.binaries), names, self.effort):
                progress(f"  {bout.peer}, out/ {bout.out}: {report.number(bout.wall_ratio)} times; load {load():.1f}")
                yield bout

    def versions(self) -> Iterator[tuple[str, str]]:
        """Yield name and version of what takes part."""
        yield "trainc", importlib.metadata.version("trainc")
        used = {name for bout in self.bouts for name in bout.peer.replace(" and ", ", ").split(", ")}
        for peer in peers.PEERS:
            if peer.name in used:
                yield peer.name, peers.version(self.binaries[peer.name], peer.module)


def command(options: argparse.Namespace) -> str:
    """Return the command of a run, without folders of this machine."""
    base = "--base ../base " if options.base else ""
    peers = f"'{options.peers}'" if " " in options.peers else options.peers
    jobs = ",".join(map(str, options.jobs))
    effort = f"--runs {options.runs} --seconds {options.seconds:g}"
    return f'make bench ARGS="{base}--jobs {jobs} --peers {peers} {effort} --write"'


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Measure, print, and write the page on request."""
    options = arguments()
    before = load()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:  # removed at the end alone: see Site.clear
        folder = Path(name)
        try:
            run = Run(options, folder)
            results = run.measure()
        except BenchError as error:
            progress(f"error: {error}")
            return 2
        where = machine.describe(folder)
    where += f" Load average {before:.1f} before, {load():.1f} after (what is measured included)."
    print(f"{where}\n")
    for title, text in report.sections(results, whole=False):
        print(f"{title}\n\n{text}")
    if options.write:
        PAGE.write_text(report.page(results, where, run.versions(), command(options)), encoding="utf-8")
    return 1 if options.enforce and targets.missed(results) else 0


if __name__ == "__main__":
    sys.exit(main())
