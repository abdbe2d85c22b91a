"""Lists the YAML and JSON files below a folder.

Hidden entries are skipped. Symbolic links are followed within the project; a link out of it is a finding, and so is a
folder that cannot be read.
"""

from __future__ import annotations

import errno
import os
import stat
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from trainc.findings import Finding, Severity
from trainc.project.files import LOOP, MAX_FILES, about, not_followed, unnamable, unreadable
from trainc.project.links import RealPaths, is_outside, loop_of, real_path
from trainc.project.missing import empty_submodule, is_path_of_folder, is_submodule, link_as_file, submodules
from trainc.project.names import SUFFIXES, is_text, may_have_inputs

_LETTERS = frozenset("".join(sorted(suffix)) for suffix in SUFFIXES)
"""The sorted letters of each suffix, by which a misspelt one such as .ymal is found."""

MOST_LINKED = 1000
"""The most linked folders of one listing: links to folders of links multiply."""


class _Folder(msgspec.Struct, frozen=True):
    """A folder to list: its name, its real path, and the real paths and links of the linked folders above it."""

    name: str
    real: str
    way: tuple[tuple[str, str], ...] = ()


class Listing:
    """Lists the YAML and JSON files below a folder, at any depth; hidden entries are skipped.

    Links must not lead out of ``home``, if given, and are not followed at all without ``follow``. ``prefix`` precedes
    names in findings.
    """

    def __init__(self, root: str | Path, home: Path | None, prefix: str = "", *, follow: bool = True) -> None:
        self.base = os.fspath(root)
        self.paths = RealPaths()
        self.home = None if home is None else real_path(home, self.paths)
        self.prefix = prefix
        self.follow = follow
        self.names: list[str] = []
        self.findings: list[Finding] = []
        self.waiting: list[_Folder] = []
        self.loops: set[frozenset[str]] = set()
        self.linked = 0
        self.submodules = cache(submodules)
        self.links: list[tuple[str, str]] = []  # the links that were followed, with their real paths
        self.folders = 0
        self.known: dict[str, list[os.DirEntry[str]]] = {}

    def below(self, name: str) -> tuple[list[str], list[Finding]]:
        """Return the names of the files below a folder, sorted, and findings."""
        self.waiting.append(_Folder(name, real_path(self._path(name), self.paths)))
        self.links.append((self._shown(name), self.waiting[0].real))  # perhaps behind one
        while self.waiting:
            folder = self.waiting.pop()
            if folder.way and self.linked > MOST_LINKED:
                continue
            try:
                listed = self._listed(folder)
            except OSError as error:
                self.findings.append(unreadable(self._shown(folder.name), error))
                continue
            for entry in listed:
                name = f"{folder.name}/{entry.name}" if folder.name else entry.name
                if not is_text(entry.name):
                    if entry.is_dir() or name.lower().endswith(SUFFIXES):
                        self.findings.append(unnamable(self._shown(name)))
                elif entry.is_symlink():
                    self._link(folder, name, f"{folder.real}/{entry.name}")
                elif entry.is_dir():
                    self.waiting.append(replace(folder, name=name, real=f"{folder.real}/{entry.name}"))
                elif name.lower().endswith(SUFFIXES):
                    self.names.append(name)
                elif "".join(sorted(os.path.splitext(name.lower())[1].strip())) in _LETTERS:
                    message = f"not read: the name does not end in {', '.join(SUFFIXES)}"
                    self.findings.append(about(self._shown(name), message, severity=Severity.WARNING))
                elif may_have_inputs(self._shown(name)) and is_path_of_folder(entry.path):
                    self.findings.append(link_as_file(self._shown(name)))
            self.folders += 1
            if max(len(self.names), self.folders) > MAX_FILES:  # folders behind links multiply, too
                self.findings.append(about(self._shown(folder.name), f"more than {MAX_FILES:,} files", code="TC012"))
                return [], self.findings
        return sorted(self.names), self.findings

    def _listed(self, folder: _Folder) -> list[os.DirEntry[str]]:
        """Return the entries of a folder, sorted. Many links may lead to one: then only the first has its findings."""
        found = self.known.get(folder.real)
        if found is None:
            with os.scandir(self._path(folder.name)) as entries:
                listed = list(entries)
            shown = self._shown(folder.name)
            if not listed and self.home and may_have_inputs(shown) and is_submodule(folder.real, self.submodules):
                self.findings.append(empty_submodule(shown))
            found = sorted((e for e in listed if not e.name.startswith(".")), key=lambda entry: entry.name)
            if folder.way:
                self.known[folder.real] = [entry for entry in found if self._may_lead_to_inputs(entry, folder.real)]
        return found

    def _may_lead_to_inputs(self, entry: os.DirEntry[str], folder: str) -> bool:
        link, readable = f"{folder}/{entry.name}", entry.name.lower().endswith(SUFFIXES)
        if not is_text(entry.name) or not entry.is_symlink():
            return is_text(entry.name) and (readable or entry.is_dir())
        outside = self.home is not None and is_outside(self.home, real_path(link, self.paths))
        return not outside and (os.path.isdir(link) or (readable and os.path.exists(link)))

    def _path(self, name: str) -> str:
        return f"{self.base}/{name}" if name else self.base

    def _shown(self, name: str) -> str:
        return (self.prefix + name).rstrip("/") or "."

    def _link(self, folder: _Folder, name: str, link: str) -> None:
        """Add a linked file or folder, or the finding about it."""
        shown, real = self._shown(name), real_path(link, self.paths)
        readable = link.lower().endswith(SUFFIXES)
        if not self.follow or (self.home is not None and is_outside(self.home, real)):
            if readable or os.path.isdir(real):
                skipped = about(shown, "symbolic link, not followed", severity=Severity.WARNING)
                self.findings.append(not_followed(shown) if self.follow else skipped)
            return
        self.links.append((shown, real))
        try:
            is_folder = stat.S_ISDIR(os.stat(link).st_mode)
        except OSError as error:
            is_other = not readable and "." in os.path.basename(link)  # perhaps to a file that no run reads
            if error.errno == errno.ELOOP and not is_other:
                self._loop(shown, loop_of(link))
            elif not is_other or may_have_inputs(shown):
                self.findings.append(unreadable(shown, error, Severity.WARNING if is_other else None))
            return
        if is_folder:
            self._linked_folder(_Folder(name, real, (*folder.way, (folder.real, link))))
        elif readable:
            self.names.append(name)

    def _linked_folder(self, folder: _Folder) -> None:
        inside = [at for at, (place, _) in enumerate(folder.way) if f"{place}/".startswith(f"{folder.real}/")]
        self.linked += 1
        if self.linked == MOST_LINKED + 1:
            message = f"more than {MOST_LINKED} folders behind symbolic links"
            self.findings.append(about(self._shown(folder.name), message))
        elif inside:
            self._loop(self._shown(folder.name), frozenset(link for _, link in folder.way[inside[0] :]))
        else:
            self.waiting.append(folder)

    def _loop(self, shown: str, links: frozenset[str]) -> None:
        """Add the finding about a loop of links, once."""
        if links not in self.loops:
            self.loops.add(links)
            self.findings.append(about(shown, LOOP))
