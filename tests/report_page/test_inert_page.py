"""The page of trainc report with hostile text everywhere, as a parser of HTML reads it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from effort import share
from hostile import EVERYTHING, texts
from readers import Page, runner, terminal
from trainc.report.page import page


def data_of(text: str) -> Any:
    """Return the data of a page in which each text is this one."""
    job = {
        **dict.fromkeys(("environment", "namespace", "name", "runtime", "queue", "priority", "file"), text),
        "state": "ready",
        "pods": 1,
        "gpus": 8,
        "graph": 0,
        "images": [0],
        "objects": [text],
        "findings": [0],
    }
    graph = [{"name": text, "pods": 1, "gpus": 8, "waits": [{"for": text, "until": text}]}]
    finding = {"severity": "error", "code": "TC101", "file": text, "line": 1, "message": text, "hint": text}
    image = {"name": text, "digest": text}
    return {"jobs": [job], "graphs": [graph], "images": [image], "findings": [finding], "codes": {"TC101": "a"}}


def strings(value: Any) -> list[str]:
    """Return the strings of a JSON value, without keys."""
    if isinstance(value, dict | list):
        return [text for child in (value.values() if isinstance(value, dict) else value) for text in strings(child)]
    return [value] if isinstance(value, str) else []


PLAIN = Page(page(data_of("a"), "a", "a"))


def check(text: str) -> None:
    written = page(data_of(text), f"a{text}", f"a{text}")
    read = Page(written)
    assert read.elements == PLAIN.elements, "no element and no attribute comes from a value"
    assert [inside for inside, _ in read.text] == [inside for inside, _ in PLAIN.text]
    (embedded,) = [shown for inside, shown in read.text if inside[-1:] == ("script",) and shown.startswith("{")]
    for value in strings(json.loads(embedded)):
        terminal(value)
    for inside, shown in read.text:
        if inside[-1:] not in (("script",), ("style",)):
            terminal(shown)
    assert runner(written) == []


@pytest.mark.parametrize("text", EVERYTHING, ids=range(len(EVERYTHING)))
def test_all_pieces(text: str) -> None:
    check(text)


@settings(max_examples=share(60))
@given(texts())
def test_any_text(text: str) -> None:
    check(text)
