"""Mutation testing of the rooms that decide what a cluster gets: `make mutants ARGS="--rooms merge --count 40"`.

Results are lines of JSON in --results, one file per room: a run goes on where the last one ended, and tests survivors
without an explanation again after tests have changed. Ends with 1 if a room has fewer than 85 % of its mutants killed,
or a survivor without an explanation in survivors.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import campaign
import mutants

ROOT = Path(__file__).resolve().parents[2]
KILLED = 0.85
SURVIVORS = ROOT / "tests" / "mutation" / "survivors.md"
PACKAGE = ROOT / "compiler" / "trainc"

SCHEMA = ("walk", "structural", "values", "metadata", "formats", "alternatives", "native", "kinds", "admission")
CEL = ("codegen", "calls", "runtime", "values", "maps", "work", "library/*")
JOBS = (
    "plugins",
    "fixes",
    "gitops/kubexec/test_kubexec_objects.py",
    "pipeline",
    "errors",
    "test_goldens.py::test_golden",
    "test_integration_cases.py",
    "test_pairs.py",
)


class Room(NamedTuple):
    """The files of a room below compiler/trainc, and its tests below tests, which run in one process."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


ROOMS = {
    "join": Room(("plugins/join.py", "plugins/model.py"), JOBS),
    "plugins": Room(("plugins/[!jm]*.py", "plugins/jax.py", "plugins/jobset.py", "plugins/mpi/*.py"), JOBS),
    "merge": Room(("kube/merge.py",), ("kube",)),
    "quantities": Room(("kube/quantity.py",), ("kube",)),
    "walk": Room(
        tuple(f"schema/{name}.py" for name in SCHEMA),
        (
            "schema",
            "attack/test_growth_of_schemas.py",
            "errors",
            "checks",
            "test_memo.py",
            "test_goldens.py::test_golden",
        ),
    ),
    "cel": Room(tuple(f"cel/{name}.py" for name in CEL), ("cel", "test_celoracle.py", "policies")),
}


def files(room: str) -> list[str]:
    return sorted(
        {path.relative_to(PACKAGE).as_posix() for pattern in ROOMS[room].files for path in PACKAGE.glob(pattern)}
    )


def read(results: Path) -> dict[str, dict[str, Any]]:
    """Return the last result of each mutant by its name."""
    if not results.exists():
        return {}
    return {row["name"]: row for row in map(json.loads, results.read_text(encoding="utf-8").splitlines())}


def explained() -> set[tuple[str, str, str]]:
    """Return file and function, old and new of the survivors in survivors.md."""
    parts = [line.split("`") for line in SURVIVORS.read_text(encoding="utf-8").splitlines() if line.startswith("- `")]
    return {(part[1], part[3], part[5]) for part in parts if len(part) > 6}


def changed(mutant: mutants.Mutant) -> tuple[str, str, str]:
    """Return how a mutant is listed in survivors.md."""
    return f"{mutant.file}:{mutant.function}", mutant.old, mutant.new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rooms", default=",".join(ROOMS), help="rooms, separated by commas")
    parser.add_argument("--count", type=int, default=300, help="mutants per room")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "mutants", help="a folder")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end then, with what has been tested")
    parser.add_argument("--tests", default="", help="use only these tests of tests/, and note only whom they kill")
    parser.add_argument("--seconds", type=float, default=30.0, help="the time of the tests of a mutant")
    parser.add_argument("--report", action="store_true", help="only print the results")
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    os.chdir(ROOT)
    rooms, start = options.rooms.split(","), time.monotonic()
    if not options.report:
        for number, room in enumerate(rooms, 1):
            end = start + 60 * options.minutes * number / len(rooms)
            test(room, options, end)
    text, status = report(rooms, options.count, options.seed, options.results, whole=options.minutes == float("inf"))
    (options.results / "report.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return status


def say(text: str) -> None:
    campaign.LOG.write(f"{time.strftime('%H:%M:%S')} {text}\n")
    campaign.LOG.flush()


def test(room: str, options: argparse.Namespace, end: float) -> None:
    """Test a sample of the mutants of a room until a time and append their results to its file."""
    folder = options.results
    tests = options.tests.split(",") if options.tests else ROOMS[room].tests
    place = campaign.Place(PACKAGE, ROOT, tuple(str(ROOT / "tests" / name) for name in tests))
    texts = {file: place.text(file) for file in files(room)}
    alike = [other for other in ROOMS if ROOMS[other].tests == ROOMS[room].tests]
    cache = folder / f"profile-{alike[0]}{'-some' if options.tests else ''}.json"
    say(f"{room}: run its tests")
    all_files = [file for other in alike for file in files(other)]
    if (failed := campaign.forked(lambda: bool(campaign.profile(place, all_files, cache)), 10**6)) is not True:
        raise SystemExit(f"{room}: {failed}")
    profiled = json.loads(cache.read_text(encoding="utf-8"))
    sources = sorted((name, row["source"]) for name, row in profiled["tests"].items())
    state = hashlib.sha256(json.dumps([profiled["digest"], options.seconds, *sources]).encode()).hexdigest()[:8]
    done = read(folder / f"mutation-{room}.jsonl")
    sampled = mutants.sample(texts, options.count, options.seed)
    known = explained()
    survivors = [m for m in sampled if m.name in done and not is_killed(done[m.name]) and changed(m) not in known]
    waiting = [m for m in sampled if m.name not in done] + [m for m in survivors if done[m.name]["state"] != state]
    say(f"{room}: {len(waiting)} of {len(sampled)} mutants")

    def note(mutant: mutants.Mutant, outcome: campaign.Outcome, seconds: float) -> None:
        row = {**mutant._asdict(), **outcome._asdict(), "seconds": round(seconds, 1), "state": state}
        if is_killed(row) or not options.tests:
            with (folder / f"mutation-{room}.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")

    campaign.campaign(place, texts, waiting, campaign.Profile(profiled), note, most=options.seconds, end=end)


def is_killed(row: dict[str, Any]) -> bool:
    return row["status"] in ("killed", "timeout")


def report(rooms: list[str], count: int, seed: int, folder: Path, *, whole: bool) -> tuple[str, int]:
    """Return a table of the rooms and the survivors without an explanation, and the exit code.

    ``whole``: that is 1 also if a part of a sample has not been tested.
    """
    known, unexplained, poor = explained(), [], False
    lines = ["| room | mutants | killed | by timeout | survivors | explained | share | minutes |", "|---" * 8 + "|"]
    for room in rooms:
        done = read(folder / f"mutation-{room}.jsonl")
        texts = {file: (PACKAGE / file).read_text(encoding="utf-8") for file in files(room)}
        sampled = mutants.sample(texts, count, seed)
        rows = [(mutant, done[mutant.name]) for mutant in sampled if mutant.name in done]
        alive = [mutant for mutant, row in rows if not is_killed(row)]
        late = sum(row["status"] == "timeout" for _, row in rows)
        minutes = sum(row["seconds"] for _, row in rows) / 60
        number = str(len(rows)) if len(rows) == len(sampled) else f"{len(rows)} of {len(sampled)}"
        killed = len(rows) - len(alive)
        share = killed / len(rows) if rows else 1.0
        reasons = sum(changed(mutant) in known for mutant in alive)
        counts = f"{killed} | {late} | {len(alive)} | {reasons}"
        lines.append(f"| {room} | {number} | {counts} | {share:.1%} | {minutes:.0f} |")
        poor |= share < KILLED or (whole and len(rows) < len(sampled))
        for mutant in alive:
            if changed(mutant) not in known:
                status = f"line {mutant.lines[0]}, {done[mutant.name]['status']}"
                unexplained.append("- `{}`: `{}` → `{}`: ".format(*changed(mutant)) + status)
    return "\n".join([*lines, "", *unexplained]) + "\n", int(poor or bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
