"""Creates files for ``trainc new`` and ``trainc init``; never changes one that exists."""

from __future__ import annotations

import os
from pathlib import Path

from trainc.project.files import leads_out


def create(root: Path, name: str, text: str) -> bool:
    """Create a file below ``root``, and return whether it did: False if anything exists there, even a broken link.

    A file that cannot be written completely is removed again. Raises OSError.
    """
    path = root / name
    if leads_out(root, path.parent):
        raise OSError(None, "symbolic link that leads out of the project, not followed", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True
