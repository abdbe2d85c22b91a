"""docs/comparison.md: every mistake is found once, at its position, and the page shows what the tools print today."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import compare
import pytest

from bench import peers
from gitrepo import needs_git

CASES = compare.cases()
PAGE = compare.PAGE.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE))
SHORT = compare.Case(
    {
        "name": "short",
        "at": "a/b.yaml:3:5",
        "code": "TC101",
        "helm": {"at": "c.yaml:7:1", "found": "is wrong", "field": "x"},
        "kustomize": {"missed": "a reason", "shows": "kept"},
        "kubectl": {"cluster": "refused"},
        "conftest": {"other": "a reason"},
    }
)


def parameter(case: compare.Case) -> object:
    return pytest.param(case, id=case.name, marks=[needs_git] if "--base" in case.command else [])


@pytest.mark.parametrize("case", [parameter(case) for case in CASES])
def test_trainc_finds_the_mistake_once_as_the_page_shows(case: compare.Case, tmp_path: Path) -> None:
    output = compare.trainc_output(case, tmp_path / "repository")
    verdict = case.own_verdict(output)
    assert verdict.summary.startswith("file, line, column, "), output.text
    assert verdict.advice, output.text
    section = SECTIONS[case.data["title"]]
    assert f"trainc:\n\n```text\n{output.shown}```\n" in section
    assert f"```diff\n{compare.difference(case)}```\n" in section


def test_without_a_mistake_there_is_no_finding(tmp_path: Path) -> None:
    output = compare.trainc_output(None, tmp_path / "repository", "trainc render --check -v")
    assert (compare.FINDING.findall(output.text), output.status) == ([], 0), output.text


def test_the_cases_are_the_fifteen_folders_and_all_on_the_page() -> None:
    names = [case.name for case in CASES]
    assert len(names) == 15
    assert sorted(names) == sorted(path.name for path in (compare.HERE / "mistakes").iterdir())
    assert [case.data["title"] for case in CASES] == [*SECTIONS][2:]
    table = re.findall(r"(?m)^\| \[(.+)\]\(#([\w-]+)\) \| file, line, column, ", PAGE)
    assert [title for title, _ in table] == [*SECTIONS][2:]
    for title, anchor in table:
        assert anchor == re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_the_programs_that_the_page_names_are_in_the_repository() -> None:
    programs = re.findall(r"(?m)^\.venv/bin/python (\S+)", PAGE)
    assert programs == ["tests/bench/peers.py", "tests/comparison/compare.py"]
    assert all((compare.ROOT / name).is_file() for name in programs)


def test_the_page_names_nothing_of_a_machine() -> None:
    assert "\x1b" not in PAGE
    assert str(compare.ROOT) not in PAGE
    assert set(re.findall(r"(?<=['/ ])/[a-z]+/", PAGE)) == {"/repository/", "/spec/"}  # a folder, a JSON pointer


def test_a_verdict_is_read_from_the_output() -> None:
    printed = compare.Output("helm", "c.yaml: line 7: x is wrong\n", 1)
    found = SHORT.verdict("helm", printed)
    assert (found.summary, found.file, found.line, found.column) == ("file, line, field", True, True, False)
    assert SHORT.verdict("helm", compare.Output("helm", "c.yaml: line 70: x is wrong\n", 1)).summary == "file, field"
    for text, status in (("x is right\n", 1), (printed.text, 0), ("y is wrong\n", 1)):
        with pytest.raises(AssertionError):
            SHORT.verdict("helm", compare.Output("helm", text, status))
    assert SHORT.verdict("conftest", None).summary == "not its work"
    with pytest.raises(AssertionError):
        SHORT.verdict("kustomize", compare.Output("kustomize", "an error\n", 1))
    with pytest.raises(AssertionError):
        SHORT.verdict("kubectl", compare.Output("kubectl", "a finding without a cluster\n", 1))


@pytest.mark.parametrize(
    "text",
    ["", "a/b.yaml:3:4: error[TC101]: x\n", "a/b.yaml:3:5: error[TC102]: x\n", 2 * "a/b.yaml:3:5: error[TC101]: x\n"],
)
def test_a_mistake_of_trainc_is_no_verdict(text: str) -> None:
    with pytest.raises(AssertionError):
        SHORT.own_verdict(compare.Output("trainc validate", text, 1))


def test_objects_that_a_tool_prints_are_shortened() -> None:
    output = compare.Output("kustomize build", "kind: A\nkept: 1\n  b: 2\n", 0)
    assert SHORT.shortened("kustomize", output).text == "kept: 1\n[... 2 other lines: the JobSet]"
    assert SHORT.shortened("conftest", output) == output


@pytest.mark.peers
def test_the_other_tools_print_what_the_page_shows(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    found = peers.pinned(peers.FOLDER)
    tools = {name: found[name] for name in compare.NAMES if name in found}
    if not tools:
        pytest.skip("none of the other tools in its pinned version (python tests/bench/peers.py)")
    theirs = {case.name: compare.peer_outputs(case, tmp_path, tools) for case in CASES}
    for case in CASES:
        for name, output in theirs[case.name].items():
            if case.verdict(name, output).kind in ("found", "missed"):
                shown = case.shortened(name, output).shown
                assert f"\n\n```text\n{shown}```\n" in SECTIONS[case.data["title"]], (case.name, name)
    if len(tools) == len(compare.NAMES):
        ours = {case.name: compare.trainc_output(case, tmp_path / f"trainc-{case.name}") for case in CASES}
        assert compare.page(ours, theirs, compare.accepted(tmp_path, tools)) == PAGE
