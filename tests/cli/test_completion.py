"""Completion, as click's classes for the shells call it: it knows the repository, prints nothing and never fails."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class
from small import Process, job

from folders import put
from gitrepo import commit, needs_git
from trainc.cli.root import COMMANDS, trainc
from trainc.findings import CODES
from trainc.findings.fixes import NEW_RUN
from trainc.schema.field_help import roots


def items(*words: str) -> list[CompletionItem]:
    *before, last = words
    return ShellComplete(trainc, {}, "trainc", "_TRAINC_COMPLETE").get_completions(before, last)


def complete(*words: str) -> list[str]:
    found = items(*words)
    assert all(item.type == "plain" for item in found)
    return [item.value for item in found]


def test_jobs(repository: Path) -> None:
    assert complete("explain", "a") == ["a/one", "a/two"], "the only folder that matches is opened"
    assert complete("explain", "a/t") == ["a/two"]
    assert complete("explain", "b/") == ["b/three"]
    assert complete("explain", "") == [*sorted(CODES), *roots(), "a/", "b/"]
    assert complete("explain", "tc90") == [code for code in sorted(CODES) if code.startswith("TC90")]
    assert complete("explain", "x") == []


def test_jobs_to_run_again_and_codes_to_fix(repository: Path) -> None:
    assert complete("rerun", "a/one", "a/t") == ["a/two"]
    (other,) = items("rerun", "jobs/")
    assert other.type == "file"
    assert complete("fix", "--code", "TC20") == list(NEW_RUN)
    assert complete("fix", "--code", "tc101") == ["TC101"]
    assert complete("fix", "--code", "TC409") == [], "it has no fix"


def test_names_of_jobs_are_those_of_the_documents(repository: Path) -> None:
    put(
        repository, "jobs/b/many.yaml", f"{job('second')}---\n{job('third')}---\nkind: Secret\nmetadata: {{name: no}}\n"
    )
    assert complete("explain", "b/") == ["b/second", "b/third", "b/three"]
    assert complete("explain", "b/s") == ["b/second"]


def test_paths_of_jobs(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert complete("render", "") == ["jobs/a/", "jobs/b/"]
    assert complete("render", "--check", "jobs/a") == ["jobs/a/one.yaml", "jobs/a/two.yaml"]
    monkeypatch.chdir(repository / "jobs")
    assert complete("render", "b/") == ["b/three.yaml"]
    monkeypatch.chdir(repository / "runtimes")
    assert complete("render", "../jobs/a/o") == ["../jobs/a/one.yaml"]
    (other,) = items("render", "plain")
    assert (other.type, other.value) == ("file", "plain"), "the shell completes other files"


def test_kinds_with_a_schema(repository: Path) -> None:
    assert complete("schema", "t") == ["TrainJob", "TrainingRuntime", "trainc.yaml"]


def test_environments(repository: Path) -> None:
    for command in ("render", "build", "explain", "argocd", "flux"):
        assert complete(command, "--env", "") == ["prod"]
    put(repository, "trainc.yaml", "environments: {prod: {}, test: {wrong: 1}, stage: {}}\nwrong: 1\n")
    assert complete("render", "--env", "") == ["prod", "stage", "test"], "although the file does not fit its schema"
    assert complete("render", "--env", "s") == ["stage"]
    (repository / "trainc.yaml").unlink()
    assert complete("render", "--env", "") == ["prod"]


def test_the_project_of_root_is_used(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert complete("explain", "a/") == []
    for root in (str(repository), "../repository"):
        assert complete("explain", "--root", root, "a/") == ["a/one", "a/two"]
    assert complete("render", "--root", "../repository", "../repository/jobs/b") == ["../repository/jobs/b/three.yaml"]


@needs_git
def test_revisions(repository: Path) -> None:
    assert complete("diff", "--base", "") == [], "there is no git repository"
    commit(repository)
    assert complete("diff", "--base", "") == ["HEAD", "main"]
    assert complete("diff", "--head", "m") == ["main"]
    assert complete("validate", "--policies-from", "m") == ["main"]


def test_images(repository: Path) -> None:
    put(repository, "images/base/image.yaml", "")
    assert complete("image", "build", "") == ["base"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trainc.yaml", "environments: ["),
        ("trainc.yaml", "environments: 3\n"),
        ("trainc.yaml", "[]\n"),
        ("jobs/a/broken.yaml", "kind: [\n"),
        ("jobs/a/broken.yaml", "kind: TrainJob\nmetadata: {name: [1]}\n"),
        ("jobs/a/broken.yaml", "\x00"),
    ],
)
def test_a_broken_repository(repository: Path, capfd: pytest.CaptureFixture[str], name: str, text: str) -> None:
    put(repository, name, text)
    assert set(complete("explain", "a/")) >= {"a/one", "a/two"}
    assert set(complete("render", "--env", "")) <= {"prod"}
    assert complete("diff", "--base", "") == []
    assert capfd.readouterr() == ("", "")


def test_names_that_a_shell_interprets_are_not_completed(repository: Path) -> None:
    names = ("$(reboot)", "a b", "x;y", "`id`", "line\\nbreak", "fine")
    texts = [job("x").replace("name: x", f'name: "{name}"') for name in names]
    put(repository, "jobs/a/odd.yaml", "---\n".join(texts))
    (repository / "jobs" / "$(reboot)").mkdir()
    assert complete("explain", "a/") == ["a/fine", "a/one", "a/two"]
    assert complete("render", "") == ["jobs/a/", "jobs/b/"]


def test_without_a_repository_or_a_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert complete("explain", "a/") == []
    gone.rmdir()
    assert complete("explain", "TC101") == complete("explain", "a/") == []
    assert complete("render", "--env", "") == []
    monkeypatch.chdir(tmp_path)


def test_a_configuration_of_somebody_else_is_ignored_silently(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: (repository.stat().st_uid) + 1)
    monkeypatch.chdir(repository / "jobs")
    os.utime(repository)
    assert complete("explain", "a/") in ([], ["a/one", "a/two"])  # by who owns jobs/
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script_and_gets_answers(shell: str, repository: Path, process: Process) -> None:
    source = process(_TRAINC_COMPLETE=f"{shell}_source")
    assert source.returncode == 0, source.stderr
    assert f"_TRAINC_COMPLETE={shell}_complete".encode() in source.stdout
    words = {"COMP_WORDS": "trainc explain a/", "COMP_CWORD": "a/" if shell == "fish" else "2"}
    done = process(cwd=repository, _TRAINC_COMPLETE=f"{shell}_complete", **words)
    assert (done.returncode, done.stderr) == (0, b"")
    found = done.stdout.decode().split()
    assert {"a/one", "a/two"} <= {word.rpartition(",")[2] for word in found}
    assert get_completion_class(shell) is not None


def test_names_of_commands_are_completed_without_importing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib, "import_module", pytest.fail)
    assert complete("") == list(COMMANDS)
    assert [item.help for item in items("va")] == [COMMANDS["validate"]]
    assert "--version" in complete("--")


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    for name in COMMANDS:
        found = trainc.get_command(click.Context(trainc), name)
        commands = found.commands.values() if isinstance(found, click.Group) else [found]
        for each in commands:
            assert each is not None
            yield from ((f"{name} {each.name}", parameter) for parameter in each.params)


def test_every_argument_that_can_be_completed_is() -> None:
    named = {"ENV", "REV", "RUNTIME", "[CODE|KIND.FIELD|NAMESPACE/JOB]"}
    found = [(name, each) for name, each in parameters() if each.metavar in named]
    assert len(found) > 8
    assert [f"{name}: {each.name}" for name, each in found if each._custom_shell_complete is None] == []


def test_a_completion_that_fails_is_silent(process: Process, repository: Path) -> None:
    done = process(cwd=repository, _TRAINC_COMPLETE="bash_complete", COMP_WORDS="trainc explain", COMP_CWORD="x")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
