"""pytest imports the modules of tests by their names alone, so one run cannot have two of a name."""

from __future__ import annotations

from collections import Counter

from syntax import ROOT


def test_modules_of_tests_have_names_of_their_own() -> None:
    names = Counter(path.name for path in (ROOT.parent / "tests").rglob("test_*.py"))
    assert len(names) > 100
    assert [name for name, count in names.items() if count > 1] == []
