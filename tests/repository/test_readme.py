"""What the README says beyond what test_pages.py tries: its error, its list of commands, its number of jobs."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner
from example import ROOT, copied, trainc

from trainc.cli.root import trainc as command_line

README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME = "jobs/team-vision/mnist.yaml"


def blocks(language: str, page: str = README) -> list[str]:
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```$", page)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


def test_the_error_is_real(tmp_path: Path) -> None:
    root = copied(tmp_path / "repository")
    before = blocks("yaml")[0]
    shown = blocks("text")[0]
    misspelt = before.replace("numNodes:", "numNode:")
    assert misspelt != before
    (root / NAME).write_text(misspelt, encoding="utf-8")
    assert trainc(root, "validate", NAME).stdout.rstrip() == shown.rstrip()


def test_the_commands_are_those_that_exist() -> None:
    named = re.findall(r"(?m)^\| `trainc ([a-z]+)", README)
    shown = CliRunner().invoke(command_line, ["--help"]).stdout
    listed = re.findall(r"(?m)^  ([a-z]+) {2,}\S", shown.partition("Commands:")[2].partition("\n\n")[0])
    assert named == listed


def test_the_number_of_jobs_is_right() -> None:
    words = {19: "nineteen", 20: "twenty", 21: "twenty-one", 22: "twenty-two", 23: "twenty-three", 24: "twenty-four"}
    count = len(list((ROOT / "jobs").glob("*/*.yaml")))
    assert f"for {words[count]} jobs" in re.sub(r"\s+", " ", README)
