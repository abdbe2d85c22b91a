"""End-to-end tests run pods, take seconds each and need root: `make e2e` asks for them with -m e2e."""

from __future__ import annotations

import json
import os
from pathlib import Path

import matrix
import pytest
import roots
from running import Runner, render
from simulator import possible

import runtimes


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Return what runs rendered objects, with the images that there are; skip where that cannot be."""
    if (why := possible.reason()) is not None:
        pytest.skip(f"pods cannot be simulated here: {why}")
    if given := os.environ.get("TRAINC_E2E_IMAGES"):
        return Runner(Path(given))
    try:
        found = roots.images()
    except roots.NotPossible as error:
        pytest.skip(str(error))
    file = tmp_path_factory.mktemp("images") / "images.json"
    file.write_text(json.dumps(found), encoding="utf-8")
    return Runner(file)


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the applications of the table's rows, rendered: a folder each."""
    folder = tmp_path_factory.mktemp("table")
    runtimes.write(folder, matrix.rows())
    return render(folder) / runtimes.NAMESPACE
