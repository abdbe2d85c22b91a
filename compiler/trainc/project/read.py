"""Reads files, folders and standard input into Sources, sorted by name.

Names are POSIX paths from the project root. What is not read, such as a link in the project, is a finding. Paths
outside of the project that the user names are trusted.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

from trainc.findings import Finding, Severity
from trainc.inputs.source import Source
from trainc.project.files import (
    LIMIT,
    MAX_TOTAL,
    FileTooLargeError,
    IrregularFileError,
    about,
    not_followed,
    open_regular,
    read_open,
    unnamable,
    unreadable,
)
from trainc.project.links import has_link, leads_to_folder, real_path, top_of
from trainc.project.listing import files_below
from trainc.project.missing import left_out
from trainc.project.names import (
    CONFIG,
    DEPTHS,
    INPUTS,
    JOBS,
    LOCK,
    OUT,
    POLICIES,
    POLICY_TESTS,
    RUNTIMES,
    SETTINGS,
    SUFFIXES,
    is_input,
    is_output,
    is_policy_test,
    is_text,
)

STDIN = "<stdin>"

_PLACES = {
    "jobs": "jobs/<namespace>/<file>",
    "runtimes": "runtimes/<file> or runtimes/<folder>/<file>",
    "policies": "policies/<file> or policies/<folder>/<file>",
}

_MISNAMED = "not read because of its name"


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
        for source in part.sources:
            sources[source.name] = source
        for finding in part.findings:
            findings[finding.file, finding.message] = finding
        neighbours.extend(part.neighbours)
    in_order = tuple(sources[name] for name in sorted(sources))
    return Inputs(in_order, tuple(findings.values()), tuple(neighbours))


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
    others = (*_misnamed(root, name), *left_out(root, name))
    if not _exists(root / name):
        return Inputs((), others)
    found = Inputs((), (not_followed(name),)) if has_link(root, name) else read_file(root / name, name)
    folders = tuple(finding for folder in INPUTS if name == CONFIG for finding in _misnamed(root, folder))
    return merge([found, Inputs((), (*others, *folders))])


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
            severity = Severity.WARNING if exists else None
            yield about(other, _MISNAMED, severity=severity, found=other, expected=name, hint=hint)


def _may_be(path: Path, name: str) -> bool:
    """Return whether a path is a file or link, or has inputs if ``name`` is that of a folder with inputs."""
    if name not in INPUTS or path.is_symlink():
        return _exists(path)
    return any(is_input(f"{name}/{found}") for found in files_below(os.fspath(path), inside=True)[0])


def not_read(root: Path) -> tuple[str, ...]:
    """Return a text for each finding on files that are not read: those that are misnamed or not checked out."""
    parts = (chain(_misnamed(root, name), left_out(root, name)) for name in (*SETTINGS, *INPUTS, OUT))
    return tuple(f"{finding.file}: {finding.message}" for part in parts for finding in part)


def read_project(root: Path) -> Inputs:
    """Read jobs/, runtimes/ and policies/."""
    return merge([read_tree(root, JOBS), read_platform(root)])


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
        return Inputs((), (unnamable(name),))
    read = read or read_file
    path = root / name
    steps = name.split("/")
    if has_link(root, name):
        return Inputs((), (not_followed(name),))
    if leads_to_folder(path):
        names, findings = files_below(os.fspath(root), name, inside=True)
    else:
        names, findings = ([name], []) if _exists(path) else ([], [])
        if names and (steps[-1].startswith(".") or not name.lower().endswith(SUFFIXES)):
            message = f"neither a folder nor a file ending in {', '.join(SUFFIXES)}"
            names, findings = [], [about(name, message)]
    names = [found for found in names if not is_policy_test(found)]
    depths = [depth - 1 for depth in DEPTHS[steps[0]]]

    def read_placed(path: str, found: str) -> Inputs:
        if found.rpartition("/")[2] == CONFIG:
            hint = "rename it: its folder would be a project of its own"
            return Inputs((), (about(found, _MISNAMED, found=found, hint=hint),))
        if found.count("/") in depths:
            return read(path, found)
        elsewhere = f"keep files for other programs outside of {steps[0]}/" if found.count("/") > max(depths) else None
        wrong = about(found, "file at the wrong depth", found=found, expected=_PLACES[steps[0]], hint=elsewhere)
        return Inputs((), (wrong,))

    findings += left_out(root, name)
    return merge([Inputs((), tuple(findings)), *_read_all(os.fspath(root), "", names, read_placed)])


def _read_all(base: str, prefix: str, names: Iterable[str], read: Callable[[str, str], Inputs]) -> Iterator[Inputs]:
    """Read the files below ``base`` with these names, up to the limit of their bytes; ``prefix`` precedes names."""
    total = 0
    for name in names:
        inputs = read(f"{base}/{name}", prefix + name)
        total += sum(len(source.text) for source in inputs.sources)
        if total > MAX_TOTAL:
            message = f"with this file, more than {MAX_TOTAL >> 20} MiB in all"
            yield Inputs((), (about(prefix + name, message, code="TC012"),))
            return
        yield inputs


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


def read_given(
    root: Path, folder: Path, path: str, *, tests: bool = False, read: Callable[[str, str], Inputs] | None = None
) -> Inputs:
    """Read a file, which may be a pipe, or every YAML and JSON file below a folder. The path is relative to ``folder``.

    The name is the path from root; outside of root it is the path itself. That may lead through links, and so may one
    below a root with neither trainc.yaml nor git, such as /. At the root, out/, trainc.yaml and images.lock.yaml are
    skipped, and in a folder the tests of policies unless ``tests`` is set. ``read`` reads a file of a folder, by
    default ``read_file``.
    """
    inside = name_below(root, folder, path)
    name = inside or Path(path).as_posix()
    place = folder / path
    if not is_text(name):
        return Inputs((), (unnamable(name),))
    in_project = inside is not None and (has_config(root) or any(map(top_of, (root, place))))
    if in_project and (has_link(root, name) or real_path(place) != real_path(root / name)):  # "link/.." is elsewhere
        return Inputs((), (not_followed(name),))
    if not place.is_dir():
        return _read(place, name)
    prefix = "" if name == "." else name + "/"
    names, findings = files_below(os.fspath(place), prefix=prefix, inside=in_project)
    if name == "." and has_config(root):
        names = [found for found in names if found not in SETTINGS and not is_output(found)]
    if not tests and has_config(root):
        names = [found for found in names if not is_policy_test(prefix + found)]
    return merge([Inputs((), tuple(findings)), *_read_all(os.fspath(place), prefix, names, read or read_file)])


def read_stdin(stream: BinaryIO) -> Inputs:
    """Read standard input to its end."""
    data = stream.read(LIMIT + 1)
    return (
        Inputs((), (unreadable(STDIN, FileTooLargeError()),)) if len(data) > LIMIT else Inputs((Source(STDIN, data),))
    )


def read_policy_tests(root: Path, paths: Iterable[str] = ()) -> Inputs:
    """Read policies/tests/, or the given files and folders."""
    if paths:
        return merge(read_given(root, Path.cwd(), path, tests=True) for path in paths)
    is_there = has_link(root, POLICY_TESTS) or leads_to_folder(root / POLICY_TESTS)
    return read_given(root, root, POLICY_TESTS, tests=True) if is_there else Inputs()


def read_beside_policies(root: Path) -> Inputs:
    """Read the regular files below policies/ that are not read as policies: hidden ones, tests, of other suffixes."""
    found: list[str] = []
    waiting = [] if has_link(root, POLICIES) else [POLICIES]
    while waiting:
        folder = waiting.pop()
        with suppress(OSError), os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif not is_input(name) and not entry.is_symlink():
                    found.append(name)
    return merge(_read_all(os.fspath(root), "", sorted(found), read_file))


def _read(path: Path | str, name: str, regular: bool = False) -> Inputs:
    try:
        file = open_regular(path) if regular else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return Inputs((Source(name, read_open(file, LIMIT)),))
    except OSError as error:
        return Inputs((), (unreadable(name, error),))
