"""Every format shows the same findings: a handful is compared with ``goldens/``, which ``--update`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from findings_samples import document, handful

from trainc.findings import Finding, report
from trainc.findings.formats import FORMATS

GOLDENS = Path(__file__).parent / "goldens"


def shown(name: str, found: list[Finding]) -> str:
    text = FORMATS[name](found, False)
    if name != "sarif":
        return text
    results = json.loads(text)["runs"][0]["results"]  # beside them is the table of codes, which has tests of its own
    return json.dumps(results, indent=1) + "\n"


@pytest.mark.parametrize("name", FORMATS)
def test_a_handful_in_full(name: str, update: bool) -> None:
    path = GOLDENS / f"handful.{name}"
    if update:
        path.write_text(shown(name, handful()), encoding="utf-8")
    assert shown(name, handful()) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_the_order_of_findings_is_that_of_their_places(name: str) -> None:
    assert shown(name, handful()[::-1]) == shown(name, handful())


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("colour", [False, True])
def test_the_last_line_ends(name: str, colour: bool) -> None:
    assert FORMATS[name]([report("TC101", document(), (), "m")], colour).endswith("\n")


@pytest.mark.parametrize(("name", "text"), [("text", ""), ("github", ""), ("json", "[]\n")])
def test_nothing(name: str, text: str) -> None:
    assert FORMATS[name]([], False) == text
