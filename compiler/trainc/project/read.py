"""Reads files, folders and standard input into Sources, in an order that no file system decides.

Names are POSIX paths from the repository's root, the folder that holds
trainc.yaml. Below jobs/ a file lies in a folder, its namespace; below runtimes/
it lies beside the others or in one folder. Hidden entries are skipped. Symbolic
links are followed within the repository, and a link that leads out of it is a
finding; so is what cannot be read. What the user names outside of the repository is
trusted.
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
"""The tests of policies: never read as policies, or as anything else that a cluster could take."""

SUFFIXES = (".yaml", ".yml", ".json")

LIMIT = 16 * 1024 * 1024
"""The most bytes of one file. An API server refuses requests above 3 MiB."""

_BLOCK = 64 * 1024
"""The bytes that are read at once."""

_DEPTHS = {"jobs": (3,), "runtimes": (2, 3), "policies": (2, 3)}
_PLACES = {
    "jobs": "jobs/<namespace>/<file>",
    "runtimes": "runtimes/<file> or runtimes/<folder>/<file>",
    "policies": "policies/<file> or policies/<folder>/<file>",
}


class Inputs(msgspec.Struct, frozen=True):
    """What was read, by name, and what could not be."""

    sources: tuple[Source, ...] = ()
    findings: tuple[Finding, ...] = ()


def merge(parts: Iterable[Inputs]) -> Inputs:
    """Put inputs together, sources sorted by name; what comes twice counts once."""
    sources: dict[str, Source] = {}
    findings: dict[tuple[str, str], Finding] = {}
    for part in parts:
        for source in part.sources:
            sources[source.name] = source
        for finding in part.findings:
            findings[finding.file, finding.message] = finding
    return Inputs(tuple(sources[name] for name in sorted(sources)), tuple(findings.values()))


def find_root(folder: Path) -> Path:
    """Return the nearest folder from ``folder`` upward that holds trainc.yaml, or ``folder`` itself."""
    return next((place for place in (folder, *folder.parents) if has_config(place)), folder)


def has_config(folder: Path) -> bool:
    """Tell whether trainc.yaml stands in a folder, a link to nothing included: its environments' output must stay."""
    return _stands(folder / CONFIG)


def _stands(path: Path) -> bool:
    """Tell whether there is anything but a folder at a path: then it has to be read, or told why it cannot be."""
    try:
        return not stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def name_below(root: Path, folder: Path, path: str) -> str | None:
    """Return the name from root of a path that is meant from folder; None outside of root. No file is touched."""
    absolute = os.path.normpath(folder / path)
    relative = os.path.relpath(absolute, root)
    if relative == os.pardir or relative.startswith(os.pardir + os.sep):
        return None
    return Path(relative).as_posix()


def read_config(root: Path) -> Inputs:
    """Read trainc.yaml; no source where there is none."""
    return _read_own(root, CONFIG)


def read_lock(root: Path) -> Inputs:
    """Read images.lock.yaml; no source where there is none."""
    return _read_own(root, LOCK)


def _read_own(root: Path, name: str) -> Inputs:
    if not _stands(root / name):
        return Inputs()
    return _outside(name) if leads_out(root, root / name) else read_file(root / name, name)


def read_platform(root: Path) -> Inputs:
    """Read runtimes/ and policies/, which all jobs share; not the tests of policies."""
    return merge([read_tree(root, RUNTIMES), read_tree(root, POLICIES)])


def read_tree(root: Path, name: str, read: Callable[[str, str], Inputs] | None = None) -> Inputs:
    """Read jobs/ or runtimes/, or what ``name`` is below them: a folder or a file.

    No source and no finding where there is no such folder. ``read`` may be another one than ``read_file``.
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
    """Return what is wrong with a link: it leads out of the repository, or nowhere."""
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
    """Read a regular file under its name from the root; what is none, or cannot be read, is a finding."""
    return _read(path, name, regular=True)


def read_bytes(path: Path, limit: int = LIMIT) -> bytes:
    """Read a file of at most ``limit`` bytes. ValueError says why it cannot be read, as the rest of a sentence."""
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
    """Tell whether read_tree reads a regular file of this name."""
    steps = name.split("/")
    hidden = any(step.startswith(".") for step in steps)
    placed = len(steps) in _DEPTHS.get(steps[0], ()) and not _is_test(name)
    return placed and not hidden and name.lower().endswith(SUFFIXES)


def is_given(name: str, places: Iterable[str]) -> bool:
    """Tell whether read_given, asked for one of places (names from root), reads a regular file of this name."""
    if name.startswith(OUT) or name in (CONFIG, LOCK) or _is_test(name) or not name.lower().endswith(SUFFIXES):
        return False
    return any(name == place or _is_listed(name, place) for place in places)


def _is_listed(name: str, place: str) -> bool:
    """Tell whether a file lies below a folder, with nothing hidden on the way there."""
    prefix = "" if place == "." else f"{place}/"
    return name.startswith(prefix) and not any(step.startswith(".") for step in name[len(prefix) :].split("/"))


def read_given(root: Path, folder: Path, path: str) -> Inputs:
    """Read a file, or every YAML and JSON file below a folder. The path is meant from ``folder``.

    The name is the path from root, or the path as given outside of it, where links may lead anywhere. A file that is
    named may be a pipe. At the root itself out/, trainc.yaml and
    images.lock.yaml are passed over: what trainc makes of the others is not input beside them. So are the tests of
    policies in a folder.
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
    # Links in out/ are somebody else's: trainc makes none.
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
    """Return the names of the YAML and JSON files at any depth below folder, and what was passed over.

    ``prefix`` goes before names in findings.
    """
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
    """Read policies/tests/, or the files and folders given, meant from ``folder``."""
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
    """Return what a file holds, up to a byte more than may be read."""
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
    """Return the finding of a link that leads out of the repository, which says nothing of where it leads."""
    document = Document(Source(name, b""), {})
    hint = "put a copy of the file here; only a path outside of the project that you name yourself is read"
    return Inputs((), (report("TC011", document, (), Problem.OUTSIDE.value, hint=hint),))


def _misplaced(name: str, top: str) -> Finding:
    return report(
        "TC011", Document(Source(name, b""), {}), (), "file in the wrong place", found=name, expected=_PLACES[top]
    )
