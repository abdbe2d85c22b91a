"""Copies of the example that this repository is, and trainc run in one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("images", "jobs", "out", "policies", "runtimes", "images.lock.yaml", "trainc.yaml")


def copied(root: Path) -> Path:
    """Copy the inputs and out/, as a fresh clone has them."""
    root.mkdir()
    for part in PARTS:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy2
        copy(ROOT / part, root / part)
    return root


def trainc(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, without a terminal and without a cache."""
    command = [sys.executable, "-m", "trainc", *arguments]
    environment = {**os.environ, "TRAINC_CACHE_DIR": ""}
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=environment)
