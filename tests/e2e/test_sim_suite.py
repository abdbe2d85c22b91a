"""What `make e2e` says and writes down, and what scenarios are."""

from __future__ import annotations

from pathlib import Path

import pytest
import suite
from simulator.events import Kill, Scenario


def test_what_failed_is_named_as_pytest_takes_it(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.e2e.test_x" name="test_a[b]"><failure/></testcase>'
        '<testcase classname="tests.e2e.test_x" name="test_c"/></testsuite></testsuites>',
        encoding="utf-8",
    )
    assert suite.failures(report) == ["tests/e2e/test_x.py::test_a[b]"]


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
