"""The tables of the parser and the grammar that they come from."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from types import ModuleType

import lark
import pytest

from trainc.cel import lalr
from trainc.cel.parser import parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("grammar_tool", ROOT / "compiler" / "tools" / "grammar.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_current(tool: ModuleType) -> None:
    assert tool.text() == tool.OUTPUT.read_text(encoding="utf-8"), "run compiler/tools/grammar.py"


def test_the_grammar_has_no_conflict(
    tool: ModuleType, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lark.logger, "propagate", True)
    with caplog.at_level(logging.DEBUG, logger=lark.logger.name):
        tool.parser()
    assert [record.message for record in caplog.records if "onflict" in record.message] == []
    assert caplog.records  # lark does log what it sees


def test_neither_lark_nor_celpy_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] in ("lark", "celpy")]:
        monkeypatch.delitem(sys.modules, name)
    lalr.tables.cache_clear()
    parse("a + 1", frozenset())
    assert not {"lark", "celpy"} & sys.modules.keys()
