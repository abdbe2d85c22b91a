"""Asks Kubernetes' own code what it refuses in a Job (tests/oracle/pods), and keeps its answers.

``python tests/checks/pods_oracle.py`` (with compiler/ and tests/ on PYTHONPATH) records them anew; that needs Go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from job_cases import mixed_specs, single_specs

from oracle import gotools

ORACLE = gotools.ORACLE / "pods"
BINARY = ORACLE / "pods"
ANSWERS = Path(__file__).parent / "answers.json"
SEED, MIXED = 7, 60

Answer = list[str] | None
"""The texts of all errors, sorted; None where the server panics."""


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    return gotools.missing(ORACLE, "k8s.io/kubernetes")


def ask(specs: Iterable[dict[str, Any]]) -> list[Answer]:
    """Return what the server says of a Job with each spec, its metadata aside."""
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job-node-0", "namespace": "team"}}
    answers = gotools.ask([BINARY], ({**head, "spec": spec} for spec in specs))
    return [_texts(answer) for answer in answers]


def _texts(answer: list[dict[str, str]]) -> Answer:
    if any(error["type"] == "Panic" for error in answer):
        return None
    assert not any(error["type"] == "Not decodable" for error in answer), answer
    # The labels of the Job itself are the template's, by a default; what is wrong with them is told there.
    return sorted({error["text"] for error in answer if not error["field"].startswith("metadata")})


def recorded_specs() -> list[dict[str, Any]]:
    """Return the specs whose answers are kept."""
    return [*single_specs(), *mixed_specs(MIXED, SEED)]


def record() -> str:
    """Return the text of the answers."""
    return json.dumps(ask(recorded_specs()), indent=0, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    gotools.build(ORACLE)
    ANSWERS.write_text(record(), encoding="utf-8")
