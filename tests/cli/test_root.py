from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from small import Process, Run, job, on_a_terminal

from folders import put
from trainc import __version__
from trainc.cli.root import COMMANDS, trainc
from trainc.findings import CODES
from trainc.findings.codes import page


def command(name: str) -> click.Command:
    found = trainc.get_command(click.Context(trainc), name)
    assert found is not None
    return found


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(run: Run, flag: str) -> None:
    result = run(flag)
    assert result.exit_code == 0
    for name, short in COMMANDS.items():
        assert f"  {name}" in result.stdout
        assert short in result.stdout
    assert "Exit status:" in result.stdout
    assert "_TRAINC_COMPLETE=bash_source" in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "Examples:\n" in result.stdout
    assert f"  trainc {name}" in result.stdout
    assert command(name).name == name
    assert max(map(len, result.stdout.splitlines())) <= 80
    for parameter in command(name).params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{parameter.name} says nothing of itself"


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_the_help_can_be_parsed(name: str, repository: Path) -> None:
    folders = ("cluster/x.yaml", "crds/x.yaml", "old/x.yaml", "policies/tests/gpus.yaml")
    for path in ("job.yaml", "jobset.yaml", "a.yaml", "b.yaml", "runtime.yaml", "jobs/team-a/job.yaml", *folders):
        put(repository, path, job())
    lines = [line.strip() for line in (command(name).epilog or "").splitlines() if line.strip().startswith("trainc ")]
    assert lines
    for line in lines:
        words = shlex.split(re.split("  | <", line)[0].rpartition("trainc ")[2])[1:]
        found = command(name)
        if isinstance(found, click.Group):
            found = found.commands[words.pop(0)]
        parent = click.Context(trainc, **trainc.context_settings)  # a command keeps its first option for help
        assert found.make_context(name, words, parent, resilient_parsing=False).params


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"trainc {__version__} (Trainer v2.3.0, JobSet v0.12.0)\n"


@pytest.mark.parametrize("code", ["TC101", "tc101"])
def test_explain(run: Run, code: str) -> None:
    result = run("explain", code)
    assert (result.exit_code, result.stdout) == (0, page("TC101"))


def test_explain_lists_all_codes(run: Run) -> None:
    result = run("explain")
    assert result.exit_code == 0
    assert re.findall(r"^  (TC\d{3})  ", result.stdout, re.M) == sorted(CODES)
    assert result.stdout.startswith("TC0xx: Input and YAML\n  TC001  error    not UTF-8 text\n")
    assert "\n\nTC1xx: Schema\n  TC101  error    unknown field\n" in result.stdout
    assert "  TC015  note     companion of a runtime\n" in result.stdout


def complete(process: Process, words: str, at: int) -> list[str]:
    done = process(_TRAINC_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(at))
    assert done.returncode == 0, done.stderr
    return [line.partition(",")[2] for line in done.stdout.decode().splitlines()]


def test_completion(process: Process) -> None:
    assert complete(process, "trainc ", 1) == list(COMMANDS)
    assert complete(process, "trainc v", 1) == ["validate"]
    assert "--check" in complete(process, "trainc render --", 2)
    assert complete(process, "trainc build --format ", 3) == ["text", "json", "sarif", "github", "junit", "codequality"]
    assert complete(process, "trainc build --fail-on ", 3) == ["error", "warning"]
    assert complete(process, "trainc explain tc90", 2) == [code for code in sorted(CODES) if code.startswith("TC90")]
    source = process(_TRAINC_COMPLETE="bash_source")
    assert b"_TRAINC_COMPLETE=bash_complete" in source.stdout


def terminal(repository: Path, *args: str, status: int = 1, **environment: str) -> str:
    return on_a_terminal("-m", "trainc", *args, cwd=repository, status=status, **environment)


@pytest.mark.parametrize("name", ["validate", "build"])
def test_colour_only_on_a_terminal_and_only_if_wanted(repository: Path, process: Process, name: str) -> None:
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    args = [name, "jobs/a/one.yaml"]
    assert "\x1b[1;31merror[TC301]\x1b[0m" in terminal(repository, *args, TERM="xterm")
    plain = terminal(repository, *args, TERM="xterm", NO_COLOR="1")
    assert "error[TC301]" in plain
    assert "\x1b" not in plain
    assert "\x1b" not in terminal(repository, *args, TERM="dumb")
    done = process(*args, cwd=repository, TERM="xterm")
    assert b"error[TC301]" in done.stdout + done.stderr
    assert b"\x1b" not in done.stdout + done.stderr


def test_a_terminal_shows_warnings_that_repeat_once(repository: Path, process: Process) -> None:
    for name in ("a/one", "a/two", "b/three"):
        put(repository, f"jobs/{name}.yaml", job(name[2:], extra="  managedBy: kueue.x-k8s.io/multikueue\n"))
    brief = terminal(repository, "validate", status=0, NO_COLOR="1")
    assert brief.count("warning[TC311]") == 1
    assert "jobs/a/one.yaml" in brief
    assert "= 3 warnings of TC311 in 3 files: -v shows all" in brief
    assert "3 warnings\r\n" in brief
    assert terminal(repository, "validate", "-v", status=0).count("TC311") == 3
    assert process("validate", cwd=repository).stdout.count(b"TC311") == 3, "a file or a log gets all of them"


def test_a_terminal_shows_every_error(repository: Path) -> None:
    for name in ("a/one", "a/two", "b/three"):
        put(repository, f"jobs/{name}.yaml", job(name[2:], extra="  nonsense: 1\n"))
    assert terminal(repository, "validate").count("TC101") == 3
