"""Finds what a checkout lacks: submodules, and what a sparse checkout leaves out.

What was rendered from it would be removed, and its policies would not apply.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from trainc.findings import Finding
from trainc.findings.display import counted
from trainc.project.files import Kind, about, open_regular, read_regular
from trainc.project.links import GIT, top_of
from trainc.project.names import CONFIG, is_output, is_read

MODULES = ".gitmodules"
_LARGEST = 64 * 1024
"""The most bytes of a .gitmodules, which has a hundred for each submodule.

For each line, git compares all of the name of its submodule: 8 MB of lines in one of 8 MB take it a day.
"""
_EMPTY = "submodule that is not checked out: what was rendered from it would be removed, and its policies do not apply"
_CHECK_OUT = "check it out with git submodule update --init --recursive, or move its files into this repository"
_ADD = "add it with git sparse-checkout add, or pass only folders that are checked out as a whole"
_UNKNOWN = "let git read the repository, or check out all of it"


def submodules(folder: str) -> frozenset[str] | None:
    """Return the paths of the submodules that .gitmodules in a folder names; None if git cannot tell.

    Git gets an open file: it would wait for a pipe, and take a file that it may not read for an empty one. It reads no
    link, and refuses to update submodules then.
    """
    file = os.path.join(folder, MODULES)
    if os.path.islink(file):
        return None
    if not os.path.isfile(file):
        return frozenset()
    from trainc.project.git import RevisionError, settings_in

    try:
        handle = open_regular(file)
    except OSError:
        return None
    try:
        too_large = os.fstat(handle).st_size > _LARGEST
        return None if too_large else frozenset(settings_in(handle, r"^submodule\..*\.path$"))
    except RevisionError:
        return None
    finally:
        os.close(handle)


def is_submodule(real: str, named: Callable[[str], frozenset[str] | None] = submodules) -> bool:
    """Return whether a .gitmodules above an empty folder, given by its real path, names it, or git cannot tell.

    That may be one of the repository, or of a submodule around the folder. ``named`` returns what each names.
    """
    for above in map(os.fspath, Path(real).parents):
        names = named(above)
        if names is None or (names and os.path.relpath(real, above) in names):
            return True
    return False


def empty_submodule(name: str) -> Finding:
    """Return the finding of a submodule that is not checked out."""
    return about(name, _EMPTY, hint=_CHECK_OUT)


def _may_be_sparse(folder: Path) -> bool:
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


def left_out(root: Path, name: str) -> Iterator[Finding]:
    """Yield a finding if a sparse checkout leaves out inputs or output at or below a name.

    If git cannot tell, the finding is about trainc.yaml, which every command reads.
    """
    if not _may_be_sparse(root):
        return
    from trainc.project.git import RevisionError

    try:
        found = _left_out(root, name)
    except RevisionError as error:
        if name == CONFIG:
            message = f"git cannot tell what this sparse checkout leaves out: {error.message}"
            yield about(name, message, hint=error.hint or _UNKNOWN)
        return
    if found:
        more = f" and {counted(len(found) - 1, 'more file')}" if len(found) > 1 else ""
        yield about(name, f"not in this sparse checkout: {found[0]}{more}", hint=_ADD)


def _left_out(root: Path, name: str) -> list[str]:
    """Return the inputs, settings and output that are left out, sorted; submodules count, too. Raises RevisionError."""
    from trainc.project.git import entries_in_index

    return sorted(
        file
        for tag, kind, file, _ in entries_in_index(root, name)
        if tag == "S" and (kind is not Kind.FILE or is_read(file) or is_output(file))
        if not os.path.lexists(root / file)
    )
