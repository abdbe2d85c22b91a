"""Runs the programs that builds need, in surroundings that depend on nothing but what is given."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_KEPT: Final = ("PATH", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
"""What of the environment a build sees: how to reach the network, and where programs are."""

_PIP: Final = "PIP_"
_LINES: Final = 30


class BuildError(Exception):
    """An image cannot be built here; the text says why, and what would help."""


def tool(name: str, package: str) -> str:
    """Return the path of a program. Raises BuildError, naming the package that has it, where it is missing."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is None:
        raise BuildError(f"{name} is not installed: it is in Debian's package {package}")
    return found


def run(command: Sequence[str | Path], *, environment: Mapping[str, str] | None = None, pip: bool = False) -> str:
    """Run a program to its end and return what it printed. Raises BuildError, with its last lines, where it fails.

    The umask is 022 and the language none, whatever they are here; with ``pip`` the settings of pip are kept.
    """
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or (pip and name.startswith(_PIP))}
    surroundings = {**kept, "LC_ALL": "C.UTF-8", "HOME": os.environ.get("HOME", "/"), **(environment or {})}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env=surroundings,
            umask=0o022,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{command[0]} does not run: {error.strerror}") from None
    if done.returncode != 0:
        told = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_LINES:])
        raise BuildError(f"{Path(command[0]).name} failed with exit status {done.returncode}\n{told}")
    return done.stdout
