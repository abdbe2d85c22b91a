"""Opens and lists files below a folder, and reports files below out/ that trainc did not write.

Files must be regular: a pipe could block forever, a device never end. Symbolic links are followed only within the
project, so that no pull request makes trainc quote a file of the machine that it runs on.

A file below out/ that Argo CD or Flux would read and trainc did not write is an error. Argo CD 3.5 reads files that end
in .yaml, .yml, .json and .jsonnet, treats a directory with Chart.yaml or a kustomization as one of Helm or kustomize,
and lets .argocd-source*.yaml override an Application (reposerver/repository, util/app/discovery). Flux reads .yaml and
.yml, a kustomization and .sourceignore. Case is ignored, as some file systems do.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from trainc.basics.jsonvalues import Json, as_list, as_object
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import HEADER

MOST_LINKED = 1000
"""The most linked folders of one listing: links to folders of links multiply."""

_GIT = ".git"
"""Git's folder counts as outside: its configuration may have tokens."""


class IrregularFileError(Exception):
    """Not a regular file."""


def open_regular(path: str | Path) -> int:
    """Open a regular file for reading. Raises IrregularFileError, and OSError.

    The file is checked after opening, so that it cannot be replaced in between. Opening never blocks.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise IrregularFileError(os.fspath(path))


def read_regular(path: str | Path) -> bytes | None:
    """Return the bytes of a regular file; None for anything else, or if it cannot be read."""
    try:
        with os.fdopen(open_regular(path), "rb", buffering=0) as file:
            return file.read()
    except (IrregularFileError, OSError):
        return None


def leads_out(root: str | Path, path: str | Path) -> bool:
    """Return whether a path, with all links resolved, is outside of a folder or in git's folder."""
    return _is_outside(os.path.realpath(root), os.path.realpath(path))


def _is_outside(home: str, real: str) -> bool:
    if real == home:
        return False
    start = home.rstrip(os.sep) + os.sep
    return not real.startswith(start) or _GIT in real[len(start) :].lower().split(os.sep)


def loop_of(path: str) -> frozenset[str]:
    """Return the links of the loop that a link is in, or leads to."""
    seen: list[str] = []
    while path not in seen:
        seen.append(path)
        try:
            target = os.readlink(path)
        except OSError:  # the loop is among the parent folders
            return frozenset(seen)
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return frozenset(seen[seen.index(path) :])


class Problem(Enum):
    """The reason why an entry of a folder is not listed."""

    LINK = "symbolic link, not followed"
    OUTSIDE = "symbolic link that leads out of the project, not followed"
    LOOP = "loop of symbolic links"
    TOO_MANY = f"more than {MOST_LINKED} folders behind symbolic links"


class Found(msgspec.Struct, frozen=True):
    """A file below a folder, by its relative name, or the problem with it."""

    name: str
    problem: Problem | OSError | None = None


class _Folder(msgspec.Struct, frozen=True):
    """A folder to list: its name, its real path, and the real paths and links of the linked folders above it."""

    name: str
    real: str
    way: tuple[tuple[str, str], ...] = ()


class Listing:
    """Lists the files below a folder with certain suffixes, at any depth; hidden entries are skipped.

    Links must not lead out of ``home``, if given, and are not followed at all without ``follow``.
    """

    def __init__(self, root: str | Path, suffixes: tuple[str, ...], home: Path | None, *, follow: bool = True) -> None:
        """Prepare a listing below ``root``."""
        self.base = os.fspath(root)
        self.suffixes = suffixes
        self.home = None if home is None else os.path.realpath(home)
        self.follow = follow
        self.loops: set[frozenset[str]] = set()
        self.linked = 0

    def below(self, name: str) -> Iterator[Found]:
        """Yield the files and problems below a folder, in no particular order."""
        waiting = [_Folder(name, os.path.realpath(self._path(name)))]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(self._path(folder.name)) as entries:
                    listed = sorted((e for e in entries if not e.name.startswith(".")), key=lambda entry: entry.name)
            except OSError as error:
                yield Found(folder.name, error)
                continue
            for entry in listed:
                name = f"{folder.name}/{entry.name}" if folder.name else entry.name
                if entry.is_symlink():
                    yield from self._link(folder, name, waiting)
                elif entry.is_dir():
                    waiting.append(msgspec.structs.replace(folder, name=name, real=f"{folder.real}/{entry.name}"))
                elif name.lower().endswith(self.suffixes):
                    yield Found(name)

    def _path(self, name: str) -> str:
        return f"{self.base}/{name}" if name else self.base

    def _link(self, folder: _Folder, name: str, waiting: list[_Folder]) -> Iterator[Found]:
        """Yield a linked file, or add a linked folder to ``waiting``."""
        last = name.rpartition("/")[2]
        readable = last.lower().endswith(self.suffixes)
        real = os.path.realpath(link := f"{folder.real}/{last}")
        outside = self.home is not None and _is_outside(self.home, real)
        if not self.follow or outside:
            if readable or os.path.isdir(real):
                yield Found(name, Problem.OUTSIDE if self.follow else Problem.LINK)
            return
        try:
            is_folder = stat.S_ISDIR(os.stat(link).st_mode)
        except OSError as error:
            if readable or "." not in last:
                yield from self._broken(name, link, error)
            return
        if is_folder:
            yield from self._linked_folder(_Folder(name, real, (*folder.way, (folder.real, link))), waiting)
        elif readable:
            yield Found(name)

    def _broken(self, name: str, link: str, error: OSError) -> Iterator[Found]:
        """Yield the reason why a link cannot be followed; each loop once."""
        if not is_loop(error):
            yield Found(name, error)
            return
        yield from self._loop(name, loop_of(link))

    def _loop(self, name: str, links: frozenset[str]) -> Iterator[Found]:
        if links not in self.loops:
            self.loops.add(links)
            yield Found(name, Problem.LOOP)

    def _linked_folder(self, folder: _Folder, waiting: list[_Folder]) -> Iterator[Found]:
        inside = [at for at, (place, _) in enumerate(folder.way) if f"{place}/".startswith(f"{folder.real}/")]
        self.linked += 1
        if inside:
            yield from self._loop(folder.name, frozenset(link for _, link in folder.way[inside[0] :]))
        elif self.linked <= MOST_LINKED:
            waiting.append(folder)
        elif self.linked == MOST_LINKED + 1:
            yield Found(folder.name, Problem.TOO_MANY)


def is_loop(error: OSError) -> bool:
    """Return whether a path failed because its links form a loop, or are too many."""
    return error.errno == errno.ELOOP


OWNED: Final = f"# {HEADER}".encode()
"""The start of the first line of every file that trainc writes."""

KEY: Final = "unmanaged"
"""The key of trainc.yaml with the paths below out/ that others may write to."""

FOREIGN: Final = "TC903"
_TOP: Final = "out"
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonnet", ".libsonnet")
_STARTS: Final = ("kustomization", ".argocd-source", ".sourceignore")
_STEPS: Final = 5
"""out, environment, namespace, job, file."""


class Kind(Enum):
    """The kind of an entry below out/; links are not followed."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    OTHER = "a special file"


def is_own(head: bytes) -> bool:
    """Return whether a file is trainc's by its first bytes, or was left empty or truncated by a power cut."""
    return head.startswith(OWNED) or OWNED.startswith(head) or not head[: len(OWNED)].strip(b"\0")


def is_placed(name: str) -> bool:
    """Return whether trainc could write a file of this name: ``out/<environment>/<namespace>/<job>/<file>.yaml``."""
    steps = name.split("/")
    placed = len(steps) == _STEPS and all(steps) and steps[0] == _TOP
    return placed and name.endswith(".yaml") and not steps[-1].startswith(".")


def unmanaged(config: Json) -> tuple[str, ...]:
    """Return the paths of ``unmanaged`` in a parsed trainc.yaml."""
    return tuple(path.rstrip("/") for path in as_list(as_object(config).get(KEY)) if isinstance(path, str))


def foreign(there: Mapping[str, Kind], own: Collection[str], exceptions: Collection[str] = ()) -> Iterator[Finding]:
    """Yield a finding for each entry below out/ that is not in ``own``, nor in or below ``exceptions``."""
    folders = {folder for name in own for folder in _parents(name)}
    for name, kind in sorted(there.items()):
        if name.partition("/")[0] != _TOP or name in own:
            continue
        if not set(exceptions).isdisjoint((*_parents(name), name)):
            continue
        read = _is_read(name)
        if kind is Kind.LINK:
            yield _finding(name, "a symbolic link, which trainc never creates")
        elif kind is Kind.FOLDER:
            if read and name not in folders:
                yield _finding(name, "a folder with a name that Argo CD or Flux looks for, without files of trainc")
        elif kind is Kind.OTHER:
            yield _finding(name, "a special file or a git submodule, which trainc never creates")
        elif not read:
            yield _finding(name, "not written by trainc; neither Argo CD nor Flux reads it", Severity.NOTE)
        else:
            yield _finding(name, "not written by trainc, and Argo CD or Flux reads it")


def _is_read(name: str) -> bool:
    last = name.rpartition("/")[2].casefold()
    return last.endswith(_SUFFIXES) or last.startswith(_STARTS)


def _finding(name: str, message: str, severity: Severity | None = None) -> Finding:
    return report(FOREIGN, Document(Source(name, b""), {}), (), message, severity=severity)


def _parents(name: str) -> list[str]:
    steps = name.split("/")
    return ["/".join(steps[:end]) for end in range(1, len(steps))]
