"""Reads files, folders and standard input into Sources, sorted by name.

Names are POSIX paths from the project root, the folder with trainc.yaml. jobs/ has a folder per namespace;
files of runtimes/ and policies/ are directly there or in one folder. Hidden entries are skipped. Symbolic links are
followed within the project; a link out of it is a finding, and so is a file that cannot be read. Paths outside of the
project that the user names are trusted.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from trainc.findings import Finding, Severity, report
from trainc.findings.display import counted
from trainc.gitops.flux import READS_NOTHING
from trainc.inputs.source import Document, Source
from trainc.project.files import (
    LIMIT,
    MAX_FILES,
    MAX_TOTAL,
    FileTooLargeError,
    IrregularFileError,
    RealPaths,
    is_outside,
    is_path_of_folder,
    is_submodule,
    leads_out,
    leads_to_folder,
    loop_of,
    may_be_sparse,
    open_regular,
    read_open,
    real_path,
    submodules,
)

RUNTIMES = "runtimes"
POLICIES = "policies"
CONFIG = "trainc.yaml"
LOCK = "images.lock.yaml"
STDIN = "<stdin>"
OUT = "out/"
POLICY_TESTS = "policies/tests"
"""The tests of policies, which are not read as policies or other objects."""

SUFFIXES = (".yaml", ".yml", ".json")
_LETTERS = frozenset("".join(sorted(suffix)) for suffix in SUFFIXES)
"""The sorted letters of each suffix, by which a misspelt one such as .ymal is found."""

_DEPTHS = {"jobs": (3,), "runtimes": (2, 3), "policies": (2, 3)}
_PLACES = {
    "jobs": "jobs/<namespace>/<file>",
    "runtimes": "runtimes/<file> or runtimes/<folder>/<file>",
    "policies": "policies/<file> or policies/<folder>/<file>",
}

MOST_LINKED = 1000
"""The most linked folders of one listing: links to folders of links multiply."""

_OUTSIDE = "symbolic link that leads out of the project, not followed"
_NOWHERE = "symbolic link in a circle or through a file: with it, Argo CD and Flux may read nothing of the repository"
_SUBMODULE = "submodule that .gitmodules does not name: Argo CD reads nothing of the repository"
_EMPTY = "submodule that is not checked out: what was rendered from it would be removed, and its policies do not apply"
_CHECK_OUT = "check it out with git submodule update --init --recursive, or move its files into this repository"
_AS_FILE = "path of a folder, as git writes a link without symbolic links: what was rendered from it would be removed"
_WITH_LINKS = "check it out with links (git config core.symlinks true), or end the file with a line break"
_OVERRIDE = "with this file, Argo CD may read the folder by something else than its plugin, trainc cmp"
_LOOP = "loop of symbolic links"


class Inputs(msgspec.Struct, frozen=True):
    """The sources read, sorted by name, and findings about those that could not be read.

    ``neighbours`` are files of other jobs in the same namespaces.
    """

    sources: tuple[Source, ...] = ()
    findings: tuple[Finding, ...] = ()
    neighbours: tuple[Source, ...] = ()


def merge(parts: Iterable[Inputs]) -> Inputs:
    """Join inputs, sorted by name and without duplicates."""
    sources: dict[str, Source] = {}
    findings: dict[tuple[str, str], Finding] = {}
    neighbours: list[Source] = []
    for part in parts:
        neighbours += part.neighbours
        sources.update((source.name, source) for source in part.sources)
        findings.update(((finding.file, finding.message), finding) for finding in part.findings)
    return Inputs(tuple(sources[name] for name in sorted(sources)), tuple(findings.values()), tuple(neighbours))


def has_config(folder: Path) -> bool:
    """Return whether a folder has a trainc.yaml, which may be a broken link."""
    return _exists(folder / CONFIG)


def _exists(path: Path) -> bool:
    """Return whether a path exists and is not a folder; a broken link exists, and is an error when read."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def name_below(root: Path, folder: Path, path: str) -> str | None:
    """Return the name below root of a path relative to ``folder``; None outside of root.

    The way to root may lead through other links than root itself; a link below root is a name of its own.
    """
    place = os.fspath(folder / path)
    above, last = (place, "") if os.path.isdir(place) else os.path.split(place)
    real = os.path.join(real_path(above), last)  # the file itself may be a pipe
    for way, top in ((place, root), (real, real_path(root))):
        relative = os.path.relpath(way, top)
        if relative != os.pardir and not relative.startswith(os.pardir + os.sep):
            return Path(relative).as_posix()
    return None


def read_config(root: Path) -> Inputs:
    """Read trainc.yaml, if it exists."""
    return _read_own(root, CONFIG)


def read_lock(root: Path) -> Inputs:
    """Read images.lock.yaml, if it exists."""
    return _read_own(root, LOCK)


def _read_own(root: Path, name: str) -> Inputs:
    others = (*_misnamed(root, name), *_left_out(root, name))
    if not _exists(root / name):
        return Inputs((), others)
    inputs = not_followed(name) if leads_out(root, root / name) else read_file(root / name, name)
    folders = (finding for folder in _DEPTHS if name == CONFIG for finding in _misnamed(root, folder))
    return replace(inputs, findings=(*inputs.findings, *others, *folders))


def _misnamed(root: Path, name: str) -> Iterator[Finding]:
    """Yield a finding for each entry that someone may take for ``name``: with capitals, or with the ending .yml.

    Where names have no case, as on macOS, a folder with capitals is read.
    """
    try:
        names = sorted(os.listdir(root))
    except OSError:  # a folder may be searched that cannot be listed
        return
    exists = name in names
    hint = f"move its content to {name}, and delete it" if exists else f"rename it to {name}"
    for other in names:
        if other != name and re.sub(r"\.yml\Z", ".yaml", other.lower()) == name and _may_be(root / other, name):
            document, severity = Document(Source(other, b""), {}), Severity.WARNING if exists else None
            message = "not read because of its name"
            yield report("TC011", document, (), message, severity=severity, found=other, expected=name, hint=hint)


def _may_be(path: Path, name: str) -> bool:
    """Return whether a path is a file, or has inputs if ``name`` is that of a folder with inputs."""
    if name not in _DEPTHS:
        return _exists(path)
    below = (found.relative_to(path).as_posix() for depth in ("*", "*/*") for found in path.glob(depth))
    return any(is_input(f"{name}/{found}") for found in below)


def not_read(root: Path) -> tuple[str, ...]:
    """Return a text for each finding on files that are not read: those that are misnamed or not checked out."""
    parts = (chain(_misnamed(root, name), _left_out(root, name)) for name in (CONFIG, LOCK, *_DEPTHS))
    return tuple(f"{finding.file}: {finding.message}" for part in parts for finding in part)


def _left_out(root: Path, name: str, links: Iterable[tuple[str, str]] = ()) -> Iterator[Finding]:
    """Yield a finding if a sparse checkout leaves out inputs: what was rendered from them would be removed.

    ``links`` are names at or below ``name``, with their real paths. If git cannot tell, the finding is about
    trainc.yaml, which every command reads.
    """
    if not may_be_sparse(root):
        return
    from trainc.project.revisions import RevisionError, left_out

    try:
        found = left_out(root, name, links)
    except RevisionError as error:
        if name == CONFIG:
            message = f"git cannot tell what this sparse checkout leaves out: {error.message}"
            hint = error.hint or "let git read the repository, or check out all of it"
            yield report("TC011", Document(Source(name, b""), {}), (), message, hint=hint)
        return
    if found:
        more = f" and {counted(len(found) - 1, 'more file')}" if len(found) > 1 else ""
        message = f"not in this sparse checkout: {found[0]}{more}"
        hint = "add it with git sparse-checkout add, or pass only folders that are checked out as a whole"
        yield report("TC011", Document(Source(name, b""), {}), (), message, hint=hint)


def read_platform(root: Path) -> Inputs:
    """Read runtimes/ and policies/, without the tests of policies."""
    return merge([read_tree(root, RUNTIMES), read_tree(root, POLICIES)])


def read_beside(root: Path, names: Iterable[str | None]) -> Inputs:
    """Read the other files in the folders of files below jobs/: their jobs may use a runtime there."""
    files = {name for name in names if name is not None and name.startswith("jobs/") and name.count("/") > 1}
    found = merge(read_tree(root, folder) for folder in sorted({name.rpartition("/")[0] for name in files}))
    sources = tuple(source for source in found.sources if source.name not in files)
    return Inputs(sources, tuple(each for each in found.findings if each.file not in files))


def read_tree(root: Path, name: str, read: Callable[[str, str], Inputs] | None = None) -> Inputs:
    """Read jobs/, runtimes/ or policies/, or a folder or file below; nothing if it does not exist.

    ``read`` reads a file, by default ``read_file``.
    """
    if not is_text(name):
        return Inputs((), (_unnamable(name),))
    read = read or read_file
    path = root / name
    steps = name.split("/")
    for step in ("/".join(steps[: end + 1]) for end in range(len(steps))):
        if (wrong := _wrong_link(root, step)) is not None:
            return wrong
    listing = _Listing(root, root)
    if leads_to_folder(path):
        names, findings = listing.below(name)
    else:
        names, findings = ([name], []) if _exists(path) else ([], [])
        if names and (steps[-1].startswith(".") or not name.lower().endswith(SUFFIXES)):
            message = f"neither a folder nor a file ending in {', '.join(SUFFIXES)}"
            names, findings = [], [_about("TC011", name, message)]
    names = [found for found in names if not _is_test(found)]
    depths = [depth - 1 for depth in _DEPTHS[steps[0]]]

    def read_placed(path: str, found: str) -> Inputs:
        document = Document(Source(found, b""), {})
        if found.rpartition("/")[2] == CONFIG:
            message, hint = "not read because of its name", "rename it: its folder would be a project of its own"
            return Inputs((), (report("TC011", document, (), message, found=found, hint=hint),))
        if found.count("/") in depths:
            return read(path, found)
        message, expected = "file at the wrong depth", _PLACES[steps[0]]
        return Inputs((), (report("TC011", document, (), message, found=found, expected=expected),))

    findings += _left_out(root, name, listing.links)
    return merge([Inputs((), tuple(findings)), *_read_all(os.fspath(root), "", names, read_placed)])


def _read_all(base: str, prefix: str, names: Iterable[str], read: Callable[[str, str], Inputs]) -> Iterator[Inputs]:
    """Read the files below ``base`` with these names, up to the limit of their bytes; ``prefix`` precedes names."""
    total = 0
    for name in names:
        inputs = read(f"{base}/{name}", prefix + name)
        total += sum(len(source.text) for source in inputs.sources)
        if total > MAX_TOTAL:
            message = f"with this file, more than {MAX_TOTAL >> 20} MiB in all"
            yield Inputs((), (_about("TC012", prefix + name, message),))
            return
        yield inputs


def _wrong_link(root: Path, name: str) -> Inputs | None:
    """Return the finding about a link that leads out of the project, or is broken."""
    path = root / name
    if not path.is_symlink():
        return None
    if leads_out(root, path):
        return not_followed(name)
    try:
        os.stat(path)
    except OSError as error:
        return Inputs((), (_unreadable(name, error),))
    return None


def read_file(path: Path | str, name: str) -> Inputs:
    """Read a regular file, by its name from the root; other files, and errors, are findings."""
    return _read(path, name, regular=True)


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """Read a file of at most ``limit`` bytes. Raises ValueError, whose text follows the name of the file."""
    try:
        return read_open(open_regular(path), limit)
    except IrregularFileError:
        raise ValueError("is not a regular file") from None
    except FileTooLargeError:
        raise ValueError(f"is larger than {limit >> 20} MiB") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None


def is_input(name: str) -> bool:
    """Return whether read_tree reads a regular file of this name."""
    steps = name.split("/")
    hidden = any(step.startswith(".") for step in steps)
    placed = len(steps) in _DEPTHS.get(steps[0], ()) and steps[-1] != CONFIG and not _is_test(name)
    return placed and not hidden and name.lower().endswith(SUFFIXES)


def may_have_inputs(folder: str) -> bool:
    """Return whether read_tree reads files of a folder, or of a folder in it."""
    return any(is_input(f"{folder}/{name}.yaml") for name in ("x", "x/x"))


def is_given(name: str, places: Iterable[str]) -> bool:
    """Return whether read_given reads a regular file of this name for one of ``places``, names from root."""
    if name.startswith(OUT) or name in (CONFIG, LOCK) or _is_test(name) or not name.lower().endswith(SUFFIXES):
        return False
    for place in places:
        prefix = "" if place == "." else f"{place}/"
        hidden = any(step.startswith(".") for step in name[len(prefix) :].split("/"))
        if name == place or (name.startswith(prefix) and not hidden):
            return True
    return False


def read_given(
    root: Path, folder: Path, path: str, *, tests: bool = False, read: Callable[[str, str], Inputs] | None = None
) -> Inputs:
    """Read a file, which may be a pipe, or every YAML and JSON file below a folder. The path is relative to ``folder``.

    The name is the path from root; outside of root it is the path itself, and links may lead anywhere. At the root,
    out/, trainc.yaml and images.lock.yaml are skipped, and in a folder the tests of policies unless ``tests`` is set.
    ``read`` reads a file of a folder, by default ``read_file``.
    """
    inside = name_below(root, folder, path)
    name = inside or Path(path).as_posix()
    place = folder / path
    if not is_text(name):
        return Inputs((), (_unnamable(name),))
    if inside is not None and leads_out(root, place):
        return not_followed(name)
    if not place.is_dir():
        return _read(place, name)
    # trainc creates no links in out/.
    follow = inside is None or not f"{name}/".startswith(OUT)
    prefix = "" if name == "." else name + "/"
    names, findings = _Listing(place, None if inside is None else root, prefix, follow=follow).below("")
    if name == "." and has_config(root):
        names = [found for found in names if found not in (CONFIG, LOCK) and not found.startswith(OUT)]
    if not tests and has_config(root):
        names = [found for found in names if not _is_test(prefix + found)]
    return merge([Inputs((), tuple(findings)), *_read_all(os.fspath(place), prefix, names, read or read_file)])


def read_stdin(stream: BinaryIO) -> Inputs:
    """Read standard input to its end."""
    data = stream.read(LIMIT + 1)
    return _too_large(STDIN) if len(data) > LIMIT else Inputs((Source(STDIN, data),))


def read_policy_tests(root: Path, folder: Path, paths: Iterable[str] = ()) -> Inputs:
    """Read policies/tests/, or the given files and folders, relative to ``folder``."""
    if paths:
        return merge(read_given(root, folder, path, tests=True) for path in paths)
    return read_given(root, root, POLICY_TESTS, tests=True) if leads_to_folder(root / POLICY_TESTS) else Inputs()


def read_beside_policies(root: Path) -> Inputs:
    """Read the regular files below policies/ that are not read as policies: hidden ones, tests, of other suffixes."""
    found = []
    for folder, folders, files in os.walk(root / "policies"):
        folders.sort()
        names = (Path(folder, file).relative_to(root).as_posix() for file in sorted(files))
        found += [name for name in names if not is_input(name)]
    return merge(_read_all(os.fspath(root), "", found, read_file))


def _is_test(name: str) -> bool:
    return name.startswith(POLICY_TESTS + "/")


def _read(path: Path | str, name: str, regular: bool = False) -> Inputs:
    try:
        file = open_regular(path) if regular else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return Inputs((Source(name, read_open(file, LIMIT)),))
    except IrregularFileError:
        return Inputs((), (_about("TC011", name, "not a regular file"),))
    except FileTooLargeError:
        return _too_large(name)
    except OSError as error:
        return Inputs((), (_unreadable(name, error),))


def _too_large(name: str) -> Inputs:
    return Inputs((), (_about("TC012", name, f"larger than {LIMIT >> 20} MiB"),))


def _about(code: str, name: str, message: str, severity: Severity | None = None) -> Finding:
    return report(code, Document(Source(name, b""), {}), (), message, severity=severity)


def _unreadable(name: str, error: OSError, severity: Severity | None = None) -> Finding:
    return _about("TC011", name, _LOOP if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}", severity)


def is_text(name: str) -> bool:
    """Return whether the name of a file is text, as names in outputs and caches must be: UTF-8 in a UTF-8 locale."""
    return name.isascii() or not any("\ud800" <= char <= "\udfff" for char in name)


def _unnamable(name: str) -> Finding:
    data = os.fsencode(name)
    try:
        return _about("TC011", data.decode(), "the locale does not allow this name: use a UTF-8 locale")
    except UnicodeDecodeError:
        return _about("TC011", data.decode("utf-8", "backslashreplace"), "the name is not UTF-8")


def leads_nowhere(name: str) -> Inputs:
    """Return the finding of a link that cannot be followed, although nothing is missing."""
    return _unusable(name, _NOWHERE, "remove it from git")


def unnamed(name: str) -> Inputs:
    """Return the finding of a submodule that .gitmodules does not name."""
    return _unusable(name, _SUBMODULE, "remove it from git, or name it there")


def unfit(name: str) -> Inputs:
    """Return the finding of a path that Flux refuses."""
    return _unusable(name, f"a name that Flux refuses: {READS_NOTHING}", "choose another name, or remove it from git")


def source_overrides(root: Path) -> Iterator[Inputs]:
    """Yield a finding for each file that Argo CD merges into the source of an Application of ``trainc cmp``.

    That replaces the plugin or its parameters (reposerver/repository, mergeSourceParameters). The path of such an
    Application is a folder of jobs/, or the project.
    """
    for place in ("", "jobs/*/"):
        for path in sorted(root.glob(f"{place}.argocd-source*.yaml")):
            name = path.relative_to(root).as_posix()
            yield _unusable(name, _OVERRIDE, "remove it: set the Application's source in its own spec")


def not_followed(name: str) -> Inputs:
    """Return the finding of a link that leads out of the project; it does not show the target."""
    return _unusable(name, _OUTSIDE, "copy the file into the project, or pass its path on the command line")


def _unusable(name: str, message: str, hint: str) -> Inputs:
    if not is_text(name):
        return Inputs((), (_unnamable(name),))
    return Inputs((), (report("TC011", Document(Source(name, b""), {}), (), message, hint=hint),))


class _Folder(msgspec.Struct, frozen=True):
    """A folder to list: its name, its real path, and the real paths and links of the linked folders above it."""

    name: str
    real: str
    way: tuple[tuple[str, str], ...] = ()


class _Listing:
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
                self.findings.append(_unreadable(self._shown(folder.name), error))
                continue
            for entry in listed:
                name = f"{folder.name}/{entry.name}" if folder.name else entry.name
                if not is_text(entry.name):
                    if entry.is_dir() or name.lower().endswith(SUFFIXES):
                        self.findings.append(_unnamable(self._shown(name)))
                elif entry.is_symlink():
                    self._link(folder, name, f"{folder.real}/{entry.name}")
                elif entry.is_dir():
                    self.waiting.append(replace(folder, name=name, real=f"{folder.real}/{entry.name}"))
                elif name.lower().endswith(SUFFIXES):
                    self.names.append(name)
                elif "".join(sorted(os.path.splitext(name.lower())[1].strip())) in _LETTERS:
                    message = f"not read: the name does not end in {', '.join(SUFFIXES)}"
                    self.findings.append(_about("TC011", self._shown(name), message, Severity.WARNING))
                elif may_have_inputs(self._shown(name)) and is_path_of_folder(entry.path):
                    self.findings += _unusable(self._shown(name), _AS_FILE, _WITH_LINKS).findings
            self.folders += 1
            if max(len(self.names), self.folders) > MAX_FILES:  # folders behind links multiply, too
                self.findings.append(_about("TC012", self._shown(folder.name), f"more than {MAX_FILES:,} files"))
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
                self.findings += _unusable(shown, _EMPTY, _CHECK_OUT).findings
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
                skipped = _about("TC011", shown, "symbolic link, not followed", Severity.WARNING)
                self.findings += not_followed(shown).findings if self.follow else [skipped]
            return
        self.links.append((shown, real))
        try:
            is_folder = stat.S_ISDIR(os.stat(link).st_mode)
        except OSError as error:
            is_other = not readable and "." in os.path.basename(link)  # perhaps to a file that no run reads
            if error.errno == errno.ELOOP and not is_other:
                self._loop(shown, loop_of(link))
            elif not is_other or may_have_inputs(shown):
                self.findings.append(_unreadable(shown, error, Severity.WARNING if is_other else None))
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
            self.findings.append(_about("TC011", self._shown(folder.name), message))
        elif inside:
            self._loop(self._shown(folder.name), frozenset(link for _, link in folder.way[inside[0] :]))
        else:
            self.waiting.append(folder)

    def _loop(self, shown: str, links: frozenset[str]) -> None:
        """Add the finding about a loop of links, once."""
        if links not in self.loops:
            self.loops.add(links)
            self.findings.append(_about("TC011", shown, _LOOP))
