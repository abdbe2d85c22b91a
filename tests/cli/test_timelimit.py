"""The limit of processor time: it ends a command, its workers and its git, and leaves everything as it was."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from small import job, surroundings

from folders import put
from gitrepo import commit, needs_git
from trainc.cli.root import trainc
from trainc.cli.timelimit import PER_ITEM, TimeLimit

SLOW = f"  trainer: {{{', '.join(f'a{number}: 1' for number in range(60_000))}}}\n"
"""Fields of which each is an error: several seconds."""

STOPPED = """\
trainc: error: stopped after 2 seconds of processor time at jobs/a/one.yaml
Hint: make the file smaller or simpler; TRAINC_CPU_SECONDS sets another limit.
"""


def run(
    *args: str, seconds: str = "1", before: Callable[[], None] | None = None, path: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = surroundings(TRAINC_CPU_SECONDS=seconds, PATH=f"{path}{os.environ['PATH']}")
    command = [sys.executable, "-m", "trainc", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, preexec_fn=before)


@pytest.fixture
def slow(repository: Path) -> Path:
    put(repository, "jobs/a/one.yaml", job("one", extra=SLOW))
    return repository


@pytest.mark.parametrize("args", [("validate", "-j", "1"), ("render", "-j", "2"), ("report",), ("fix", "--diff")])
def test_a_command_ends_at_the_limit(slow: Path, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", STOPPED)
    assert {path.name for path in slow.iterdir()} == {"jobs", "runtimes", "trainc.yaml"}


@needs_git
def test_git_has_the_limit_too(repository: Path, tmp_path: Path) -> None:
    commit(repository)
    put(tmp_path, "bin/git", "#!/bin/sh\nwhile :; do :; done\n").chmod(0o755)
    done = run("validate", "--base", "HEAD", path=f"{tmp_path / 'bin'}:")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Invalid value for '--base'" in done.stderr


def test_no_limit(slow: Path) -> None:
    for seconds, before in (("0", None), ("1", lambda: resource.setrlimit(resource.RLIMIT_CPU, (900, 900)))):
        done = run("validate", seconds=seconds, before=before)
        assert (done.returncode, done.stderr) == (1, "60,001 errors\n")


@pytest.mark.parametrize("seconds", ["", "x", "-1", "1.5", "\u0663"])
def test_a_wrong_limit(repository: Path, seconds: str) -> None:
    done = run("validate", seconds=seconds)
    assert (done.returncode, done.stdout) == (2, "")
    shown = f"TRAINC_CPU_SECONDS is a number of seconds, such as 60, or 0 for no limit: {seconds!r}"
    assert done.stderr.splitlines()[-1] == f"Error: {shown}"


def test_files_and_jobs_add_to_the_limit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs and a runtime are read, and three jobs compiled."""
    set_to: list[int] = []
    monkeypatch.setenv("TRAINC_CPU_SECONDS", "1000")
    monkeypatch.setattr("trainc.cli.timelimit.PER_ITEM", 100)
    monkeypatch.setattr(resource, "setrlimit", lambda _which, limits: set_to.append(limits[0]))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert CliRunner().invoke(trainc, ["render", "--no-cache"], obj=TimeLimit()).exit_code == 0
    assert set_to == [1000, 1400, 1700]
    assert CliRunner().invoke(trainc, ["render", "--no-cache"]).exit_code == 0
    assert len(set_to) == 3, "without the object of main() there is none"
    assert PER_ITEM == 0.05
