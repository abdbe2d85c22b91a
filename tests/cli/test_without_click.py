"""Commands whose arguments are plainly right run without click, and as they do with it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small import Process, job, put, surroundings

from trainc.cli import plain
from trainc.cli.clicked import clicked
from trainc.cli.declared import Declared
from trainc.cli.echo import echo
from trainc.cli.plain import DECLARED
from trainc.cli.root import trainc

WORDS = (
    *(
        "--env",
        "prod",
        "--check",
        "--no-cache",
        "-j",
        "--jobs",
        "2",
        "0",
        "007",
        "x",
        "--jobs=3",
        "-j4",
        "²",
        "--executor",
    ),
    *(
        "local",
        "mpi",
        "--format",
        "json",
        "text",
        "xml",
        "--format=json",
        "--fail-on",
        "warning",
        "-q",
        "--quiet",
        "-v",
    ),
    *("--verbose", "-qv", "--chec", "-o", "yaml", "--output", "--faithful", "--crd-dir", "folder", "file.yaml", "gone"),
    *("--base", "HEAD", "--", "-", "", "--help", "file.yaml/", "folder/..", "--env=", "-"),
)
lines = st.lists(st.sampled_from(WORDS), max_size=5)


def declared(name: str) -> Declared:
    from importlib import import_module

    found: Declared = import_module(f"trainc.cli.{name}").command
    return found


def by_click(command: click.Command, words: Sequence[str]) -> Any:
    try:
        return command.make_context("trainc", list(words)).params
    except (click.ClickException, click.exceptions.Exit):
        return None


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    put(tmp_path, "file.yaml", job())
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", DECLARED)
def test_what_is_parsed_is_what_click_parses(name: str) -> None:
    command = declared(name)
    parsed = 0

    @given(lines)
    @settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def compare(words: list[str]) -> None:
        nonlocal parsed
        found = command.parse(words)
        if found is not None:
            assert found == by_click(clicked(command), words)
            parsed += 1

    compare()
    assert parsed


@pytest.mark.usefixtures("folder")
def test_plain_lines_are_parsed() -> None:
    lines = {
        "render": ([], ["--check", "-q"], ["--env", "prod", "folder", "-j", "2"], ["--no-cache", "--format", "json"]),
        "build": (["file.yaml"], ["-o", "json", "file.yaml", "--crd-dir", "folder", "--crd-dir", "folder"]),
        "validate": ([], ["--base", "HEAD", "file.yaml", "--fail-on", "warning", "-v"]),
    }
    for name, plainly in lines.items():
        for words in plainly:
            found = declared(name).parse(words)
            assert found is not None
            assert found == by_click(clicked(declared(name)), words)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words", [["build"], ["render", "gone"], ["render", "--executor", "mpi"], ["diff"], [], ["render", "--help"]]
)
def test_click_has_the_rest(words: list[str]) -> None:
    assert plain.run(words) is None


def test_click_is_not_asked_in_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TRAINC_COMPLETE", "bash_source")
    assert plain.run(["render"]) is None


ASKED = [
    *(["render"], ["render", "--check"], ["render", "jobs/a", "-v"], ["validate"], ["validate", "--format", "json"]),
    *(["render", "runtimes"], ["render", "--env", "none"], ["build", "jobs/a/one.yaml"], ["build", "none.yaml"]),
    *(["build", "-o", "json", "jobs/b"], ["validate", "--base", "HEAD"], ["build", "--env", "no", "jobs/a/one.yaml"]),
]


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_a_run_is_the_same_with_and_without_click(words: list[str], repository: Path, process: Process) -> None:
    put(repository, "jobs/a/four.yaml", job("four", runtime="gone"))
    whole = [sys.executable, "-c", "import sys; from trainc.cli.root import trainc; trainc(prog_name='trainc')", *words]
    before = subprocess.run(whole, capture_output=True, check=False, cwd=repository, env=surroundings())
    files = {path: path.read_bytes() for path in repository.glob("out/**/*.yaml")}
    for path in files:
        path.unlink()
    after = process(*words, cwd=repository)
    assert (after.returncode, after.stdout, after.stderr) == (before.returncode, before.stdout, before.stderr)
    assert files == {path: path.read_bytes() for path in repository.glob("out/**/*.yaml")}


@pytest.mark.parametrize("args", [["render", "-q"], ["render", "--check"], ["build", "jobs/a/one.yaml"], ["validate"]])
def test_a_clean_run_does_not_load_click(args: list[str], repository: Path) -> None:
    code = (
        "import sys, json\n"
        "from trainc.cli.plain import run\n"
        f"assert run(['render', '-q']) == 0 and run({args!r}) == 0\n"
        "sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, cwd=repository, env=surroundings()
    )
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert "trainc.cli.plain" in loaded
    assert loaded & {"click", "gettext"} == set()


class Terminal(io.TextIOWrapper):
    """A stream of an encoding, with what was written to it."""

    def __init__(self, encoding: str) -> None:
        self.raw_bytes = io.BytesIO()
        super().__init__(self.raw_bytes, encoding=encoding, errors="backslashreplace")


@given(
    st.lists(st.sampled_from(("a", "é", "\x1b[31m", "\n"))).map("".join) | st.binary(max_size=4),
    st.booleans(),
    st.booleans(),
    st.sampled_from((None, True, False)),
    st.sampled_from(("utf-8", "ascii", "latin-1")),
)
def test_echo_is_that_of_click(message: str | bytes, nl: bool, err: bool, color: bool | None, encoding: str) -> None:
    """But for escapes where nothing is coloured: they come from an input, and are shown."""
    if isinstance(message, str) and not color:
        message = message.replace("\x1b[31m", "")
    written = []
    for way in (echo, click.echo):
        with pytest.MonkeyPatch.context() as patch:
            out, other = Terminal(encoding), Terminal(encoding)
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", other)
            way(message, nl=nl, err=err, color=color)
            written.append((out.raw_bytes.getvalue(), other.raw_bytes.getvalue()))
    assert written[0] == written[1]


def test_echo_without_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    echo("nobody hears it")


def test_a_reader_that_has_gone(repository: Path) -> None:
    code = "import signal; from trainc.cli import plain; signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n"
    code += "raise SystemExit(plain.run(['build', 'jobs/a/one.yaml', '-q']))"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        cwd=repository,
        env=surroundings(),
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interrupt(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from trainc.cli import rendering

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(rendering, "render", interrupted)
    assert plain.run(["render", "--no-cache"]) == 130
    assert capsys.readouterr().err == "\n"
    result = CliRunner().invoke(trainc, ["render", "--no-cache"], prog_name="trainc")
    assert (result.exit_code, result.stderr) == (130, "\n")
