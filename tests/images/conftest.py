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
    """Skip what is marked e2e or containerfile unless the marker was asked for."""
    asked = str(config.getoption("markexpr"))
    for item in items:
        for marker, target in (("e2e", "e2e"), ("containerfile", "containerfiles")):
            if marker not in asked and item.get_closest_marker(marker) and Path(item.path).is_relative_to(HERE):
                item.add_marker(pytest.mark.skip(reason=f"builds images: run by `make {target}`"))
