from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.basics.jsonvalues import Path
from trainc.findings import Related, Severity, report, text
from trainc.findings.display import (
    ELLIPSIS,
    HINT_WIDTH,
    LINE_WIDTH,
    MESSAGE_WIDTH,
    PATH_WIDTH,
    VALUE_WIDTH,
    cells,
    one_line,
    width,
    window,
)
from trainc.findings.text import render
from trainc.inputs.source import Document, Mark, Source

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def document(text: str | bytes, marks: dict[Path, Mark] | None = None, name: str = "jobs/a/j.yaml") -> Document:
    return Document(Source(name, text), {}, 0, lambda: marks or {})


def test_colour_adds_escapes_and_nothing_else() -> None:
    place = document("a: 1\n", {("a",): Mark(1, 1)})
    findings = [
        report("TC102", place, ("a",), "m", severity=severity, found="f", related=(Related("r", place),))
        for severity in Severity
    ]
    coloured = render(findings, colour=True)
    assert "\x1b[1;31merror[TC102]\x1b[0m" in coloured
    assert "\x1b[1;33mwarning[TC102]" in coloured
    assert "\x1b[1;36mnote[TC102]" in coloured
    assert ANSI.sub("", coloured) == render(findings)
    assert "\x1b" not in render(findings)


@pytest.mark.parametrize(
    ("line", "column", "marked"),
    [
        ("    numNods: 2", 5, "numNods"),
        ("  - name: a", 5, "name"),
        ("args: [--a=b c, d]", 8, "--a=b c"),
        ("- some words # why", 3, "some words"),
        ('{"a b": 1, "c": 2}', 2, '"a b"'),
        ("'it''s: x': 2", 1, "'it''s: x'"),
        ("image: http://a:80/b", 8, "http://a:80/b"),
        ("a: 1 # trainc: x", 6, "# trainc: x"),
        ("# trainc: ignore TC409, TC410 x", 18, "TC409"),
        ("名前: x", 1, "名前"),
        ("a: [", 4, "["),
        ('"open', 1, '"open'),
    ],
)
def test_what_is_underlined(line: str, column: int, marked: str) -> None:
    shown, _, length = window(line, column)
    assert shown == line
    assert length == width(marked)
    assert line[column - 1 : column - 1 + len(marked)] == marked


def test_what_is_underlined_stays_on_the_line_shown() -> None:
    shown, before, length = window("k" * 300 + ": 1", 1)
    assert before + length == len(shown) - len(ELLIPSIS)
    rendered = render([report("TC102", document("名" * 300, {(): Mark(1, 1)}), (), "m")])
    assert width(rendered.splitlines()[2]) >= width(rendered.splitlines()[3])


@pytest.mark.parametrize("length", [LINE_WIDTH - 1, LINE_WIDTH, LINE_WIDTH + 1, 5000, 2_000_000])
@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_long_lines_are_cut_around_the_caret(length: int, place: str) -> None:
    column = {"start": 1, "middle": length // 2, "end": length}[place]
    line = "a" * (column - 1) + "X" + "b" * (length - column)
    shown, before, _ = window(line, column)
    assert shown[before] == "X"
    assert width(shown) <= LINE_WIDTH + 2 * len(ELLIPSIS)
    assert (length > LINE_WIDTH) == (ELLIPSIS in shown)


@given(st.text(st.characters(exclude_characters="\n\r")), st.integers(0, 400))
def test_window_never_fails_and_points_inside(line: str, column: int) -> None:
    shown, before, length = window(line, column)
    assert 0 <= before <= width(shown)
    assert length == 1 or before + length <= width(shown)
    assert width(shown) <= LINE_WIDTH + 2 * len(ELLIPSIS) + 10  # one cell may be a whole escape
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in shown)


@given(st.text(max_size=60, alphabet="ab\té名\u0301"))
def test_a_cell_for_each_code_point(line: str) -> None:
    shown = cells(line)
    assert len(shown) == len(line)
    at = 0
    for char, cell in zip(line, shown, strict=True):
        at += width(cell)
        is_of_pile = (char, cell) == ("\u0301", "\\u0301")
        assert cell == char or is_of_pile or (char == "\t" and at % 4 == 0)


@given(st.text(), st.integers(10, 200))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    shown = one_line(text, limit)
    assert len(shown) <= limit
    assert len(shown.splitlines()) <= 1
    assert shown == text or "\\" in shown or shown.endswith(ELLIPSIS)


def test_values_and_messages_are_cut() -> None:
    finding = report("TC102", document(""), (), "m" * 5000, found="f" * 500, hint="h\nh" * 200)
    head, found, hint = render([finding]).splitlines()
    assert len(head) <= MESSAGE_WIDTH + len("jobs/a/j.yaml:1:1: error[TC102]: ")
    assert found == "   = found: " + "f" * (VALUE_WIDTH - 3) + "..."
    assert hint.startswith("   = hint: h\\nhh\\nh")
    assert len(hint) == len("   = hint: ") + HINT_WIDTH


def test_a_long_path_shows_its_end() -> None:
    path = ("spec", *("replicatedJobs", 0) * 8, "name")
    shown = render([report("TC102", document("a: 1\n", {path: Mark(1, 1)}), path, "m")])
    caret = shown.splitlines()[3].partition("^ ")[2]
    assert len(caret) == PATH_WIDTH
    assert caret.startswith("...")
    assert caret.endswith("replicatedJobs[0].name")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_are_those_of_an_editor(newline: str) -> None:
    text = newline.join(("a: 1", "b:\x0c\u2028 2", "c: 3"))
    shown = render([report("TC102", document(text, {(): Mark(3, 1)}), (), "m")])
    assert " 3 | c: 3\n" in shown


def test_a_byte_order_mark_is_no_column() -> None:
    shown = render([report("TC102", document("\ufeffa: 1\n", {(): Mark(1, 4)}), (), "m")])
    assert shown.splitlines()[2:] == [" 1 | a: 1", "   |    ^"]


def test_bytes_that_are_not_utf8_are_shown() -> None:
    assert " 1 | a: \ufffd\n" in render([report("TC001", document(b"a: \xff\n"), (), "m")])


def test_each_source_is_split_into_lines_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many findings may lead to a few large files in turn, such as jobs with the names of others."""
    split: list[str] = []

    def lines(source: Source) -> list[str]:
        split.append(source.name)
        return source.decoded().split("\n")

    monkeypatch.setattr(text, "lines_of", lines)
    large = [document("a: 1\n", {("a",): Mark(1, 1)}, f"jobs/a/{number}.yaml") for number in range(9)]
    related = [tuple(Related("also here", other) for other in large) for _ in range(9)]
    render([report("TC102", large[0], ("a",), f"m{number}", related=each) for number, each in enumerate(related)])
    assert sorted(split) == [each.source.name for each in large]
