"""The project that the tests of a process write in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from lab import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    memory = Path("/dev/shm")  # where waiting for the disk takes no time
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        lab = Lab(Path(folder))
        yield lab
        lab.close()
