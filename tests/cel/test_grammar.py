"""The tables of the parser and the grammar that they come from."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import lark
import pytest

from trainc.cel import grammar
from trainc.cel.grammar import SUBSTITUTIONS, TABLES, GrammarChanged, adapted, digest, grammar_file, unpack
from trainc.cel.grammarbuild import build
from trainc.cel.parser import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Tables are read anew in the test and after it."""
    grammar.tables.cache_clear()
    yield
    grammar.tables.cache_clear()


def test_the_tables_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "compiler" / "tools"))
    import grammar as tool

    assert tool.text() == (ROOT / "compiler" / "trainc" / "data" / TABLES).read_text(encoding="utf-8")


def test_the_grammar_has_no_conflict(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark.logger, "propagate", True)
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        build(grammar_file())
    assert [record.message for record in caplog.records if "onflict" in record.message] == []
    assert any("Unused terminals" in record.message for record in caplog.records)  # lark does tell what it sees


@pytest.mark.parametrize("old", [old for old, _ in SUBSTITUTIONS], ids=lambda old: old.split()[0])
def test_another_grammar_is_noticed(old: str) -> None:
    text = grammar_file().decode()
    for changed in (text.replace(old, "# gone\n"), text + old):
        assert digest(changed.encode()) != digest(text.encode())
        with pytest.raises(GrammarChanged, match="not once"):
            adapted(changed.encode())


def test_an_ambiguous_grammar_is_refused() -> None:
    source = grammar_file() + b"\nprimary: DOT IDENT\nident_arg: primary\n"
    with pytest.raises(GrammarChanged):
        build(source)


def test_other_text_makes_new_tables(forgetful: None, monkeypatch: pytest.MonkeyPatch) -> None:
    source = grammar_file() + b"\n// another version\n"
    monkeypatch.setattr(grammar, "grammar_file", lambda: source)
    made = grammar.tables()
    assert made.actions == unpack(build(source)).actions
    assert parse("a.b", frozenset())


def test_neither_lark_nor_celpy_is_imported(forgetful: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("lark", "celpy")]:
        monkeypatch.delitem(sys.modules, name)
    parse("a + 1", frozenset())
    assert not {"lark", "celpy"} & sys.modules.keys()
