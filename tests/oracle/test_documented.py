"""The page on faithful output names every divergence, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from oracle.divergences import DIVERGENCES

PAGE = Path(__file__).parents[2] / "docs" / "faithful.md"


def test_the_page_lists_the_divergences() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted(entry.name for entry in DIVERGENCES)
