"""The page on threats names checks and tests that exist, and each attack of the tests."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from trainc.findings import CODES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("## Who can change what")[2].partition("\n## ")[0]
ROWS = [line for line in TABLE.splitlines() if line.startswith("| ")]
ATTACKS = "tests/attack/test_pull_requests.py"
NOTHING = "nothing (below)"


@cache
def functions(name: str) -> frozenset[str]:
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def attacks() -> set[str]:
    """Return the names of the attacks, which are keys of a literal."""
    tree = ast.parse((ROOT / ATTACKS).read_text(encoding="utf-8"))
    (table,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "ATTACKS"
    )
    assert isinstance(table, ast.Dict)
    return {key.value for key in table.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


@pytest.mark.parametrize("row", ROWS[1:], ids=lambda row: row.split("|")[2].strip()[:40])
def test_each_row_names_what_holds_it(row: str) -> None:
    who, worst, held, tests = (cell.strip() for cell in row.strip("|").split("|"))
    assert worst
    codes = re.findall(r"TC\d+", held)
    assert [code for code in codes if code not in CODES] == []
    assert codes or NOTHING in held or "test_" in tests
    named = re.findall(r"`(tests/\S+?\.py)::(\w+)`", tests)
    assert [(name, test) for name, test in named if test not in functions(name)] == []
    files = re.findall(r"`(tests/\S+\.txt)`", tests)
    assert [name for name in files if not (ROOT / name).is_file()] == []
    tried = re.findall(r"`test_pull_requests\.py \[([\w-]+)\]`", tests)
    assert set(tried) <= attacks()
    assert len(named) + len(files) + len(tried) == tests.count("`") // 2 > 0
    assert [path for path in re.findall(r"`([\w./-]+)`", who) if not (ROOT / path).exists()] == []


def test_each_attack_is_on_the_page() -> None:
    assert set(re.findall(r"test_pull_requests\.py \[([\w-]+)\]", PAGE)) - {"NAME"} == attacks()


def test_what_nothing_holds_is_named_below() -> None:
    below = PAGE.partition("## What trainc cannot prevent")[2].partition("\n## ")[0]
    for word in ("images.lock.yaml", "images/", "workflow"):
        assert word in below
    owners = (ROOT / "compiler/trainc/data/templates/init/CODEOWNERS.j2").read_text(encoding="utf-8")
    lines = set(re.findall(r"(?m)^(/\S+)", owners))
    listed = PAGE.partition("## What CODEOWNERS has to cover")[2]
    assert {path for row in re.findall(r"(?m)^\| (`/.*?) \|", listed) for path in re.findall(r"`(/\S+)`", row)} == lines
