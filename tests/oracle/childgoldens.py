"""Asks JobSet's and Kubernetes' own code what becomes of JobSets: ``python tests/oracle/childgoldens.py``.

``policies/children.jsonl`` has lines ``{"jobset", "children"}``, the first Job and pod of every replicated job with the
server's defaults. The JobSets are kept as they are: two in which everything occurs that controllers and defaults look
at, and some of this repository. What admission plugins add to pods (tolerations, the service account) is not there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import gotools  # noqa: E402 - the folder above is not on the path of a script

GOLDENS = HERE / "policies" / "children.jsonl"
Json = Any


def answers(questions: list[Json]) -> list[list[Json]]:
    """Return the children of JobSets, in order: Job, pod, Job, pod."""
    jobs = gotools.ask("./created", questions)
    made = iter(gotools.ask("./made", [job for found in jobs for job in found], HERE / "pods"))
    return [[_plain(child) for _ in found for child in _both(next(made))] for found in jobs]


def _both(answer: Json) -> tuple[Json, Json]:
    return {"apiVersion": "batch/v1", "kind": "Job", **answer["job"]}, {
        "apiVersion": "v1",
        "kind": "Pod",
        **answer["pod"],
    }


def _plain(value: Json) -> Json:
    """Return what the server would send: Go's null is nothing."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def read() -> list[tuple[Json, list[Json]]]:
    """Return JobSets with their children."""
    rows = map(json.loads, GOLDENS.read_text(encoding="ascii").splitlines())
    return [(row["jobset"], row["children"]) for row in rows]


def main() -> int:
    """Write the goldens."""
    questions = [jobset for jobset, _ in read()]
    rows = zip(questions, answers(questions), strict=True)
    lines = [json.dumps({"jobset": one, "children": made}, separators=(",", ":")) + "\n" for one, made in rows]
    GOLDENS.write_text("".join(lines), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
