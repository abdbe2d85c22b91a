"""The paths that commands take: to read, and to write to."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import click


class Existing(click.Path):
    """A file or folder to read."""

    def __init__(self, **more: Any) -> None:
        super().__init__(exists=True, **more)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Fails if it does not exist; click says so of every path that it cannot look at."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            cause = error.__context__
            if isinstance(cause, OSError) and cause.errno not in (errno.ENOENT, errno.ENOTDIR):
                self.fail(f"{value!r} cannot be read: {cause.strerror}.", param, ctx)
            raise


class OutsideGit(click.Path):
    """A path to write to: not in a .git folder, whose files are git's settings, and programs that it runs."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Fails in a .git folder."""
        from trainc.project.links import real_path

        path = super().convert(value, param, ctx)
        text = os.fsdecode(path)
        if text != "-" and in_git(real_path(text)):
            self.fail(f"{text!r} is in a .git folder.", param, ctx)
        return path


def in_git(path: str | Path) -> bool:
    """Return whether a path is a .git folder, or in one. Some file systems ignore case, and dots at the end."""
    return any(step.casefold().rstrip(". ") in (".git", "git~1") for step in Path(path).parts)
