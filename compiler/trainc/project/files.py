"""Opens and reads regular files, and resolves links.

Files must be regular: a pipe could block forever, a device never end. Symbolic links are followed only within the
project, so that no pull request makes trainc quote a file of the machine that it runs on.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from enum import Enum
from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec import Struct

from trainc.basics.regex import lazy
from trainc.pipeline.content import HEADER, Content, digest_of

_GIT = ".git"
"""Git's folder counts as outside: its configuration may have tokens."""

_MODULES = ".gitmodules"
_MODULE = lazy(r"""(?im)^(?:.*\])?[ \t]*+path[ \t]*+=[ \t]*+(?:"([^"\n]*)"|([^"#;\n]*+))""")
"""The path of a submodule in .gitmodules, in quotes or without, and perhaps before a comment."""

LIMIT: Final = 16 * 1024 * 1024
"""The most bytes of one file, and of standard input. An API server refuses requests above 3 MiB."""

MAX_OUTPUT: Final = 4 * LIMIT
"""The most bytes that are read of a file that trainc may have written, to compare it."""

MAX_FILES: Final = 1_000_000
"""The most files below a folder of inputs. A fleet of 100,000 jobs is the largest that trainc is tested with."""

MAX_TOTAL: Final = 1 << 30
"""The most bytes that the inputs of one folder, or of a git revision, have together."""

_BLOCK: Final = 64 * 1024
"""The least bytes that one call reads, if the file has them."""


class IrregularFileError(OSError):
    """Not a regular file."""


class FileTooLargeError(OSError):
    """More bytes than the limit."""


def open_regular(path: str | Path) -> int:
    """Open a regular file for reading. Raises IrregularFileError, and other OSErrors.

    The file is checked after opening, so that it cannot be replaced in between. Opening never blocks.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise IrregularFileError(errno.EINVAL, "not a regular file", os.fspath(path))


def read_open(handle: int, limit: int) -> bytes:
    """Return the content of an open file, and close it. Raises FileTooLargeError above ``limit`` bytes, and OSError.

    The file may be larger than its stated size, which is 0 for those of /proc. Most are read as one block.
    """
    try:
        size = os.fstat(handle).st_size
        data = first_bytes(handle, limit + 1, max(size + 1, _BLOCK)) if size <= limit else None
    finally:
        os.close(handle)
    if data is None or len(data) > limit:
        raise FileTooLargeError(errno.EFBIG, os.strerror(errno.EFBIG))
    return data


def first_bytes(handle: int, size: int, block: int = _BLOCK) -> bytes:
    """Return up to ``size`` bytes of an open file, read in blocks. Raises OSError."""
    parts: list[bytes] = []
    while size and (part := os.read(handle, min(size, block))):
        parts.append(part)
        size -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def read_regular(path: str | Path, limit: int = MAX_OUTPUT) -> bytes | None:
    """Return the content of a regular file; None for anything else, and if it is too large or cannot be read."""
    try:
        return read_open(open_regular(path), limit)
    except OSError:
        return None


def read_start(path: str | Path, size: int) -> bytes:
    """Return the first ``size`` bytes of a regular file. Raises IrregularFileError, and other OSErrors."""
    handle = open_regular(path)
    try:
        return first_bytes(handle, size)
    finally:
        os.close(handle)


def has_content(root: Path, name: str, content: Content) -> bool:
    """Return whether a file has a content."""
    old = read_regular(root / name)
    return old is not None and (old == content if isinstance(content, bytes) else digest_of(old) == content.value)


_LONGEST: Final = 4096
"""The most characters of a path, and of the text of a link, in Linux."""


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:  # not a link, or nothing at all
        return None


def leads_to_folder(path: Path) -> bool:
    """Return whether a path leads to a folder. Raises OSError if that is unknown, unlike Path.is_dir of Python 3.14."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_path_of_folder(path: str) -> bool:
    """Return whether a regular file has the path of a folder and nothing else.

    So git writes a link where core.symlinks is false, as on drives of Windows in WSL.
    """
    try:
        text = os.fsdecode(read_start(path, _LONGEST))
    except OSError:
        return False
    return text != "" and os.path.isdir(os.path.join(os.path.dirname(path), text))


_IN_A_ROW: Final = 40
"""The most links on the way to one file in Linux."""


class RealPaths:
    """Resolves symbolic links as os.path.realpath does, but each only once, and any number of them in a row.

    Otherwise, many links that each lead to all others would take quadratic time. ``read`` returns the text of a link.
    """

    def __init__(self, read: Callable[[str], str | None] = _link) -> None:
        self.read = read
        self.links: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return an absolute path without links; one in a loop stays. A path that is too long leads to the root."""
        reached, waiting = "", [("", path)]  # links, each with the rest of its text
        while waiting:
            link, rest = waiting.pop()
            if not rest:
                self.links[link] = reached
                continue
            step, _, rest = rest.partition("/")
            waiting.append((link, rest))
            if step == "..":
                reached = reached.rpartition("/")[0]
            elif step not in ("", "."):
                place = f"{reached}/{step}"
                text = None if place in self.links or len(place) > _LONGEST else self.read(place)
                if text is None or len(text) > _LONGEST:
                    reached = "" if len(place) > _LONGEST else self.links.get(place, place)
                    continue
                self.links[place] = place  # until its text is resolved: that leads here again in a loop
                waiting.append((place, text))
                reached = "" if text.startswith("/") else reached
        return reached or "/"


def real_path(path: str | Path, paths: RealPaths | None = None) -> str:
    """Return a path of the machine with all links resolved; ``paths`` are those resolved before."""
    if os.name != "posix":
        return os.path.realpath(path)
    return (paths or RealPaths()).of(os.path.join(os.getcwd(), path))


def loop_of(path: str) -> frozenset[str]:
    """Return the links of the loop that a link is in, or leads to; of a very long one, or of a row, the first ones."""
    seen: list[str] = []
    while path not in seen and len(seen) < _IN_A_ROW:
        seen.append(path)
        try:
            target = os.readlink(path)
        except OSError:  # the loop is among the parent folders
            return frozenset(seen)
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return frozenset(seen[seen.index(path) :] if path in seen else seen)


def leads_out(root: str | Path, path: str | Path) -> bool:
    """Return whether a path, with all links resolved, is outside of a folder or in git's folder."""
    return is_outside(real_path(root), real_path(path))


def is_outside(home: str, real: str) -> bool:
    """Return whether a real path is outside of a folder or in git's folder."""
    if real == home:
        return False
    start = home.rstrip(os.sep) + os.sep
    return not real.startswith(start) or _GIT in real[len(start) :].lower().split(os.sep)


def top_of(folder: Path) -> Path | None:
    """Return the real path of the top of the git repository that a folder is in, or None."""
    real = Path(real_path(folder))
    return next((each for each in (real, *real.parents) if (each / _GIT).exists()), None)


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
    home = top / _GIT
    try:
        if home.is_file():  # it has the path, as in a linked working tree
            home = top / os.fsdecode(read_regular(home) or b"").removeprefix("gitdir: ").strip()
        return (home / "info/sparse-checkout").exists()
    except OSError:  # a repository of another user, for example
        return False


OWNED: Final = f"# {HEADER}".encode()
"""The start of the first line of every file that trainc writes."""


class Blob(Struct, frozen=True, eq=False, gc=False):
    """A file of out/ whose bytes are read when they are needed. Two are equal if they have the same hash in git."""

    name: str
    hash: str
    read: Callable[[Blob], bytes]

    def __eq__(self, other: object) -> bool:
        """Return whether the contents are equal."""
        return isinstance(other, Blob) and self.hash == other.hash

    def __ne__(self, other: object) -> bool:
        """Return whether the contents differ."""
        return not self == other

    __hash__ = None  # type: ignore[assignment]


def git_hash(data: bytes) -> str:
    """Return the hash of a content in most git repositories; in those with SHA-256, nothing is equal to it."""
    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Kind(Enum):
    """The kind of an entry below out/; links are not followed."""

    FILE = "a file"
    FOLDER = "a folder"
    LINK = "a symbolic link"
    OTHER = "a special file"


def is_own(head: bytes) -> bool:
    """Return whether a file is trainc's by its first bytes, or was left empty or truncated by a power cut."""
    return head.startswith(OWNED) or OWNED.startswith(head) or not head[: len(OWNED)].strip(b"\0")
