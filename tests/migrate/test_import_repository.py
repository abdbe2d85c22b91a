"""The path of a team with jobs of other operators: a new repository, all jobs imported, rendered and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from effort import THOROUGH
from importcases import CLASSES, jobs_to_import
from trainc.cli.root import trainc


def run(*arguments: str) -> str:
    result = CliRunner().invoke(trainc, arguments, prog_name="trainc")
    assert result.exit_code == 0, result.output
    return result.output


def test_a_repository_of_v1_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "--yes", "--policies")
    jobs = jobs_to_import()
    if not THOROUGH:
        jobs = sorted(jobs, key=lambda path: path.stat().st_size)[:10]
    assert len(jobs) >= 10
    for path in jobs:
        put = tmp_path / "old" / path.name
        put.parent.mkdir(exist_ok=True)
        put.write_bytes(path.read_bytes())
    assert "wrote " in run("import", "--write", "old")
    assert len(list((tmp_path / "jobs").glob("*/*.yaml"))) >= len(jobs)
    with next((tmp_path / "runtimes").glob("*.yaml")).open("a", encoding="utf-8") as runtime:
        runtime.write(f"---\n{CLASSES}")
    run("render")
    run("render", "--check")
    run("policy", "test")
    assert "nothing to write" in run("import", "--write", "old")
    assert "nothing to import" in run("import", "--write", "jobs", "runtimes")


def test_nothing_at_all_is_no_success() -> None:
    result = CliRunner().invoke(trainc, ["import", "-"], input="# a chart that is off\n", prog_name="trainc")
    assert (result.exit_code, "error[TC014]: no document found" in result.output) == (2, True)
