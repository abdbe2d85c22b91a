"""Finds what a checkout lacks: submodules, what a sparse checkout leaves out, and links that are files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from trainc.basics.regex import lazy
from trainc.project.files import read_regular, read_start
from trainc.project.links import GIT, LONGEST, top_of

_MODULES = ".gitmodules"
_MODULE = lazy(r"""(?im)^(?:.*\])?[ \t]*+path[ \t]*+=[ \t]*+(?:"([^"\n]*)"|([^"#;\n]*+))""")
"""The path of a submodule in .gitmodules, in quotes or without, and perhaps before a comment."""


def is_path_of_folder(path: str) -> bool:
    """Return whether a regular file has the path of a folder and nothing else.

    So git writes a link where core.symlinks is false, as on drives of Windows in WSL.
    """
    try:
        text = os.fsdecode(read_start(path, LONGEST))
    except OSError:
        return False
    return text != "" and os.path.isdir(os.path.join(os.path.dirname(path), text))


def submodules(folder: str) -> frozenset[str]:
    """Return the real paths of the submodules that .gitmodules in a folder, given by its real path, names."""
    text = os.fsdecode(read_regular(f"{folder}/{_MODULES}") or b"")
    paths = (quoted or plain.strip() for quoted, plain in _MODULE.findall(text))
    return frozenset(os.path.join(folder, path.rstrip("/")) for path in paths)


def is_submodule(real: str, named: Callable[[str], frozenset[str]] = submodules) -> bool:
    """Return whether a .gitmodules above a folder, given by its real path, names it.

    That may be one of the repository, or of a submodule around the folder. ``named`` returns what each names.
    """
    return any(real in named(os.fspath(above)) for above in Path(real).parents)


def may_be_sparse(folder: Path) -> bool:
    """Return whether a folder is in a git repository that may be checked out only in part; not if it is unreadable."""
    top = top_of(folder)
    if top is None:
        return False
    home = top / GIT
    try:
        if home.is_file():  # it has the path, as in a linked working tree
            home = top / os.fsdecode(read_regular(home) or b"").removeprefix("gitdir: ").strip()
        return (home / "info/sparse-checkout").exists()
    except OSError:  # a repository of another user, for example
        return False
