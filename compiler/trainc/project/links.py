"""Finds where symbolic links lead.

trainc reads nothing behind the links of a project: neither can a pull request make it quote a file of the machine that
it runs on, nor let a policy depend on a file that looks harmless.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from trainc.project.names import parents

GIT: Final = ".git"
"""Git's folder counts as outside: its configuration may have tokens."""


def leads_to_folder(path: Path) -> bool:
    """Return whether a path leads to a folder. Raises OSError if that is unknown, unlike Path.is_dir of Python 3.14."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def has_link(root: Path, name: str) -> bool:
    """Return whether a path below root is a link, or behind one; root itself may be a link."""
    return name != "." and any(os.path.islink(root / step) for step in (*parents(name), name))


def real_path(path: str | Path) -> str:
    """Return a path of the machine with all links resolved; of hundreds of links in a row, the root."""
    try:
        return os.path.realpath(path)
    except RecursionError:  # before Python 3.13
        return os.path.abspath(os.sep)


def leads_out(root: str | Path, path: str | Path) -> bool:
    """Return whether a path, with all links resolved, is outside of a folder or in git's folder."""
    home, real = real_path(root), real_path(path)
    if real == home:
        return False
    start = home.rstrip(os.sep) + os.sep
    return not real.startswith(start) or GIT in real[len(start) :].lower().split(os.sep)


def up_to_top(folder: Path, top: Path | None) -> list[Path]:
    """Return a folder, given by its real path, and those above it up to the top of its git repository, if any."""
    return [] if top is None else [each for each in (folder, *folder.parents) if each.is_relative_to(top)]


def top_of(folder: Path) -> Path | None:
    """Return the real path of the top of the git repository that a folder is in, or None.

    Folders that the user may not look into do not count: Path.exists would raise OSError before Python 3.14.
    """
    real = Path(real_path(folder))
    return next((each for each in (real, *real.parents) if os.path.exists(each / GIT)), None)
