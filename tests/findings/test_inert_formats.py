"""Findings in every format, with hostile text everywhere, as the real readers of the format read them."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from findings_samples import document, findings_of
from hypothesis import example, given, settings

from effort import share
from hostile import EVERYTHING, PIECES, texts
from readers import runner, terminal
from trainc.findings import CODES, Finding, Related, Severity, report
from trainc.findings.display import ESCAPES, escape_text, one_line
from trainc.findings.formats import FORMATS
from trainc.findings.text import render, render_brief
from trainc.inputs.source import Document, Mark, Source

any_findings = findings_of(texts())


def full(text: str) -> Finding:
    """Return a finding in which all text is this one."""
    source = Document(Source(text, text), {"kind": text}, 0, lambda: {(): Mark(1, 1)})
    related = (Related(text, source, (text,)),)
    return Finding("TC101", Severity.NOTE, text, source, (text, 0), text, text, text, related, text, text)


HOSTILE = [full(text) for text in EVERYTHING]
few = settings(max_examples=share(40))

LINE = re.compile(
    r".*:\d+:\d+: (error|warning|note)\[TC\d{3}\]: .*"  # a finding
    r"| +\||  *\d+ \|.*| +\| .*| += (found|expected|hint|note): .*| +::: .*|  = \d+ \w+ of TC\d{3} .*|"
)
"""A line of the text format: the finding, its source, a detail, another position, a count."""


def printed(found: list[Finding], form: str) -> str:
    """Return findings as the command line prints them."""
    return ESCAPES[form](FORMATS[form](found))


@pytest.mark.parametrize("piece", [*PIECES, *EVERYTHING], ids=ascii)
def test_a_text_on_one_line_is_drawn_and_nothing_else(piece: str) -> None:
    (line,) = terminal(one_line(f"a{piece}b", 10_000))
    assert (line[0], line[-1]) == ("a", "b")
    assert runner(escape_text(f"{piece}\n")) == []


@few
@example(HOSTILE)
@given(any_findings)
def test_text_on_a_terminal(found: list[Finding]) -> None:
    for shown in (printed(found, "text"), escape_text(render_brief(found))):
        lines = terminal(shown)
        assert [line for line in lines if not LINE.fullmatch(line)] == []
        assert runner(shown) == []
    heads = [line for line in terminal(printed(found, "text")) if re.search(r":\d+:\d+: \w+\[TC\d{3}\]: ", line)]
    assert len(heads) >= len(found)


@few
@example(HOSTILE)
@given(any_findings)
def test_text_in_colour(found: list[Finding]) -> None:
    plain, coloured = escape_text(render(found)), escape_text(render(found, colour=True), colour=True)
    assert terminal(coloured, colour=True) == terminal(plain)
    assert coloured.count("\x1b[0m") * 2 == coloured.count("\x1b["), "only colours of ours, each with its end"


@few
@example(HOSTILE)
@given(any_findings)
def test_annotations(found: list[Finding]) -> None:
    shown = printed(found, "github")
    terminal(shown)
    commands = runner(shown)
    kinds = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
    assert sorted(command.name for command in commands) == sorted(kinds[finding.severity] for finding in found)
    assert shown.count("\n") == len(found)
    titles = {f"{code} {entry.title}" for code, entry in CODES.items()}
    for command in commands:
        assert set(command.properties) <= {"title", "file", "line", "col"}
        assert command.properties["title"] in titles
        terminal(command.data)


@pytest.mark.parametrize("form", ["json", "sarif", "codequality"])
@few
@example(found=HOSTILE)
@given(found=any_findings)
def test_formats_in_json(form: str, found: list[Finding]) -> None:
    shown = printed(found, form)
    if form == "sarif":  # all but the rules, which are the same for all findings and long
        whole = json.loads(shown)
        shown = ESCAPES[form](json.dumps(whole["runs"][0]["results"]))
        for message in messages(whole):
            assert links(message) == [], message
    else:
        assert json.loads(shown) == json.loads(FORMATS[form](found)), "escapes change no value"
    terminal(shown)
    assert runner(shown) == []


def messages(value: Any) -> list[str]:
    """Return the texts of the messages in a log."""
    if isinstance(value, dict):
        own = [value["text"]] if isinstance(value.get("text"), str) else []
        return own + [text for child in value.values() for text in messages(child)]
    return [text for child in value for text in messages(child)] if isinstance(value, list) else []


def links(message: str) -> list[str]:
    """Return the links in the message of a SARIF log (3.11.6), however a viewer counts backslashes."""
    return re.findall(r"\[.*?\]\(.*?\)", message, re.S)


@few
@example(HOSTILE)
@given(any_findings)
def test_a_report_of_tests(found: list[Finding]) -> None:
    shown = printed(found, "junit")
    terminal(shown)
    assert runner(shown) == []
    root = fromstring(shown)
    counts = {"tests", "failures", "errors", "skipped"}
    allowed = {
        "testsuites": {"name", *counts},
        "testsuite": {"name", *counts},
        "testcase": {"classname", "name", "file", "line"},
        "failure": {"type", "message"},
        "skipped": {"type", "message"},
        "system-out": set(),
    }
    for element in root.iter():
        assert set(element.attrib) <= allowed[element.tag]
        for text in (*element.attrib.values(), element.text or ""):
            terminal(text)
        assert "[[ATTACHMENT|" not in (element.text or ""), "Jenkins and GitLab link the file, wherever it is"
    assert len([*root.iter("testcase")]) == max(len(found), 1)


def test_a_link_in_a_message_whose_text_has_a_bracket() -> None:
    finding = report("TC102", document(), (), r"see [a\]](https://evil.example) and \[b](0)")
    (result,) = json.loads(printed([finding], "sarif"))["runs"][0]["results"]
    assert result["message"]["text"] == r"see [a\]] (https://evil.example) and \[b] (0)"
