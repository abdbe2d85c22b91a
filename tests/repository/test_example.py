"""The example that this repository is: a pristine copy renders with one line of summary, and nothing to report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from example import ROOT, copied

from trainc.cli.root import trainc


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(trainc, arguments, prog_name="trainc")
    return result.exit_code, result.stdout, result.stderr


def test_render_and_validate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = copied(tmp_path / "repository")
    monkeypatch.chdir(repository)
    committed = {path.relative_to(ROOT): path.read_bytes() for path in (ROOT / "out").rglob("*") if path.is_file()}
    unchanged = f"out/: 0 created, 0 changed, 0 removed, {len(committed)} unchanged\n"
    assert run("render") == (0, "", unchanged)
    shutil.rmtree(repository / "out")
    assert run("render")[0] == 0
    made = {p.relative_to(repository): p.read_bytes() for p in (repository / "out").rglob("*") if p.is_file()}
    assert made == committed, "out/ is what a first render makes"
    for command in (("validate",), ("render", "--check")):
        assert run(*command, "--format", "json")[:2] == (0, "[]\n")
