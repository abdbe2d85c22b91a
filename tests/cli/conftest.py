"""A small repository, and the command line in this process and in its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from small import RUNTIME, Process, Run, job, surroundings

from folders import put


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of three jobs in two namespaces, which is the working directory."""
    root = tmp_path / "repository"
    put(root, "trainc.yaml", "environments:\n  prod: {}\n")
    put(root, "runtimes/plain.yaml", RUNTIME)
    put(root, "jobs/a/one.yaml", job("one"))
    put(root, "jobs/a/two.yaml", job("two"))
    put(root, "jobs/b/three.yaml", job("three"))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def run() -> Run:
    """Run trainc in this process."""

    def call(*args: str, stdin: bytes | None = None) -> Result:
        from trainc.cli.root import trainc

        result = CliRunner().invoke(trainc, args, input=stdin, prog_name="trainc")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


@pytest.fixture
def process() -> Process:
    """Run trainc in a process of its own."""

    def call(
        *args: str, cwd: Path | None = None, stdin: bytes = b"", **environment: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "trainc", *args],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=surroundings(**environment),
        )

    return call
