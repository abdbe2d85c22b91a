"""The client for notebooks. Its tests are in cases.py, and run in one process: importing the SDK takes two seconds."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = Path(__file__).with_name("cases.py")
PYDANTIC = "ignore:Support for class-based:DeprecationWarning"
"""The option -W without which the import of the SDK fails, as tests turn warnings into errors."""


def test_the_cases(tmp_path: Path) -> None:
    # The folder of its own keeps pytest from removing those of earlier runs, of which some have thousands of files.
    options = ["-p", "no:xdist", "-W", PYDANTIC, "--no-header", f"--basetemp={tmp_path / 'cases'}"]
    command = [sys.executable, "-m", "pytest", *options, os.fspath(CASES)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_the_extra_the_import_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kubeflow", None)
    with pytest.raises(ImportError, match=r"^trainc\.sdk needs the Kubeflow SDK: pip install 'trainc\[sdk\]'$"):
        importlib.import_module("trainc.sdk")
