"""Follows symbolic links.

They are followed only within the project, so that no pull request makes trainc quote a file of the machine that it runs
on.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

GIT = ".git"
"""Git's folder counts as outside: its configuration may have tokens."""

LONGEST: Final = 4096
"""The most characters of a path, and of the text of a link, in Linux."""


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:  # not a link, or nothing at all
        return None


def leads_to_folder(path: Path) -> bool:
    """Return whether a path leads to a folder. Raises OSError if that is unknown, unlike Path.is_dir of Python 3.14."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


_IN_A_ROW: Final = 40
"""The most links on the way to one file in Linux."""


class RealPaths:
    """Resolves symbolic links as os.path.realpath does, but each only once, and any number of them in a row.

    Otherwise, many links that each lead to all others would take quadratic time. Of links in one folder with the same
    text, as git stores it only once, the first is resolved. ``read`` returns the text of a link.
    """

    def __init__(self, read: Callable[[str], str | None] = _link) -> None:
        self.read = read
        self.links: dict[str, str] = {}
        self.texts: dict[tuple[str, str], str] = {}

    def of(self, path: str) -> str:
        """Return an absolute path without links; one in a loop stays. A path that is too long leads to the root."""
        # Links, each with its folder and text, and the rest of this text.
        reached, waiting = "", [("", ("", path), path)]
        while waiting:
            link, key, rest = waiting.pop()
            if not rest:
                self.links[link] = reached
                self.texts[key] = reached
                continue
            step, _, rest = rest.partition("/")
            waiting.append((link, key, rest))
            if step == "..":
                reached = reached.rpartition("/")[0]
            elif step not in ("", "."):
                place = f"{reached}/{step}"
                text = None if place in self.links or len(place) > LONGEST else self.read(place)
                if text is None or len(text) > LONGEST:
                    reached = "" if len(place) > LONGEST else self.links.get(place, place)
                    continue
                if (known := self.texts.get((reached, text))) is not None:
                    self.links[place] = reached = known
                    continue
                self.links[place] = place  # until its text is resolved: that leads here again in a loop
                waiting.append((place, (reached, text), text))
                reached = "" if text.startswith("/") else reached
        return reached or "/"


def real_path(path: str | Path, paths: RealPaths | None = None) -> str:
    """Return a path of the machine with all links resolved; ``paths`` are those resolved before."""
    if os.name != "posix":
        return os.path.realpath(path)
    return (paths or RealPaths()).of(os.path.join(os.getcwd(), path))


def loop_of(path: str) -> frozenset[str]:
    """Return the links of the loop that a link is in, or leads to; of a very long one, or of a row, the first ones."""
    seen: list[str] = []
    while path not in seen and len(seen) < _IN_A_ROW:
        seen.append(path)
        try:
            target = os.readlink(path)
        except OSError:  # the loop is among the parent folders
            return frozenset(seen)
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return frozenset(seen[seen.index(path) :] if path in seen else seen)


def leads_out(root: str | Path, path: str | Path) -> bool:
    """Return whether a path, with all links resolved, is outside of a folder or in git's folder."""
    return is_outside(real_path(root), real_path(path))


def is_outside(home: str, real: str) -> bool:
    """Return whether a real path is outside of a folder or in git's folder."""
    if real == home:
        return False
    start = home.rstrip(os.sep) + os.sep
    return not real.startswith(start) or GIT in real[len(start) :].lower().split(os.sep)


def top_of(folder: Path) -> Path | None:
    """Return the real path of the top of the git repository that a folder is in, or None.

    Folders that the user may not look into do not count: Path.exists would raise OSError before Python 3.14.
    """
    real = Path(real_path(folder))
    return next((each for each in (real, *real.parents) if os.path.exists(each / GIT)), None)
