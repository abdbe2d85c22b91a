"""Reads files, folders and standard input into Sources, sorted by name.

Names are POSIX paths from the project root, the folder with trainc.yaml. jobs/ has a folder per namespace;
files of runtimes/ and policies/ are directly there or in one folder. Hidden entries are skipped. Symbolic links are
followed within the project; a link out of it is a finding, and so is a file that cannot be read. Paths outside of the
project that the user names are trusted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

import msgspec

from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.project.files import Found, IrregularFileError, Listing, Problem, is_loop, leads_out, open_regular

RUNTIMES = "runtimes"
POLICIES = "policies"
CONFIG = "trainc.yaml"
LOCK = "images.lock.yaml"
STDIN = "<stdin>"
OUT = "out/"
POLICY_TESTS = "policies/tests"
"""The tests of policies, which are not read as policies or other objects."""

SUFFIXES = (".yaml", ".yml", ".json")

LIMIT = 16 * 1024 * 1024
"""The most bytes of one file. An API server refuses requests above 3 MiB."""

_BLOCK = 64 * 1024
"""The bytes per read."""

_DEPTHS = {"jobs": (3,), "runtimes": (2, 3), "policies": (2, 3)}
_PLACES = {
    "jobs": "jobs/<namespace>/<file>",
    "runtimes": "runtimes/<file> or runtimes/<folder>/<file>",
    "policies": "policies/<file> or policies/<folder>/<file>",
}


class Inputs(msgspec.Struct, frozen=True):
    """The sources read, sorted by name, and findings about those that could not be read."""

    sources: tuple[Source, ...] = ()
    findings: tuple[Finding, ...] = ()


def merge(parts: Iterable[Inputs]) -> Inputs:
    """Join inputs, sorted by name and without duplicates."""
    sources: dict[str, Source] = {}
    findings: dict[tuple[str, str], Finding] = {}
    for part in parts:
        for source in part.sources:
            sources[source.name] = source
        for finding in part.findings:
            findings[finding.file, finding.message] = finding
    return Inputs(tuple(sources[name] for name in sorted(sources)), tuple(findings.values()))


def find_root(folder: Path) -> Path:
    """Return the nearest folder from ``folder`` upward with a trainc.yaml, or ``folder`` itself."""
    return next((place for place in (folder, *folder.parents) if has_config(place)), folder)


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
    """Return the name below root of a path relative to ``folder``; None outside of root. Files are not accessed."""
    absolute = os.path.normpath(folder / path)
    relative = os.path.relpath(absolute, root)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return Path(relative).as_posix()


def read_config(root: Path) -> Inputs:
    """Read trainc.yaml, if it exists."""
    return _read_own(root, CONFIG)


def read_lock(root: Path) -> Inputs:
    """Read images.lock.yaml, if it exists."""
    return _read_own(root, LOCK)


def _read_own(root: Path, name: str) -> Inputs:
    if not _exists(root / name):
        return Inputs()
    return _outside(name) if leads_out(root, root / name) else read_file(root / name, name)


def read_platform(root: Path) -> Inputs:
    """Read runtimes/ and policies/, without the tests of policies."""
    return merge([read_tree(root, RUNTIMES), read_tree(root, POLICIES)])


def read_tree(root: Path, name: str, read: Callable[[str, str], Inputs] | None = None) -> Inputs:
    """Read jobs/, runtimes/ or policies/, or a folder or file below; nothing if it does not exist.

    ``read`` reads a file, by default ``read_file``.
    """
    read = read or read_file
    path = root / name
    steps = name.split("/")
    for step in ("/".join(steps[: end + 1]) for end in range(len(steps))):
        if (wrong := _wrong_link(root, step)) is not None:
            return wrong
    if path.is_dir():
        names, findings = _list(Listing(root, SUFFIXES, root), name)
    else:
        names, findings = ([name], []) if path.exists() else ([], [])
        if names and (steps[-1].startswith(".") or not name.lower().endswith(SUFFIXES)):
            names, findings = (
                [],
                [_about("TC011", name, f"neither a folder nor a file ending in {', '.join(SUFFIXES)}")],
            )
    names = [found for found in names if not _is_test(found)]
    top, base = steps[0], os.fspath(root)
    depths = [depth - 1 for depth in _DEPTHS[top]]
    parts = [Inputs((), tuple(findings))]
    for found in names:
        if found.count("/") in depths:
            parts.append(read(f"{base}/{found}", found))
        else:
            parts.append(Inputs((), (_misplaced(found, top),)))
    return merge(parts)


def _wrong_link(root: Path, name: str) -> Inputs | None:
    """Return the finding about a link that leads out of the project, or is broken."""
    path = root / name
    if not path.is_symlink():
        return None
    if leads_out(root, path):
        return _outside(name)
    try:
        os.stat(path)  # noqa: PTH116 - pathlib hides loops
    except OSError as error:
        return Inputs((), (_unreadable(name, error),))
    return None


def read_file(path: Path | str, name: str) -> Inputs:
    """Read a regular file, by its name from the root; other files, and errors, are findings."""
    return _read(path, name, regular=True)


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """Read a file of at most ``limit`` bytes. Raises ValueError, whose text follows the name of the file."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            data = file.read(limit + 1)
    except IrregularFileError:
        raise ValueError("is not a regular file") from None
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(data) > limit:
        raise ValueError(f"is larger than {limit // 1024 // 1024} MiB")
    return data


def is_input(name: str) -> bool:
    """Return whether read_tree reads a regular file of this name."""
    steps = name.split("/")
    hidden = any(step.startswith(".") for step in steps)
    placed = len(steps) in _DEPTHS.get(steps[0], ()) and not _is_test(name)
    return placed and not hidden and name.lower().endswith(SUFFIXES)


def is_given(name: str, places: Iterable[str]) -> bool:
    """Return whether read_given reads a regular file of this name for one of ``places``, names from root."""
    if name.startswith(OUT) or name in (CONFIG, LOCK) or _is_test(name) or not name.lower().endswith(SUFFIXES):
        return False
    return any(name == place or _is_listed(name, place) for place in places)


def _is_listed(name: str, place: str) -> bool:
    """Return whether a file is below a folder, and no step in between is hidden."""
    prefix = "" if place == "." else f"{place}/"
    return name.startswith(prefix) and not any(step.startswith(".") for step in name[len(prefix) :].split("/"))


def read_given(root: Path, folder: Path, path: str) -> Inputs:
    """Read a file, which may be a pipe, or every YAML and JSON file below a folder. The path is relative to ``folder``.

    The name is the path from root; outside of root it is the path itself, and links may lead anywhere. At the root,
    out/, trainc.yaml and images.lock.yaml are skipped, and in a folder the tests of policies.
    """
    return _given(root, folder, path, tests=False)


def _given(root: Path, folder: Path, path: str, *, tests: bool) -> Inputs:
    inside = name_below(root, folder, path)
    name = inside or Path(path).as_posix()
    place = folder / path
    if inside is not None and leads_out(root, place):
        return _outside(name)
    if not place.is_dir():
        return _read(place, name)
    # trainc creates no links in out/.
    follow = inside is None or not f"{name}/".startswith(OUT)
    prefix = "" if name == "." else name + "/"
    names, findings = _list(Listing(place, SUFFIXES, None if inside is None else root, follow=follow), "", prefix)
    if name == "." and has_config(root):
        names = [found for found in names if found not in (CONFIG, LOCK) and not found.startswith(OUT)]
    if not tests and has_config(root):
        names = [found for found in names if not _is_test(prefix + found)]
    files = [read_file(f"{place}/{found}", prefix + found) for found in names]
    return merge([Inputs((), tuple(findings)), *files])


def read_stdin(stream: BinaryIO) -> Inputs:
    """Read standard input to its end."""
    return _limited(stream.read(LIMIT + 1), STDIN)


def _list(listing: Listing, folder: str, prefix: str = "") -> tuple[list[str], list[Finding]]:
    """Return the names of the YAML and JSON files below a folder, and findings, in which ``prefix`` precedes names."""
    found = list(listing.below(folder))
    names = [one.name for one in found if one.problem is None]
    return sorted(names), [_passed_over(prefix, one) for one in found if one.problem is not None]


def _passed_over(prefix: str, found: Found) -> Finding:
    name = (prefix + found.name).rstrip("/") or "."
    if isinstance(found.problem, OSError):
        return _unreadable(name, found.problem)
    assert found.problem is not None, "what has no problem is listed"
    if found.problem is Problem.OUTSIDE:
        return _outside(name).findings[0]
    severity = Severity.WARNING if found.problem is Problem.LINK else None
    return _about("TC011", name, found.problem.value, severity)


def read_policy_tests(root: Path, folder: Path, paths: Iterable[str] = ()) -> Inputs:
    """Read policies/tests/, or the given files and folders, relative to ``folder``."""
    if paths:
        return merge(_given(root, folder, path, tests=True) for path in paths)
    return _given(root, root, POLICY_TESTS, tests=True) if (root / POLICY_TESTS).is_dir() else Inputs()


def read_beside_policies(root: Path) -> Inputs:
    """Read the regular files below policies/ that are not read as policies: hidden ones, tests, of other suffixes."""
    found = []
    for folder, folders, files in os.walk(root / "policies"):
        folders.sort()
        names = (Path(folder, file).relative_to(root).as_posix() for file in sorted(files))
        found += [_read(root / name, name, regular=True) for name in names if not is_input(name)]
    return merge(found)


def _is_test(name: str) -> bool:
    return name.startswith(POLICY_TESTS + "/")


def _read(path: Path | str, name: str, regular: bool = False) -> Inputs:
    try:
        file = open_regular(path) if regular else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _limited(_content(file), name)
        finally:
            os.close(file)
    except IrregularFileError:
        return Inputs((), (_about("TC011", name, "not a regular file"),))
    except OSError as error:
        return Inputs((), (_unreadable(name, error),))


def _content(file: int) -> bytes:
    """Return the content of a file, up to one byte over the limit."""
    parts: list[bytes] = []
    rest = LIMIT + 1
    while rest and (part := os.read(file, min(rest, _BLOCK))):
        parts.append(part)
        rest -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _limited(data: bytes, name: str) -> Inputs:
    if len(data) > LIMIT:
        return Inputs((), (_about("TC012", name, f"larger than {LIMIT // 1024 // 1024} MiB"),))
    return Inputs((Source(name, data),))


def _about(code: str, name: str, message: str, severity: Severity | None = None) -> Finding:
    return report(code, Document(Source(name, b""), {}), (), message, severity=severity)


def _unreadable(name: str, error: OSError) -> Finding:
    return _about("TC011", name, Problem.LOOP.value if is_loop(error) else f"cannot be read: {error.strerror}")


def _outside(name: str) -> Inputs:
    """Return the finding of a link that leads out of the project; it does not show the target."""
    document = Document(Source(name, b""), {})
    hint = "copy the file into the project, or pass its path on the command line"
    return Inputs((), (report("TC011", document, (), Problem.OUTSIDE.value, hint=hint),))


def _misplaced(name: str, top: str) -> Finding:
    return report(
        "TC011", Document(Source(name, b""), {}), (), "file at the wrong depth", found=name, expected=_PLACES[top]
    )
