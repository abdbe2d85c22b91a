"""Images: definitions, pins, layers, layouts. What is marked e2e makes real ones: root, mmdebstrap and a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from imagecase import HERE, Run


@pytest.fixture
def run() -> Run:
    """Run trainc in this process."""

    def call(*args: str) -> Result:
        from trainc.cli.root import trainc

        result = CliRunner().invoke(trainc, args, prog_name="trainc")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked e2e unless the marker was asked for."""
    if "e2e" in str(config.getoption("markexpr")):
        return
    for item in items:
        if item.get_closest_marker("e2e") is not None and Path(item.path).is_relative_to(HERE):
            item.add_marker(pytest.mark.skip(reason="builds images: run by `make e2e`"))
