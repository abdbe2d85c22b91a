from __future__ import annotations

import re
from pathlib import Path

import pytest

from trainc.data import load_text
from trainc.findings import CODES
from trainc.findings.codes import markdown, page, ranges
from trainc.upstream import FIXES

DOCS = Path(__file__).parents[2] / "docs" / "codes.md"


@pytest.mark.parametrize("code", sorted(CODES))
def test_entry(code: str) -> None:
    entry = CODES[code]
    assert re.fullmatch(r"TC[0-9]{3}", code)
    assert any(code.startswith(prefix) for prefix, _ in ranges())
    assert entry.text.endswith("."), "a text is whole sentences"
    assert not entry.title.endswith("."), "a title is no sentence"
    assert entry.hint is None or not entry.hint.endswith("."), "a hint is no sentence"


@pytest.mark.parametrize("code", sorted(CODES))
def test_page(code: str) -> None:
    entry = CODES[code]
    text = page(code)
    words = " ".join(text.split())
    assert text.startswith(f"{code}: {entry.title}\n")
    assert f"Severity: {entry.severity}" in words
    assert " ".join(entry.text.split()) in words
    assert (f"Hint: {entry.hint}" in words) == (entry.hint is not None)
    assert max(map(len, text.splitlines()[1:])) <= 80


def test_every_entry_of_the_table_is_read() -> None:
    table = load_text("codes.md")
    codes = re.findall(r"^### ?(\S+):", table, re.M)
    assert codes == sorted(set(codes))
    assert {*codes, *(fix.code for fix in FIXES.values())} == set(CODES)
    assert len(re.findall(r"^Hint:", table, re.M)) == sum(entry.hint is not None for entry in CODES.values())
    assert [code for code in codes if re.search(r"Severity:|Hint:|\n", CODES[code].text)] == []
    for entry in table.split("\n\n### ")[1:]:
        paragraphs = entry.partition("\n\n## ")[0].split("\n\n")
        assert len(paragraphs) == 3 + ("\n\nHint:" in entry), "a text is one paragraph"


def test_no_page_for_what_is_no_code() -> None:
    with pytest.raises(KeyError):
        page("TC000")


def test_docs_are_those_of_the_table(update: bool) -> None:
    if update:
        DOCS.write_text(markdown(), encoding="utf-8", newline="\n")
    assert DOCS.read_bytes() == markdown().encode(), "run compiler/tools/codes.py (make schemas)"
    assert re.findall(r"^### (TC\d+)", markdown(), re.M) == sorted(CODES)
