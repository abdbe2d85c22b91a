"""Images: definitions, pins, layers, layouts. What is marked e2e makes real ones: root, mmdebstrap and a network."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result
from imagecase import Run


@pytest.fixture
def run() -> Run:
    """Run trainc in this process."""

    def call(*args: str) -> Result:
        from trainc.cli.root import trainc

        result = CliRunner().invoke(trainc, args, prog_name="trainc")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call
