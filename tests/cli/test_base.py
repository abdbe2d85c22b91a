"""`trainc validate --base`, with a repository whose first commit holds what trainc rendered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import Run, job, put

from gitrepo import commit, needs_git

pytestmark = needs_git
PATH = "jobs/a/one.yaml"
NODES = "  trainer:\n    numNodes: {}\n"


def trainjob(nodes: int = 2, extra: str = "") -> str:
    return job("one").replace("  trainer: {}\n", NODES.format(nodes)) + extra


@pytest.fixture(autouse=True)
def base(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """Render one job and commit everything."""
    for name in ("a/two", "b/three"):
        (repository / f"jobs/{name}.yaml").unlink()
    put(repository, PATH, trainjob())
    return again(repository, run)


def again(repository: Path, run: Run) -> str:
    """Render and commit what is there now."""
    assert run("render").exit_code == 0
    return commit(repository)


def test_the_findings_for_programs(repository: Path, run: Run) -> None:
    put(repository, PATH, trainjob(4))
    warning, error = json.loads(run("validate", "--base", "HEAD", "--format", "json").stdout)
    assert (warning["stage"], error["stage"]) == (None, "jobset-webhook")
    assert warning["upstream"] == 'spec.trainer: Invalid value: "object": field is immutable'
    assert error["upstream"].startswith('spec.replicatedJobs: Invalid value: [{"name":"node","groupName":"default",')
    assert error["upstream"].endswith("]: field is immutable")
    assert (error["found"], error["expected"]) == ("4", "2")
    assert [(place["file"], place["line"], place["message"]) for place in error["related"]] == [
        ("HEAD:jobs/a/one.yaml", 7, "the input at HEAD"),
        ("HEAD:out/prod/a/one/jobset-one.yaml", 26, "at HEAD"),
    ]
    located = json.loads(run("validate", "--base", "HEAD", "--format", "sarif").stdout)["runs"][0]["results"][1]
    names = [place["logicalLocations"][0]["fullyQualifiedName"] for place in located["relatedLocations"]]
    assert names == ["HEAD:jobs/a/one.yaml", "HEAD:out/prod/a/one/jobset-one.yaml"]


def test_no_repository(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "plain"
    put(root, PATH, job("one"))
    monkeypatch.chdir(root)
    result = run("validate", "--base", "main")
    assert result.exit_code == 2
    assert "Invalid value for '--base': no git repository here: not a git repository" in result.stderr
    assert result.stderr.endswith("\nHint: run trainc where the repository is checked out.\n")
