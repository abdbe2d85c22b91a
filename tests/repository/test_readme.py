"""What the README and the first page of docs/ show is what trainc does: each document and command is tried."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from example import ROOT, copied, trainc

from trainc.cli.root import trainc as command_line

README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME = "jobs/team-vision/mnist.yaml"


def blocks(language: str, page: str = README) -> list[str]:
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```$", page)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


PAGES = ("README.md", "docs/getting-started.md")
OWN = ("docs/getting-started.md",)
"""The pages that begin in an empty folder, with trainc on PATH, instead of this repository."""
EXCEPTIONS = {
    "make render": "sets up .venv from a package registry; test_example.py runs the command behind it",
    "make test": "runs these tests",
    "jobs/team-vision/mnist.yaml:9:5: error[TC101]: unknown field spec.trainer.numNode": "test_the_error_is_real",
    "pip install trainc": "installs from a package registry",
    "from trainc import Options, Source, compile": "test_the_embedding_example_runs",
}
"""By its line, or the first of its block: what is not tried here, and why."""

FENCE = re.compile(r"(?ms)^( *)```([a-z]*)\n(.*?)^ *```$")
INLINE = re.compile(r"`\.venv/bin/trainc ([^`<]+)`")


class Walk:
    """A reader who does what a page says, in order, in a copy of the repository."""

    def __init__(self, root: Path, *, own: bool = False) -> None:
        self.own = own
        root.parent.mkdir()
        self.root = root if own else copied(root)
        self.folder = self.root
        self.printed = ""
        self.tried: list[str] = []
        self.programs = root.parent / "bin" if own else root / ".venv" / "bin"
        self.programs.mkdir(parents=True)
        self.root.mkdir(exist_ok=True)
        program = self.programs / "trainc"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trainc "$@"\n', encoding="utf-8")
        program.chmod(0o755)

    def page(self, name: str) -> None:
        text = (ROOT / name).read_text(encoding="utf-8")
        end = 0
        for block in FENCE.finditer(text):
            before, end = text[end : block.start()], block.end()
            for command in INLINE.findall(before):
                self.shell(f".venv/bin/trainc {command}")
            content = re.sub(rf"(?m)^{block[1]}", "", block[3])
            if content.splitlines()[0] in EXCEPTIONS and block[2] != "sh":
                self.tried.append(content.splitlines()[0])
            else:
                {"yaml": self.document, "sh": self.commands, "text": self.output}[block[2]](content, before)

    def document(self, content: str, before: str) -> None:
        place = self.root / re.findall(r"`([a-z][^`\s]*\.yaml)`", before)[-1]
        if place.relative_to(self.root).parts[0] == "out":
            assert place.read_text(encoding="utf-8") == content
        else:
            assert place.name == "trainc.yaml" or not place.exists(), "the example is new to the repository"
            place.write_text(content, encoding="utf-8")
            self.shell(".venv/bin/trainc validate")
            assert place.name == "trainc.yaml" or self.printed.endswith("TrainJobs are valid\n"), self.printed
            assert place.name == "trainc.yaml" or self.printed.count("\n") == 1, self.printed

    def commands(self, content: str, before: str) -> None:
        assert content, before
        for line in content.splitlines():
            command = line.partition("  #")[0].strip()
            if command in EXCEPTIONS and not (self.own and command.startswith("make ")):
                self.tried.append(command)
            else:
                self.shell(command)

    def output(self, content: str, before: str) -> None:
        assert self.printed == content, before

    def shell(self, command: str) -> None:
        people = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **people, "TRAINC_CACHE_DIR": str(self.root.parent / "cache")}
        environment["PATH"] = f"{self.programs}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            ["bash", "-euc", f'{command}; pwd >"{self.root.parent}/cwd"'],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env=environment,
        )
        assert done.returncode == 0, (command, done.stdout)
        self.printed = done.stdout
        self.folder = Path((self.root.parent / "cwd").read_text(encoding="utf-8").strip())


def test_every_document_and_command_does_what_the_page_says(tmp_path: Path) -> None:
    tried: list[str] = []
    for name in PAGES:
        walk = Walk(tmp_path / Path(name).stem / "root", own=name in OWN)
        walk.page(name)
        tried += walk.tried
    assert sorted(tried) == sorted(EXCEPTIONS)


def test_the_commands_of_the_page_on_runtimes_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copied(tmp_path / "repository"))
    page = (ROOT / "docs" / "runtimes.md").read_text(encoding="utf-8")
    commands = [line for block in blocks("sh", page) for line in block.splitlines()]
    statuses = {line: CliRunner().invoke(command_line, line.split()[1:]).exit_code for line in commands}
    assert len(statuses) == 5
    refused = "trainc new job --runtime torch-distributed -n team-vision my-job"  # by the policies of this repository
    assert statuses == {line: int(line == refused) for line in commands}


def test_commands_in_the_text_have_the_options_that_are_named() -> None:
    named = [
        words
        for name in PAGES
        for words in re.findall(r"`(?:\.venv/bin/)?trainc ([a-z][^`]*)`", (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert len(named) > 10
    for words in named:
        command = re.match(r"[a-z]+(?: (?:test|build|lock|update|verify|job|runtime)\b)?", words)
        assert command
        shown = CliRunner().invoke(command_line, [*command[0].split(), "--help"])
        assert shown.exit_code == 0, words
        options = set(re.findall(r"--[a-z-]+", words))
        assert options <= set(re.findall(r"--[a-z-]+", shown.stdout)), words


def test_the_error_is_real(tmp_path: Path) -> None:
    root = copied(tmp_path / "repository")
    before = blocks("yaml")[0]
    (shown,) = blocks("text")
    misspelt = before.replace("numNodes:", "numNode:")
    assert misspelt != before
    (root / NAME).write_text(misspelt, encoding="utf-8")
    assert trainc(root, "validate", NAME).stdout.rstrip() == shown.rstrip()


def test_the_embedding_example_runs() -> None:
    (example,) = blocks("python")
    program = f"text = {blocks('yaml')[0]!r}\n{example}"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "compiler", check=True, capture_output=True)
    assert run.stdout.decode().split() == ["default", "mnist", "['JobSet']"]


def test_the_commands_are_those_that_exist() -> None:
    named = re.findall(r"(?m)^\| `trainc ([a-z]+)", README)
    shown = CliRunner().invoke(command_line, ["--help"]).stdout
    listed = re.findall(r"(?m)^  ([a-z]+) {2,}\S", shown.partition("Commands:")[2].partition("\n\n")[0])
    assert named == listed


def test_the_number_of_jobs_is_right() -> None:
    words = {19: "nineteen", 20: "twenty", 21: "twenty-one", 22: "twenty-two", 23: "twenty-three", 24: "twenty-four"}
    count = len(list((ROOT / "jobs").glob("*/*.yaml")))
    assert f"for {words[count]} jobs" in re.sub(r"\s+", " ", README)
