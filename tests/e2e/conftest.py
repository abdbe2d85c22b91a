"""End-to-end tests run pods, take seconds each and need root: `make e2e` asks for them with -m e2e."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked e2e unless the marker was asked for."""
    if "e2e" in str(config.getoption("markexpr")):
        return
    for item in items:
        if item.get_closest_marker("e2e") is not None:
            item.add_marker(pytest.mark.skip(reason="end to end: run by `make e2e`"))
