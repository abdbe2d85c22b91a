"""The files that -o names: links that a pull request brings, names that are not UTF-8, disks that are full."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from small import Run, job

from folders import put

COMMANDS = (("report", "-o", "made/x"), ("schema", "--all", "-o", "made"), ("package", "-o", "made/x"))
PYTORCHJOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: old, namespace: team}
spec:
  pytorchReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: pytorch, image: "example.com/img:1"}]}}}
"""
OUTSIDE = "symbolic link that leads out of the project, not followed"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    put(root, "trainc.yaml", "environments: {prod: {}}\n")
    put(root, "jobs/team/one.yaml", job("one", runtime="torch-distributed"))
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_nothing_is_written_through_a_link_out_of_the_project(
    project: Path, tmp_path: Path, run: Run, arguments: tuple[str, ...]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "made").symlink_to(outside)
    result = run(*arguments)
    assert (result.exit_code, list(outside.iterdir())) == (2, [])
    assert result.stderr.endswith(f": {OUTSIDE}\n")
    (project / "made").unlink()
    (project / ".git/hooks").mkdir(parents=True)
    (project / "made").symlink_to(".git/hooks")
    assert (run(*arguments).exit_code, list((project / ".git/hooks").iterdir())) == (2, [])


@pytest.mark.parametrize("folder", [".git", ".git/hooks", "jobs/../.GIT/x", ".git./x"])
@pytest.mark.parametrize(
    "arguments",
    [
        *((*arguments[:-1], "{}/x") for arguments in COMMANDS),
        ("import", "jobs/team/one.yaml", "-o", "{}"),
        ("image", "build", "--output", "{}"),
        ("new", "job", "two", "--runtime", "torch-distributed", "--root", "{}"),
        ("init", "{}"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_nothing_is_written_to_the_folder_of_git(
    project: Path, run: Run, arguments: tuple[str, ...], folder: str
) -> None:
    put(project, ".git/hooks/update", "")
    put(project, ".git./x/y", "")
    put(project, ".GIT/x/y", "")
    result = run(*(each.format(folder) for each in arguments))
    assert (result.exit_code, "a .git folder" in " ".join(result.stderr.split())) == (2, True)
    assert [path.name for path in (project / ".git").rglob("*")] == ["hooks", "update"]


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize(
    "arguments",
    [*((*arguments[:-1], "{}") for arguments in COMMANDS), ("import", "old.yaml", "-o", "{}"), ("render",)],
    ids=lambda arguments: arguments[0],
)
def test_more_new_folders_in_each_other_than_python_creates(
    project: Path, run: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    put(project, "old.yaml", PYTORCHJOB)
    folders = "a/" * 1500 + "x"
    monkeypatch.setenv("TRAINC_CACHE_DIR", f"{project}/{folders}")  # without a cache, render is only slower
    result = run(*(each.format(folders) for each in arguments))
    assert not (project / "a").exists()
    if arguments == ("render",):
        assert result.exit_code == 0, result.output
    else:
        assert (result.exit_code, result.stderr.endswith("too many folders in each other\n")) == (2, True), (
            result.stderr
        )


def test_a_link_in_the_place_of_the_page_is_replaced(project: Path, tmp_path: Path, run: Run) -> None:
    victim = put(tmp_path, "victim", "kept")
    (project / "report.html").symlink_to(victim)
    assert run("report").exit_code == 0
    assert victim.read_text(encoding="utf-8") == "kept"
    assert not (project / "report.html").is_symlink()
    assert "<!doctype html>" in (project / "report.html").read_text(encoding="utf-8")


def test_a_package_is_not_made_behind_a_link(project: Path, tmp_path: Path, run: Run) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / "build").mkdir()
    (project / "build/.package.making").symlink_to(outside)
    assert run("package").exit_code == 0
    assert list(outside.iterdir()) == []
    assert [path.name for path in (project / "build").iterdir()] == ["package"]


def test_a_page_is_written_completely_or_not_at_all(project: Path, run: Run) -> None:
    put(project, "report.html", "the old one")
    project.chmod(0o500)
    try:
        result = run("report")
    finally:
        project.chmod(0o700)
    if os.geteuid():
        assert (result.exit_code, (project / "report.html").read_text(encoding="utf-8")) == (2, "the old one")
        assert result.stderr == "trainc: error: report.html: Permission denied\n"
    full = run("report", "-o", "/dev/full")
    assert full.exit_code == 2
    assert "No space left on device" in full.stderr


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems refuse such names")
def test_a_name_that_is_not_utf_8_is_a_finding(project: Path, run: Run) -> None:
    for name in (b"\xff.yaml", b"\xfe.txt"):
        put(project, os.fsdecode(b"jobs/team/" + name), job("two", runtime="torch-distributed"))
    (project / os.fsdecode(b"jobs/\xfd")).mkdir()
    expected = [
        "jobs/\\xfd:1:1: error[TC011]: the name is not UTF-8",
        "jobs/team/\\xff.yaml:1:1: error[TC011]: the name is not UTF-8",
    ]
    for command in (("validate",), ("render", "--check"), ("package",)):
        result = run(*command)
        shown = [line for line in (result.stdout + result.stderr).splitlines() if "error[" in line]
        assert (result.exit_code, shown) == (1, expected), command
    assert run("report").exit_code == 0
    given = run("validate", os.fsdecode(b"jobs/team/\xff.yaml"))
    assert given.exit_code == 1
    assert expected[1] in given.stdout + given.stderr
