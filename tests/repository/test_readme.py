"""What the README shows is what trainc does."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import trainc
from trainc import Build, Options, Source
from trainc.diagnostics.text import render

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NAME = "jobs/team-vision/mnist.yaml"
OUTPUT = "out/prod/team-vision/mnist/jobset-mnist.yaml"
RUNTIME = "runtimes/torch-distributed.yaml"


def blocks(language: str, page: str = README) -> list[str]:
    found = re.findall(rf"(?ms)^( *)```{language}\n(.*?)^ *```$", page)
    return [re.sub(rf"(?m)^{indent}", "", text) for indent, text in found]


def compiled(text: str) -> Build:
    runtime = Source(RUNTIME, (ROOT / RUNTIME).read_text(encoding="utf-8"))
    return trainc.compile([Source(NAME, text), runtime], Options())


def test_before_and_after_are_real() -> None:
    before, after = blocks("yaml")
    assert before.count("\n") == 10
    assert f"`{NAME}`" in README
    assert f"`{OUTPUT}`" in README
    build = compiled(before)
    assert build.findings == ()
    assert {name: text.decode() for name, text in build.files.items()} == {OUTPUT: after}


def test_the_error_is_real() -> None:
    before = blocks("yaml")[0]
    (shown,) = blocks("text")
    misspelt = before.replace("numNodes:", "numNode:")
    assert misspelt != before
    assert render(compiled(misspelt).findings).rstrip() == shown.rstrip()


def test_the_embedding_example_runs() -> None:
    (example,) = blocks("python")
    program = f"text = {blocks('yaml')[0]!r}\n{example}"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT / "compiler", check=True, capture_output=True)
    assert run.stdout.decode().split() == ["default", "mnist", "['JobSet']"]


def test_the_commands_are_those_that_exist() -> None:
    named = re.findall(r"(?m)^\| `trainc ([a-z]+)", README)
    shown = subprocess.run(
        [sys.executable, "-m", "trainc", "--help"], cwd=ROOT / "compiler", check=True, capture_output=True, text=True
    ).stdout
    listed = re.findall(r"(?m)^  ([a-z]+) {2,}\S", shown.partition("Commands:")[2].partition("\n\n")[0])
    assert named == listed


def test_the_first_job_of_getting_started_compiles() -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    (job,) = [text for text in blocks("yaml", page) if "kind: TrainJob" in text]
    build = compiled(job)
    assert build.findings == ()
    assert list(build.files) == ["out/prod/team-vision/first-steps/jobset-first-steps.yaml"]


def test_the_number_of_jobs_is_right() -> None:
    words = {19: "nineteen", 20: "twenty", 21: "twenty-one", 22: "twenty-two", 23: "twenty-three", 24: "twenty-four"}
    count = len(list((ROOT / "jobs").glob("*/*.yaml")))
    assert f"for {words[count]} jobs" in re.sub(r"\s+", " ", README)
