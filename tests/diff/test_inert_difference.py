"""What `trainc diff` prints of hostile names and values: on a terminal, and as a comment on GitHub."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import share
from hostile import PIECES, texts
from readers import Page, comment, runner, terminal
from trainc.changes import formats
from trainc.changes.model import (
    Dependency,
    Difference,
    Directory,
    Effect,
    FieldChange,
    JobChange,
    ObjectChange,
    PropertyChange,
    Refusal,
    ReplicatedJob,
    Total,
    Totals,
    Usage,
)
from trainc.changes.phrases import grouped
from trainc.findings import report
from trainc.findings.display import escape_json, escape_text, one_line
from trainc.inputs.source import Document, Source

LABEL = re.compile(
    r'graph LR|  end|  subgraph j\d+\["(?P<a>.*)"\]|    j\d+n\d+\["(?P<b>.*)"\]|  j\d+n\d+ -- "(?P<c>.*)" --> j\d+n\d+'
)
"""A line of a graph. A label has only letters, digits, blanks, -_.,:/ and escapes."""

LIMIT = 10_000_000


def difference(words: list[str]) -> Difference:
    """Return a difference in which every text is one of the words, in turn."""
    turn = itertools.cycle(words)
    word: Callable[[], str] = lambda: next(turn)  # noqa: E731 - shorter than a function
    directories = [Directory(word(), word(), f"{word()}{number}") for number in range(4)]
    applications = [".".join(directory) for directory in directories]
    usage = Usage(2, 4, ((word(), 8),))
    finding = report("TC521", Document(Source(f"{word()}.yaml", "a"), {}), (), word(), hint=word())
    jobs = tuple(
        JobChange(
            directory,
            effect,
            application,
            name=f"{word()}n",
            old_name=f"{word()}o",
            source=f"{word()}s",
            runtime=word(),
            queue=word(),
            properties=(
                PropertyChange(f"{word()}p", (word(), word()), word(), f"{word()}1"),
                PropertyChange("image", (), f"{word()}0", word()),
                PropertyChange("nodes", (), None, word()),
            ),
            objects=(
                ObjectChange(
                    f"{word()}/{word()}",
                    f"K{word()}",
                    word(),
                    f"{word()}2",
                    Effect.UPDATED,
                    (FieldChange(word(), None, word()), FieldChange(f"{word()}[{word()}]", 1, f"{word()}3")),
                ),
            ),
            refusals=(Refusal(word(), word(), word(), f"{word()}r"),),
            cluster=(f"JobSet {word()} is created.", f"Job {word()} is pruned, and {word()} runs."),
            annotation='trainc.dev/run: "2"',
            before=Usage(),
            after=usage,
            replicated_jobs=(
                ReplicatedJob("a", 1, (Dependency("b", word()),)),
                ReplicatedJob("b", 2, ()),
                ReplicatedJob(f"{word()}c", 2, ()),
            ),
            renamed_from=directories[0],
        )
        for directory, application, effect in zip(
            directories,
            applications,
            (Effect.REFUSED, Effect.RERUN, Effect.RENAMED, Effect.DELETED),
            strict=True,
        )
    )
    total = Total(Usage(), usage)
    totals = Totals(total, {(word(), f"{word()}x"): total}, {(word(), word(), f"{word()}y"): total})
    return Difference(
        jobs,
        3,
        totals,
        weakened=(finding,),
        unexplained=(directories[1],),
        foreign=(f"out/{word()}", word()),
        stale=(directories[2],),
    )


def plain(words: list[str]) -> list[str]:
    """Return words of letters and digits with as many lines."""
    return [
        "\n".join(f"w{number}x{at}" * bool(line) for at, line in enumerate(word.split("\n")))
        for number, word in enumerate(words)
    ]


def structure(page: Page) -> list[tuple[str, dict[str, str | None]]]:
    """Return the elements of a comment without code in sentences and comments in addresses."""
    return [element for element in page.elements if element not in (("code", {}), ("!--", {" ": None}))]


def check(words: list[str]) -> None:
    hostile, twin = difference(words), difference(plain(words))
    markdown = escape_text(formats.as_markdown(hostile, LIMIT))
    page = comment(markdown)
    assert structure(page) == structure(comment(formats.as_markdown(twin, LIMIT)))
    shown = "".join(text for _, text in page.text)
    for job in hostile.jobs:
        assert one_line(str(job.directory)) in shown
    for line in next(text for inside, text in page.text if "graph LR" in text).splitlines():
        found = LABEL.fullmatch(line)
        assert found is not None, line
        for label in filter(None, found.groups()):
            assert re.fullmatch(r"(?:[\w .,:/-]|#\d+;)*", label), label
    text, coloured = (formats.as_text(hostile, colour=colour) for colour in (False, True))
    lines = terminal(escape_text(text))
    assert len(lines) == formats.as_text(twin).count("\n") + 1
    assert terminal(escape_text(coloured, colour=True), colour=True) == lines
    data = escape_json(formats.as_json(hostile))
    terminal(data)
    assert json.loads(data)["jobs"][0]["source"] == hostile.jobs[0].source
    for printed in (markdown, escape_text(text), data):
        assert runner(printed) == []


@pytest.mark.parametrize("start", range(0, len(PIECES), 40))
def test_every_piece(start: int) -> None:
    check([f"{piece}{end}" for piece in PIECES[start : start + 40] for end in ("", "a")])


@pytest.mark.parametrize(("job", "value"), [("train", "if x:\n\train()"), ("u0001", "\x01"), ("100", 100)])
def test_the_name_of_a_job_in_an_escape_of_a_value(job: str, value: str | int) -> None:
    objects = (
        ObjectChange("out/p/a/b.yaml", "JobSet", "", "", Effect.UPDATED, (FieldChange("args", None, [{"a": value}]),)),
    )
    jobs = [
        JobChange(Directory("p", "a", name), Effect.UPDATED, f"p.a.{name}", objects=objects) for name in (job, "other")
    ]
    (group,) = grouped(jobs)
    assert group.common.objects[0].fields[0].new == [{"a": value}]


def test_a_fence_in_the_path_of_a_field() -> None:
    check(["```"])
    check(["````", "~~~"])


@settings(max_examples=share(25))
@given(st.lists(texts(3), min_size=1, max_size=5))
def test_any_texts(words: list[str]) -> None:
    check(words)


WORKFLOW = Path(__file__).resolve().parents[2] / ".github" / "workflows" / "diff-comment.yml"


def test_the_workflow_that_posts_takes_every_comment(tmp_path: Path) -> None:
    """It accepts only lines that these could be; tests/repository/test_workflows.py has what it refuses."""
    script = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["comment"]["steps"][0]["run"]
    checker = script.partition("<<'END'; then\n")[2].partition("\nEND\n")[0]
    words = (
        "b\u00e9rt/$x:1",
        "'a' \"b\" (<c> & d@e.example) www.f.example, https://g",
        "`h` ```` #1 @i\n/k\n  ```",
        "1.",
    )
    wordings = [["a-b"], words, PIECES, PIECES[::-1], *(PIECES[start::9] for start in range(9))]
    for wording in wordings:
        for limit in (formats.LIMIT, 4_000):
            path = tmp_path / "comment.md"
            text = escape_text(formats.as_markdown(difference(list(wording)), limit))
            path.write_text(text, encoding="utf-8", newline="")
            done = subprocess.run([sys.executable, "-I", "-c", checker, path], capture_output=True, check=False)
            assert (done.returncode, done.stderr) == (0, b""), text
