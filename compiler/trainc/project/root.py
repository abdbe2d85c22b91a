"""Finds the project of a working directory: the nearest folder at or above it with a trainc.yaml."""

from __future__ import annotations

import os
from pathlib import Path

from trainc.project.read import CONFIG, has_config


def find_root(folder: Path) -> Path:
    """Return the nearest folder from ``folder`` upward with a trainc.yaml, or ``folder`` itself."""
    return next((place for place in (folder, *folder.parents) if has_config(place)), folder)


def find_own_root(folder: Path) -> tuple[Path, Path | None]:
    """Return the root of the project of a working directory, and the folder of a trainc.yaml that does not count.

    Like git, trainc ignores a trainc.yaml further up that belongs to another user: in a folder that everyone may write
    to, anyone could put one there.
    """
    found = find_root(folder)
    user = getattr(os, "geteuid", None)  # not on Windows
    if found == folder or user is None or (found / CONFIG).lstat().st_uid in (user(), folder.stat().st_uid):
        return found, None
    return folder, found
