"""What runs of the benchmark have measured, kept for further ones: of the same code on the same machine figures add up.

On a machine that is busy with others one run meets good and bad minutes; the least of several runs says what ours cost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from contest import Bout
from crdrules import Findings
from growth import Growth, Turn
from results import Results
from scenes import Row
from stopwatch import Figures, Pair, Sample

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "build" / "bench.json"


def fingerprint(machine: str, root: Path = ROOT) -> str:
    """Return what a machine and the code of trainc and of its benchmark come to."""
    found = hashlib.sha256(machine.encode())
    package = (path for path in (root / "compiler" / "trainc").rglob("*") if path.suffix in (".py", ".json"))
    for path in sorted((*package, *(root / "tests" / "bench").glob("[!t]*.py"))):
        found.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def add(results: Results, mark: str, file: Path = FILE) -> Results:
    """Return the results with those kept under the same mark, and keep the sum; others are forgotten."""
    kept = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if kept.get("mark") == mark:
        results = read(kept["results"]).joined(results)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mark": mark, "results": write(results)}) + "\n", encoding="utf-8")
    return results


def write(results: Results) -> dict[str, Any]:
    """Return results as JSON; NamedTuples become lists."""
    return {
        "runs": results.runs,
        "rows": [[*row.key, row.figures.samples] for row in results.rows],
        "bouts": [[*each.key, each.pair.ours.samples, each.pair.theirs.samples] for each in results.bouts],
        "rules": results.rules,
        "growths": [[*each.key, each.turns] for each in results.growths],
    }


def read(kept: dict[str, Any]) -> Results:
    """Return the results that ``write`` made JSON of."""
    rows = (Row(*key, _figures(samples)) for *key, samples in kept["rows"])
    bouts = (Bout(*key, Pair(_figures(ours), _figures(theirs))) for *key, ours, theirs in kept["bouts"])
    growths = (Growth(*key, tuple(Turn(*turn) for turn in turns)) for *key, turns in kept["growths"])
    rules = None if kept["rules"] is None else Findings(*kept["rules"])
    return Results(tuple(rows), tuple(bouts), rules, tuple(growths), kept["runs"])


def _figures(samples: Iterable[Iterable[float]]) -> Figures:
    return Figures(tuple(Sample(*each) for each in samples))
