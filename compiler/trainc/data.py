"""Reads the data files that travel in the package; they count as code."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent / "data"


@cache
def load_json(name: str) -> Any:
    """Return the parsed file ``data/<name>``. It is shared: never change it."""
    return json.loads((ROOT / name).read_bytes())


@cache
def load_text(name: str) -> str:
    """Return the text of ``data/<name>``."""
    return (ROOT / name).read_text(encoding="utf-8")
