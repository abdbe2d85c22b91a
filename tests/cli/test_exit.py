"""How the process ends: at once, but with all that was written, and with its status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from small import surroundings

from trainc.cli import Stopped
from trainc.cli.command import Command, echo
from trainc.cli.root import trainc

ROOT = Path(__file__).resolve().parents[2]
JOB = "jobs/team-vision/mnist-cpu.yaml"
TOLD = "import atexit; atexit.register(print, 'torn down', flush=True)\n"
ENTRY = "from trainc.cli import main; main()"


def _run(code: str, *args: str, stdout: int | None = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False
    )


def test_what_was_written_is_there() -> None:
    ended = _run(TOLD + ENTRY, "build", "-q", JOB)
    assert ended.returncode == 0
    assert ended.stdout.startswith("apiVersion: ")
    assert ended.stdout.endswith("\n")
    assert "kind: JobSet\n" in ended.stdout
    assert "torn down" not in ended.stdout


@pytest.mark.parametrize(("args", "status"), [(("--version",), 0), (("build",), 2), (("build", "no.yaml"), 2)])
def test_the_status_is_kept(args: tuple[str, ...], status: int) -> None:
    assert _run(ENTRY, *args).returncode == status


@pytest.mark.parametrize(("end", "status"), [(Stopped(143), 143), (KeyboardInterrupt(), 1)])
def test_a_signal_decides_the_status_if_cleaning_up_fails(end: BaseException, status: int) -> None:
    @click.command(cls=Command)
    def command() -> None:
        try:
            raise end
        finally:
            os.close(-1)

    result = CliRunner().invoke(command)
    assert (result.exit_code, result.output.strip()) == (status, "" if status == 143 else "Aborted!")


def test_profiles_and_traces_are_finished() -> None:
    ended = _run(TOLD + "import sys; sys.setprofile(lambda *_: None)\n" + ENTRY, "--version")
    assert ended.returncode == 0
    assert ended.stdout.endswith("torn down\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_told() -> None:
    with Path("/dev/full").open("w") as full:
        ended = _run(ENTRY, "build", "-q", JOB, stdout=full.fileno())
    assert ended.returncode != 0
    assert "No space left" in ended.stderr


def test_a_reader_that_has_gone(repository: Path) -> None:
    code = "import signal; from trainc.cli.root import trainc; signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n"
    code += "trainc(['build', 'jobs/a/one.yaml', '-q'])"
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, env=surroundings())
    os.close(writing)
    assert repository == Path.cwd()
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    assert repository == Path.cwd()
    monkeypatch.setattr("trainc.project.planning.plan_request", interrupted)
    result = CliRunner().invoke(trainc, ["render", "--no-cache"], prog_name="trainc")
    assert (result.exit_code, result.stderr) == (130, "\n")


def test_echo_without_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    echo("nobody hears it")
