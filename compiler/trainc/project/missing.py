"""Finds what a checkout lacks: links that are files, submodules, and what a sparse checkout leaves out.

What was rendered from it would be removed, and its policies would not apply.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from trainc.findings import Finding
from trainc.findings.display import counted
from trainc.project.files import LIMIT, Kind, about, open_regular, read_regular, read_start
from trainc.project.links import GIT, LONGEST, real_path, top_of
from trainc.project.names import CONFIG, is_input, is_output, is_read, parents

MODULES = ".gitmodules"
_EMPTY = "submodule that is not checked out: what was rendered from it would be removed, and its policies do not apply"
_CHECK_OUT = "check it out with git submodule update --init --recursive, or move its files into this repository"
_AS_FILE = "path of a folder, as git writes a link without symbolic links: what was rendered from it would be removed"
_WITH_LINKS = "check it out with links (git config core.symlinks true), or end the file with a line break"
_ADD = "add it with git sparse-checkout add, or pass only folders that are checked out as a whole"
_UNKNOWN = "let git read the repository, or check out all of it"


def is_path_of_folder(path: str) -> bool:
    """Return whether a regular file has the path of a folder and nothing else.

    So git writes a link where core.symlinks is false, as on drives of Windows in WSL.
    """
    try:
        text = os.fsdecode(read_start(path, LONGEST))
    except OSError:
        return False
    return text != "" and os.path.isdir(os.path.join(os.path.dirname(path), text))


def link_as_file(name: str) -> Finding:
    """Return the finding of such a file."""
    return about(name, _AS_FILE, hint=_WITH_LINKS)


def submodules(folder: str) -> frozenset[str] | None:
    """Return the paths of the submodules that .gitmodules in a folder names; None if git cannot tell.

    Git gets an open file: it would wait for a pipe, and take a file that it may not read for an empty one.
    """
    file = os.path.join(folder, MODULES)
    if not os.path.isfile(file):
        return frozenset()
    from trainc.project.git import RevisionError, settings_in

    try:
        handle = open_regular(file)
    except OSError:
        return None
    try:
        too_large = os.fstat(handle).st_size > LIMIT
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


def left_out(root: Path, name: str, links: Iterable[tuple[str, str]] = ()) -> Iterator[Finding]:
    """Yield a finding if a sparse checkout leaves out inputs or output at or below a name.

    ``links`` are names there, with their real paths. If git cannot tell, the finding is about trainc.yaml, which every
    command reads.
    """
    if not _may_be_sparse(root):
        return
    from trainc.project.git import RevisionError

    try:
        found = _left_out(root, name, links)
    except RevisionError as error:
        if name == CONFIG:
            message = f"git cannot tell what this sparse checkout leaves out: {error.message}"
            yield about(name, message, hint=error.hint or _UNKNOWN)
        return
    if found:
        more = f" and {counted(len(found) - 1, 'more file')}" if len(found) > 1 else ""
        yield about(name, f"not in this sparse checkout: {found[0]}{more}", hint=_ADD)


def _left_out(root: Path, name: str, links: Iterable[tuple[str, str]]) -> list[str]:
    """Return the inputs, settings and output that are left out, sorted by their names. Raises RevisionError.

    A file behind several links has one of their names. Links, which may lead to inputs, and submodules count, too.
    """
    from trainc.project.git import entries_in_index

    places = _places(root, name, links)
    found = list[str]()
    for tag, kind, file, _ in entries_in_index(root, *places if len(places) == 1 else ("",)):
        if tag == "S" and not os.path.lexists(root / file):
            names = (name + file[len(place) :] for place in (*parents(file), file) for name in places.get(place, ()))
            found += islice((each for each in names if kind is not Kind.FILE or is_read(each) or is_output(each)), 1)
    return sorted(found)


def _places(root: Path, name: str, links: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the paths from root to which links lead, with the names of the links; ``name`` is one of both.

    Many links may lead to one place: of those for which the same files are read, one is enough.
    """
    home, alike = real_path(root), dict[tuple[str, ...], str]()
    for link, real in ((name, os.path.join(home, name)), *links):
        read = (end for end in ("", "/x.yaml", "/x/x.yaml") if is_input(link + end))
        alike.setdefault((os.path.relpath(real, home), *read), link)
    places: dict[str, list[str]] = {}
    for (place, *_), link in alike.items():
        places.setdefault(place, []).append(link)
    return places
