"""Generates questions about CEL."""

from __future__ import annotations

from typing import Any


def selection() -> dict[str, list[dict[str, Any]]]:
    return {}
