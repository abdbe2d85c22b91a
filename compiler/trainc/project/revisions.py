"""Reads jobs/, runtimes/, policies/ and out/ of a git revision, with git and without network access.

Names are relative to the project root, as in read.py, which may be a folder of a larger git repository. Nothing is
checked out.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from trainc.findings.display import is_printable
from trainc.inputs.options import Revision
from trainc.inputs.source import Source
from trainc.project.config import Config, parse, read_document
from trainc.project.files import OWNED, Kind
from trainc.project.read import CONFIG, LIMIT, LOCK, OUT, SUFFIXES, is_given, is_input

FOLDERS: Final = ("jobs", "runtimes", "policies", "out")
SETTINGS: Final = (CONFIG, LOCK)
"""Files at the root with settings."""

_REGULAR: Final = ("100644", "100755")
_KINDS: Final = {"120000": Kind.LINK, "040000": Kind.FOLDER}
_MISSING: Final = "missing"

_ENVIRONMENT: Final = {
    "LC_ALL": "C",
    "GIT_NO_LAZY_FETCH": "1",  # of a partial clone: no network
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}


class RevisionError(Exception):
    """A revision cannot be read."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class _Entry(NamedTuple):
    """A file of a revision: its name and the hash of its content."""

    name: str
    content: str


def read_revision(root: Path, revision: str, given: Sequence[str] = ()) -> Revision:
    """Return the files of a revision (a branch, a tag, a commit, ``HEAD~1``), sorted by name; of out/ only trainc's.

    ``given`` are further files and folders, relative to root. Raises RevisionError if git, the repository, the revision
    or the content of a file is missing.
    """
    commit = _commit(root, revision)
    listing = _git(root, "ls-tree", "-r", "-z", "-l", commit, "--", *FOLDERS, *SETTINGS, *given)
    entries = sorted(_entries(listing, lambda name: _is_wanted(name, given)))
    texts = _contents(root, entries)
    owned = ((e, t) for e, t in zip(entries, texts, strict=True) if not e.name.startswith(OUT) or t.startswith(OWNED))
    return _revision(revision, (Source(entry.name, text) for entry, text in owned))


def read_inputs(root: Path, revision: str) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """Return the inputs of a revision, with trainc.yaml and images.lock.yaml, and the other files below policies/.

    Raises RevisionError.
    """
    commit = _commit(root, revision)
    listing = _git(root, "ls-tree", "-r", "-z", "-l", commit, "--", *FOLDERS[:-1], CONFIG, LOCK)
    entries = sorted(_entries(listing, lambda name: _is_read(name) or name.startswith("policies/")))
    sources = [Source(entry.name, text) for entry, text in zip(entries, _contents(root, entries), strict=True)]
    unread = tuple(source for source in sources if not _is_read(source.name))
    return tuple(source for source in sources if _is_read(source.name)), unread


def _is_read(name: str) -> bool:
    return name in (CONFIG, LOCK) or is_input(name)


def _revision(name: str, sources: Iterable[Source]) -> Revision:
    """Return a revision of sources, with trainc.yaml among them; an invalid one is ignored."""
    found = tuple(sources)
    config = next((parse(source)[0] for source in found if source.name == CONFIG), Config())
    settings = tuple(read_document(source)[1] for source in found if source.name in SETTINGS)
    return Revision(name, tuple(source for source in found if source.name not in SETTINGS), config.data, settings)


def read_output(root: Path, revision: str) -> dict[str, bytes]:
    """Return all YAML and JSON files below out/ at a revision, by name. Raises RevisionError."""
    commit = _commit(root, revision)
    found = list(_entries(_git(root, "ls-tree", "-r", "-z", "-l", commit, "--", "out"), wanted=_lies_in_out))
    return {entry.name: text for entry, text in zip(found, _contents(root, found), strict=True)}


def output_kinds(root: Path, revision: str) -> dict[str, Kind]:
    """Return the kind of every entry below out/ at a revision, by name. Raises RevisionError."""
    listing = _git(root, "ls-tree", "-r", "-t", "-z", _commit(root, revision), "--", "out")
    found = {}
    for line in filter(None, listing.split(b"\0")):
        head, _, raw = line.partition(b"\t")
        mode = head.partition(b" ")[0].decode("ascii")
        found[os.fsdecode(raw)] = Kind.FILE if mode in _REGULAR else _KINDS.get(mode, Kind.OTHER)
    return found


def is_revision(root: Path, text: str) -> bool:
    """Return whether a text is a git revision, or a range such as main..HEAD."""
    try:
        return all(_commit(root, part) for part in text.replace("...", "..").split("..") if part)
    except RevisionError:
        return False


def _commit(root: Path, revision: str) -> str:
    """Return the hash of a revision's commit."""
    if not revision or revision.startswith("-") or not is_printable(revision):
        raise RevisionError(f"{revision!r} is not a revision")
    if _run(root, ("rev-parse", "--is-inside-work-tree")).stdout.strip() != b"true":
        problem = _said(_run(root, ("rev-parse", "--show-toplevel")))
        hint = "run trainc where the repository is checked out"
        raise RevisionError(f"no git repository here: {problem}" if problem else "no git repository here", hint)
    found = _run(root, ("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"))
    if found.returncode == 0:
        return found.stdout.decode("ascii").strip()
    raise RevisionError(f"revision {revision!r} not found", _hint(root, revision))


def _hint(root: Path, revision: str) -> str:
    if _run(root, ("rev-parse", "--is-shallow-repository")).stdout.strip() == b"true":
        return "this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0 in CI)"
    remote, slash, branch = revision.partition("/")
    if slash and remote.encode() in _run(root, ("remote",)).stdout.split():
        return f"fetch it first: git fetch {remote} {branch}"
    return "pass a branch, a tag or a commit that git rev-parse --verify accepts"


def _entries(listing: bytes, wanted: Callable[[str], bool]) -> Iterator[_Entry]:
    """Yield the regular files of a listing with a wanted name and within the size limit."""
    for line in listing.split(b"\0"):
        if not line:
            continue
        head, _, raw = line.partition(b"\t")
        mode, _, content, size = head.decode("ascii").split()
        name = os.fsdecode(raw)
        if mode in _REGULAR and int(size) <= LIMIT and wanted(name):
            yield _Entry(name, content)


def _is_wanted(name: str, given: Sequence[str]) -> bool:
    return _is_output(name) or name in SETTINGS or is_input(name) or is_given(name, given)


def _is_output(name: str) -> bool:
    return name.startswith(OUT) and name.endswith(SUFFIXES[0])


def _lies_in_out(name: str) -> bool:
    hidden = any(step.startswith(".") for step in name.split("/"))
    return name.startswith(OUT) and not hidden and name.lower().endswith(SUFFIXES)


def _contents(root: Path, entries: Sequence[_Entry]) -> list[bytes]:
    """Return the contents of files, in their order, by one call of git."""
    if not entries:
        return []
    asked = "".join(f"{entry.content}\n" for entry in entries).encode("ascii")
    answer = _git(root, "cat-file", "--batch", given=asked)
    contents, at = [], 0
    for entry in entries:
        end = answer.index(b"\n", at)
        head = answer[at:end].decode("ascii").split()
        if head[-1] == _MISSING:
            hint = "this clone is partial: fetch the content of the revision first"
            raise RevisionError(f"git does not have the content of {entry.name}", hint)
        size = int(head[-1])
        contents.append(answer[end + 1 : end + 1 + size])
        at = end + 1 + size + 1
    return contents


def _git(root: Path, *args: str, given: bytes = b"") -> bytes:
    done = _run(root, args, given)
    if done.returncode != 0:
        raise RevisionError(f"git {args[0]}: {_said(done)}")
    return done.stdout


def _run(root: Path, args: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            ("git", *args), cwd=root, input=given, capture_output=True, check=False, env={**os.environ, **_ENVIRONMENT}
        )
    except FileNotFoundError:
        raise RevisionError("git not found on PATH", "install git, which trainc uses to read revisions") from None


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the first line of git's error, without its prefix."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else ""
