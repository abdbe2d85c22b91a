"""Creates files for ``trainc new`` and ``trainc init``, never changing one that exists, and writes those of ``-o``.

A pull request may bring links: no file is written through a link of the project to a place outside of it.
"""

from __future__ import annotations

import os
from pathlib import Path

from trainc.project.files import leads_out
from trainc.project.read import name_below
from trainc.project.write import replace_file


def create(root: Path, name: str, text: str) -> bool:
    """Create a file below ``root``, and return whether it did: False if anything exists there, even a broken link.

    A file that cannot be written completely is removed again. Raises OSError.
    """
    path = root / name
    check_folder(root, path.parent)
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


def check_folder(root: Path, folder: Path) -> None:
    """Refuse a folder that is named as one of the project, but that links lead out of it. Raises OSError."""
    if name_below(root, Path.cwd(), os.fspath(folder)) is not None and leads_out(root, folder):
        message = "symbolic link that leads out of the project, not followed"
        raise OSError(None, message, os.fspath(folder))


def write_output(root: Path, path: Path, text: str) -> None:
    """Write the file that an option names, completely or not at all; a link in its place is replaced. Raises OSError.

    A pipe or device is written to.
    """
    check_folder(root, path.parent)
    if path.exists() and not path.is_symlink() and not path.is_file():
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    try:
        replace_file(os.path.abspath(path), text.encode())
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # not the name of a temporary file
