"""The example that this repository is: a pristine copy renders with one line of summary, and nothing to report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from example import ROOT, copied, trainc


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return copied(tmp_path / "repository")


def test_render_prints_one_line(repository: Path) -> None:
    count = sum(path.is_file() for path in (ROOT / "out").rglob("*"))
    done = trainc(repository, "render")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"out/: 0 created, 0 changed, 0 removed, {count} unchanged\n"


def test_it_is_what_a_first_render_makes(repository: Path) -> None:
    shutil.rmtree(repository / "out")
    assert trainc(repository, "render").returncode == 0
    made = {p.relative_to(repository): p.read_bytes() for p in (repository / "out").rglob("*") if p.is_file()}
    assert made == {p.relative_to(ROOT): p.read_bytes() for p in (ROOT / "out").rglob("*") if p.is_file()}


@pytest.mark.parametrize("command", [("validate",), ("render", "--check")])
def test_there_is_no_finding(repository: Path, command: tuple[str, ...]) -> None:
    done = trainc(repository, *command, "--format", "json")
    assert (done.returncode, done.stdout) == (0, "[]\n")
