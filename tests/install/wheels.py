"""Wheel and sdist, and commands that run outside of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


BUILD = (sys.executable, "-m", "build", "--no-isolation")
"""Builds with the backend of requirements.lock, whose hash was checked when it was installed."""


class Distributions(NamedTuple):
    """The files that ``python -m build`` writes, and the wheel that is built from the tree without the sdist."""

    wheel: Path
    sdist: Path
    direct: Path


def clean_environment(home: Path) -> dict[str, str]:
    """Return an environment without anything of this repository, its tests and the user."""
    ours = ("PYTHON", "TRAINC", "GIT_", "VIRTUAL_ENV", "COV_", "XDG_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = os.pathsep.join(each for each in kept["PATH"].split(os.pathsep) if ROOT not in Path(each).parents)
    return {**kept, "PATH": path, "HOME": str(home)}


def call(*command: str | Path, cwd: Path, **variables: str) -> str:
    """Run a command that has to succeed, and return its output."""
    environment = {**clean_environment(cwd), **variables}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout
