"""One file a case: a small repository and a command above the cut, what trainc prints below it, to the letter.

    # what the case shows
    $ trainc validate
    >>> jobs/team/job.yaml
    kind: ...
    ---8<---
    jobs/team/job.yaml:1:1: error[TC006]: ...
    exit 1

The command may be left out: it is `trainc validate`. `>>> PATH escaped` holds bytes as Python escapes, `>>> PATH ->
TARGET` is a symbolic link. `>>> base: PATH` is a file of the git commit that HEAD names; it lies in the working tree as
well, unless another `>>> PATH` replaces it. `pytest tests/errors --update` writes the part below the cut; read the
difference.
"""

from __future__ import annotations

import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitrepo import commit, git, needs_git
from trainc.cli.root import trainc
from trainc.findings import CODES
from transcripts import write_file

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*.txt"))
CUT = "---8<---\n"
BASE = "base: "
ELSEWHERE = {
    "TC063": "needs a text of 128 KiB: tests/attack/test_limits.py",
    "TC708": "needs a package source: tests/images/test_pins.py",
    "TC902": "no input is known that makes it: tests/cli/test_failure.py",
}


@dataclass(frozen=True, slots=True)
class Case:
    """The part above the cut."""

    command: list[str]
    base: list[tuple[str, str]]
    files: list[tuple[str, str]]


def parse(text: str) -> Case:
    head, *parts = re.split(r"^>>> ", text, flags=re.M)
    commands = [line.removeprefix("$ trainc ") for line in head.splitlines() if line.startswith("$ ")]
    assert all(line.startswith(("# ", "$ trainc ")) for line in head.splitlines()), "only a comment and a command"
    assert len(commands) <= 1
    files = [(name, body) for name, _, body in (part.partition("\n") for part in parts)]
    base = [(name.removeprefix(BASE), body) for name, body in files if name.startswith(BASE)]
    files = [(name, body) for name, body in files if not name.startswith(BASE)]
    return Case(shlex.split(commands[0]) if commands else ["validate"], base, files)


def lay_out(root: Path, case: Case) -> None:
    if case.base:
        if shutil.which("git") is None:
            pytest.skip("git is not installed")
        for name, body in case.base:
            write_file(root, name, body)
        commit(root)
    for name, body in case.files:
        write_file(root, name, body)


def outcome(command: list[str]) -> str:
    result = CliRunner().invoke(trainc, command, prog_name="trainc")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return f"{result.output}exit {result.exit_code}\n"


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: bool) -> None:
    text = path.read_text(encoding="utf-8")
    above, cut, expected = text.partition(CUT)
    assert cut or update, "no cut"
    lay_out(tmp_path, parse(above))
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path)
    found = outcome(parse(above).command)
    assert sorted(tmp_path.rglob("*")) == before, "nothing is written after an error"
    if update:
        path.write_text(above + CUT + found, encoding="utf-8", newline="")
        expected = found
    assert found == expected
    assert f"[{path.stem[:5]}]: " in expected, "the case shows another code than its name says"


def test_every_code_has_a_case() -> None:
    shown = {path.stem[:5] for path in CASES}
    assert set(CODES) - shown == set(ELSEWHERE)
    assert shown <= set(CODES)


def test_every_case_has_a_slug() -> None:
    for path in CASES:
        assert re.fullmatch(r"TC[0-9]{3}(-[a-z0-9]+)+", path.stem), path.name


@needs_git
def test_a_case_with_a_base(tmp_path: Path) -> None:
    lay_out(tmp_path, parse("# shows\n>>> base: a\nold\n>>> base: b\nkept\n>>> a\nnew\n>>> c\nnew\n"))
    assert [(tmp_path / name).read_text() for name in "abc"] == ["new\n", "kept\n", "new\n"]
    assert git(tmp_path, "status", "--porcelain").split() == ["M", "a", "??", "c"]


def test_a_case_in_all_its_forms(tmp_path: Path) -> None:
    case = parse("# shows\n$ trainc build 'a b'\n>>> d/x.yaml escaped\na\\xff\\n\n>>> d/y -> x.yaml\n>>> z\nb\n")
    assert case.command == ["build", "a b"]
    lay_out(tmp_path, case)
    assert (tmp_path / "d/x.yaml").read_bytes() == b"a\xff\n"
    assert (tmp_path / "d/y").is_symlink()
    assert (tmp_path / "z").read_text() == "b\n"
