from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from small import Run, surroundings

from trainc import findings
from trainc.inputs.source import Document, Source
from trainc.pipeline import job
from trainc.project import environments


def spoil(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(environments, "run", fail)


@pytest.mark.parametrize("name", ["render", "validate"])
def test_a_fault_is_short(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    spoil(monkeypatch, KeyError("spec\n\x1b[31m"))
    result = run(name)
    assert (result.exit_code, result.stdout) == (2, "")
    first, second = result.stderr.splitlines()
    assert first == r"trainc: error[TC902]: internal error: KeyError: 'spec\n\x1b[31m'"
    assert second == f"{findings.CODES['TC902'].text} --verbose shows the traceback."


def test_verbose_shows_where(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, RecursionError("too deep"))
    result = run("validate", "-v")
    assert result.exit_code == 2
    assert "Traceback (most recent call last):" in result.stderr
    assert "test_failure.py" in result.stderr


def test_a_fault_that_the_core_reports(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from trainc.pipeline.compile import Build

    finding = findings.report("TC902", Document(Source("jobs/a/one.yaml", ""), {}), (), "internal error")
    monkeypatch.setattr(environments, "run", lambda *_: Build((), (finding,), {}, input_findings=(finding,)))
    assert run("validate").exit_code == 2


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        SystemError("error return without exception set"),
        SystemError("<function sort_key at 0x7f1af7c6f1a0> returned NULL without setting an exception"),
    ],
)
def test_a_job_for_which_there_is_no_memory_is_no_fault(
    error: Exception, repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(job, "_compile", fail)
    result = run("render", "--no-cache")
    assert (result.exit_code, result.stderr) == (2, f"trainc: error: {os.strerror(errno.ENOMEM)}\n")


def test_a_fault_before_the_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trainc.cli.render", None)
    result = run("render")
    assert result.exit_code == 2
    assert result.stderr.startswith("trainc: error[TC902]: internal error: ")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "out/prod"),
            "trainc: error: out/prod: Permission denied\n",
        ),
        (OSError(errno.EIO, "Input/output error"), "trainc: error: Input/output error\n"),
        (MemoryError(), f"trainc: error: {os.strerror(errno.ENOMEM)}\n"),
        (
            ImportError("libstdc++.so.6: cannot open shared object file", path=f"/lib/_re2{EXTENSION_SUFFIXES[0]}"),
            f"trainc: error: /lib/_re2{EXTENSION_SUFFIXES[0]}: cannot be loaded: libstdc++.so.6: "
            "cannot open shared object file\n",
        ),
    ],
)
def test_what_the_system_refuses_is_no_fault(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch, error: Exception, text: str
) -> None:
    spoil(monkeypatch, error)
    result = run("render")
    assert (result.exit_code, result.stderr) == (2, text)


def test_an_interrupt(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, KeyboardInterrupt())
    result = run("render")
    assert result.exit_code == 130
    assert "Traceback" not in result.output


def test_an_interrupt_from_outside(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # what ignores it, as behind `&`, is inherited
    reading = subprocess.Popen(
        [sys.executable, "-m", "trainc", "build", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=surroundings(PYTHONUNBUFFERED="1"),
    )
    signal.signal(signal.SIGINT, before)
    assert reading.stdin is not None
    # More than a pipe holds: the write returns once the process reads, so it is past its imports.
    reading.stdin.write(b"#" * 300_000)
    reading.stdin.flush()
    reading.send_signal(signal.SIGINT)
    out, err = reading.communicate(timeout=60)
    assert reading.returncode == 130
    assert out == b""
    assert b"Traceback" not in err


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = (
        f"import os; os.chdir({os.fspath(gone)!r}); os.rmdir({os.fspath(gone)!r}); from trainc.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "validate"], capture_output=True, text=True, check=False, env=surroundings()
    )
    assert done.returncode == 2
    assert done.stderr == "trainc: error: No such file or directory\n"
