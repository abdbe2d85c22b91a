"""Asks Kubernetes' own code what it refuses in a Job (tests/oracle/pods), and keeps its answers.

``python tests/checks/pods_oracle.py`` (with compiler/ and tests/ on PYTHONPATH) records them anew; that needs Go.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from job_cases import mixed_specs, single_specs

ORACLE = Path(__file__).parents[1] / "oracle" / "pods"
BINARY = ORACLE / "pods"
ANSWERS = Path(__file__).parent / "answers.json"
SEED, MIXED = 7, 60

Answer = list[str] | None
"""The texts of all errors, sorted; None where the server panics."""


class OracleError(Exception):
    """The oracle cannot be built, or broke down."""


def missing() -> str | None:
    """Say why the oracle cannot be built on this machine, or None if it can."""
    if shutil.which("go") is None:
        return "no Go toolchain (go is not on the PATH)"
    command = ["go", "mod", "download", "k8s.io/kubernetes"]
    done = subprocess.run(command, cwd=ORACLE, capture_output=True, text=True, check=False)
    return f"k8s.io/kubernetes is not there: {done.stderr.strip()[-300:]}" if done.returncode else None


def build() -> None:
    """Compile the oracle; minutes the first time, then Go's cache has it. Raises OracleError."""
    command = ["go", "build", "-o", BINARY.name, "."]
    done = subprocess.run(command, cwd=ORACLE, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OracleError(done.stderr)


def ask(specs: Iterable[dict[str, Any]]) -> list[Answer]:
    """Return what the server says of a Job with each spec, its metadata aside. Raises OracleError."""
    head = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job-node-0", "namespace": "team"}}
    lines = [json.dumps({**head, "spec": spec}) + "\n" for spec in specs]
    done = subprocess.run([BINARY], input="".join(lines), capture_output=True, text=True, check=False, encoding="utf-8")
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    if done.returncode or len(answers) != len(lines):
        raise OracleError(done.stderr[-2000:])
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
    """Return the text of the answers. Raises OracleError."""
    return json.dumps(ask(recorded_specs()), indent=0, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    build()
    ANSWERS.write_text(record(), encoding="utf-8")
