"""What `make e2e` says and writes down, and what scenarios are."""

from __future__ import annotations

from pathlib import Path

import pytest
import suite
from simulator.events import Kill, Scenario


def test_what_is_told() -> None:
    assert suite.told(suite.Run(12.4, 3, 1)) == "3 passed, 1 skipped in 12 s"
    assert suite.told(suite.Run(1.6, 3, 0, ["a", "b"])) == "3 passed, 0 skipped, 2 failed: a, b in 2 s"


def test_figures_are_a_row_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "e2e.md"
    original = suite.PAGE.read_text(encoding="utf-8")
    page.write_text(original, encoding="utf-8")
    monkeypatch.setattr(suite, "PAGE", page)
    suite.append([suite.Run(30, 5), suite.Run(10, 4, 0, ["test_x"]), suite.Run(20, 5)], 4.2, True)
    added = page.read_text(encoding="utf-8").removeprefix(original.rstrip("\n") + "\n")
    cells = [cell.strip() for cell in added.strip().strip("|").split("|")]
    assert cells[2:] == ["4 s (built)", "3", "30 s", "20 s", "30 s", "14", "test_x"]
    table = [line for line in original.splitlines() if line.startswith("| date")]
    assert len(table) == 1
    assert table[0].count("|") == added.count("|")


def test_scenarios() -> None:
    given = {"limit": 3, "kills": [{"pod": "p", "log_of": "q", "pattern": "^go"}], "delays": {"*": 1}, "until": ["j"]}
    found = Scenario.of(given)
    assert found == Scenario(3, (Kill("p", 9, "q", "^go"),), {"*": 1}, ("j",))
    (kill,) = found.kills
    assert not kill.due({"p": "go", "q": "let it go"})
    assert kill.due({"q": "let it\ngo"})
    assert Kill("p").due({"p": ""})
    assert not Kill("p").due({})
    with pytest.raises(TypeError):
        Scenario.of({"limits": 3})
