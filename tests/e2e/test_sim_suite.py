"""What `make e2e` says and writes down, and what scenarios are."""

from __future__ import annotations

from pathlib import Path

import suite


def test_what_failed_is_named_as_pytest_takes_it(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.e2e.test_x" name="test_a[b]"><failure/></testcase>'
        '<testcase classname="tests.e2e.test_x" name="test_c"/></testsuite></testsuites>',
        encoding="utf-8",
    )
    assert suite.failures(report) == ["tests/e2e/test_x.py::test_a[b]"]
