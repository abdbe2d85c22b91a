"""The path of a team with jobs of other operators: a new repository, all jobs imported, rendered and checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_import_cases import CASES

from effort import THOROUGH
from trainc.cli.root import trainc

CLASSES = """\
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: {name}}}
value: 100
"""
"""A note of the import asks for the priority classes of gang-scheduled jobs."""


def run(*arguments: str) -> str:
    result = CliRunner().invoke(trainc, arguments, prog_name="trainc")
    assert result.exit_code == 0, result.output
    return result.output


def jobs_to_import() -> list[Path]:
    """Return the cases without errors that the starter policies accept; of two that become the same file, the first."""
    found: dict[str, Path] = {}
    for path in CASES:
        new = re.search("(?m)^>>> (jobs/.*)", expected := path.with_suffix(".txt").read_text(encoding="utf-8"))
        is_refused = re.search("hostNetwork|hostPath|hostIPC|:latest", path.read_text(encoding="utf-8"))
        if new and not is_refused and "error[" not in expected and not path.stem.startswith("trainer-"):
            found.setdefault(new[1], path)
    return list(found.values())


def test_a_repository_of_v1_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "--yes", "--policies")
    jobs = jobs_to_import()
    if not THOROUGH:
        jobs = sorted(jobs, key=lambda path: path.stat().st_size)[:30]
    assert len(jobs) >= 30
    for path in jobs:
        put = tmp_path / "old" / path.name
        put.parent.mkdir(exist_ok=True)
        put.write_bytes(path.read_bytes())
    assert "wrote " in run("import", "--write", "old")
    assert len(list((tmp_path / "jobs").glob("*/*.yaml"))) >= len(jobs)
    classes = "---\n".join(CLASSES.format(name=name) for name in ("batch", "high", "training", "urgent"))
    with next((tmp_path / "runtimes").glob("*.yaml")).open("a", encoding="utf-8") as runtime:
        runtime.write(f"---\n{classes}")
    run("render")
    run("render", "--check")
    run("policy", "test")
    assert "nothing to write" in run("import", "--write", "old")
    assert "nothing to import" in run("import", "--write", "jobs", "runtimes")
