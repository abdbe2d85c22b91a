"""Opens and reads files, and reports those that are not read.

They must be regular: a pipe could block forever, a device never end.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec import Struct

from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document, Source
from trainc.pipeline.content import HEADER, Content, digest_of

LIMIT: Final = 16 * 1024 * 1024
"""The most bytes of one file, and of standard input. An API server refuses requests above 3 MiB."""

MAX_OUTPUT: Final = 4 * LIMIT
"""The most bytes that are read of a file that trainc may have written, to compare it."""

MAX_FILES: Final = 1_000_000
"""The most files below a folder of inputs. A fleet of 100,000 jobs is the largest that trainc is tested with."""

MAX_TOTAL: Final = 1 << 30
"""The most bytes that the inputs of one folder have together, also at a git revision."""

_BLOCK: Final = 64 * 1024
"""The least bytes that one call reads, if the file has them."""


class IrregularFileError(OSError):
    """Not a regular file."""


class FileTooLargeError(OSError):
    """More bytes than the limit."""


@contextmanager
def nested(folder: str | Path) -> Iterator[None]:
    """Raise an OSError for a folder with too many in each other: functions of Python call themselves for each."""
    try:
        yield
    except RecursionError:
        raise OSError(errno.ENAMETOOLONG, "too many folders in each other", os.fspath(folder)) from None


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


def read_regular(path: str | Path) -> bytes | None:
    """Return the content of a regular file; None for anything else, and if it is too large or cannot be read."""
    try:
        return read_open(open_regular(path), MAX_OUTPUT)
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


OUTSIDE = "symbolic link that leads out of the project, not followed"
LINK = "symbolic link, which trainc does not follow"


def about(
    name: str,
    message: str,
    *,
    code: str = "TC011",
    severity: Severity | None = None,
    found: str | None = None,
    expected: str | None = None,
    hint: str | None = None,
) -> Finding:
    """Return a finding about a whole file or folder, of which no text is shown."""
    document = Document(Source(name, b""), {})
    return report(code, document, (), message, severity=severity, found=found, expected=expected, hint=hint)


def not_followed(name: str, severity: Severity | None = None) -> Finding:
    """Return the finding of a path that is a link, or behind one; it does not show the target."""
    hint = "replace it with a copy of the file or folder that it leads to"
    return about(name, LINK, severity=severity, hint=hint)


def unreadable(name: str, error: OSError) -> Finding:
    """Return the finding of a file or folder that cannot be read."""
    if isinstance(error, FileTooLargeError):
        return about(name, f"larger than {LIMIT >> 20} MiB", code="TC012")
    message = "loop of symbolic links" if error.errno == errno.ELOOP else f"cannot be read: {error.strerror}"
    return about(name, str(error.strerror) if isinstance(error, IrregularFileError) else message)


def unnamable(name: str) -> Finding:
    """Return the finding of a name that is not text."""
    data = os.fsencode(name)
    try:
        return about(data.decode(), "the locale does not allow this name: use a UTF-8 locale")
    except UnicodeDecodeError:
        return about(data.decode("utf-8", "backslashreplace"), "the name is not UTF-8")


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
