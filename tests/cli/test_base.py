"""Revisions that `trainc diff` and `trainc validate --base` compare; sessions/base and sessions/diff show the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small import Run, job

from folders import deep_folders, put
from gitrepo import commit, git, needs_git
from trainc.project import revisions

pytestmark = needs_git


def test_sarif_names_files_of_a_revision(repository: Path, run: Run) -> None:
    assert run("render").exit_code == 0
    commit(repository)
    put(repository, "jobs/a/one.yaml", job("one").replace("trainer: {}", "trainer: {numNodes: 4}"))
    located = json.loads(run("validate", "--base", "HEAD", "--format", "sarif").stdout)["runs"][0]["results"][0]
    names = [place["logicalLocations"][0]["fullyQualifiedName"] for place in located["relatedLocations"]]
    assert names == ["HEAD:jobs/a/one.yaml", "HEAD:out/prod/a/one/jobset-one.yaml"]


def test_a_file_of_the_base_that_lost_its_header(repository: Path, run: Run) -> None:
    """As after a correction of out/ by hand: a cluster has the object. What is no object at all is not compared."""
    assert run("render").exit_code == 0
    file = repository / "out/prod/a/one/jobset-one.yaml"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[2:]))
    for name, text in {"jobset-a": "a: b\n", "configmap-b": "- a\n", "jobset-c": "{{ x }}\n", "secret-d": ""}.items():
        put(repository, f"out/prod/a/one/{name}.yaml", text)
    commit(repository)
    for name in ("a/one/jobset-one", "a/one/jobset-a", "a/one/configmap-b", "a/one/jobset-c"):
        (repository / f"out/prod/{name}.yaml").unlink()
    put(repository, "jobs/a/one.yaml", job("one").replace("trainer: {}", "trainer: {numNodes: 4}"))
    assert run("render").exit_code == 0
    result = run("validate", "--base", "HEAD")
    assert (result.exit_code, "error[TC204]: the JobSet is refused" in result.stdout) == (1, True)


def test_files_of_others_in_the_base_do_not_show_what_its_jobs_emit(repository: Path, run: Run) -> None:
    """As in a repository without out/, but for a file that trainc.yaml lists as unmanaged."""
    put(repository, "out/prod/a/more/resourcequota-q.yaml", "apiVersion: v1\nkind: ResourceQuota\n")
    commit(repository)
    assert "HEAD:out/prod:1:1: note[TC018]: no objects are committed" in run("validate", "--base", "HEAD").stdout


def test_of_two_files_of_one_object_in_the_base_the_last_counts(repository: Path, run: Run) -> None:
    """As for Argo CD."""
    changed = job("one").replace("trainer: {}", "trainer: {numNodes: 4}")
    file = repository / "out/prod/a/one/jobset-one.yaml"
    texts = []
    for text in (changed, job("one")):
        put(repository, "jobs/a/one.yaml", text)
        assert run("render").exit_code == 0
        texts.append(file.read_text())
    put(repository, "out/prod/a/one/jobset-one-old.yaml", texts[0])
    commit(repository)
    put(repository, "jobs/a/one.yaml", changed)
    assert run("render").exit_code == 0
    assert "error[TC204]: the JobSet is refused" in run("validate", "--base", "HEAD").stdout


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize("arguments", [("validate", "--base", "HEAD"), ("diff", "--base", "HEAD")])
def test_folders_below_policies_that_are_too_deep(repository: Path, run: Run, arguments: tuple[str, ...]) -> None:
    """More in each other than Python walks; git takes up to 2,000."""
    assert run("render").exit_code == 0
    commit(repository)
    with deep_folders(put(repository, "policies/readme.txt", "").parent, 1000) as deep:
        put(deep, "readme.txt", "")
        git(repository, "add", "--all")
        result = run(*arguments)
    assert (result.exit_code, "TC902" in result.output) == (1 if arguments[0] == "validate" else 0, False), (
        result.output
    )
    assert "error[TC011]: more than 10 folders in each other" in result.output or arguments[0] == "diff"


@pytest.mark.parametrize("option", ["--base", "--policies-from"])
def test_a_revision_without_a_project(repository: Path, run: Run, option: str) -> None:
    text = job("one", runtime="torch-distributed")
    put(repository / "old", "jobs/a/one.yaml", text)
    commit(repository)
    put(repository / "new", "jobs/a/one.yaml", text)
    assert "no project" not in run("validate", option, "HEAD", "--root", "old").stdout
    result = run("validate", option, "HEAD", "--root", "new")
    message = "no project in this folder at that revision: nothing is compared, and no policy of it applies"
    assert (result.exit_code, result.stdout.count(f"HEAD:trainc.yaml:1:1: note[TC018]: {message}\n")) == (0, 1)


@pytest.mark.parametrize("command", [("diff",), ("validate", "--base", "main")])
def test_no_repository(command: tuple[str, ...], repository: Path, run: Run) -> None:
    result = run(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no git repository here: not a git repository" in result.stderr


def test_a_branch_that_moves_while_it_is_read(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """out/ and the inputs are those of one commit."""
    assert run("render").exit_code == 0
    commit(repository)
    read = revisions.read_output

    def late(*args: Any) -> Any:
        found = read(*args)
        put(repository, "trainc.yaml", "environments: {prod: {}}\nseverities: {TC412: ignore}\n")
        commit(repository)
        return found

    monkeypatch.setattr(revisions, "read_output", late)
    assert "TC412" in run("diff").stdout
