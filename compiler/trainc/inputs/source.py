"""Sources, documents and positions in them, as plain data.

Positions are not computed while a document is read; ``Document.marks`` computes them when a finding needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from zlib import compress, decompress

from msgspec import Struct

from trainc.basics.jsonvalues import JsonObject, Path


class Mark(NamedTuple):
    """A position in a text; both count from 1, columns in code points."""

    line: int
    column: int


START = Mark(1, 1)
BUILTIN: Final = "trainc:"
"""The prefix of the names of built-in sources: ``trainc:runtimes/torch-distributed.yaml``."""

NOTEBOOK: Final = "<notebook>"
"""The name of a Python source that is not a file: a cell, or a text that was executed."""


class Source(Struct, frozen=True):
    """A text to compile. ``name`` is shown in findings: a relative POSIX path, or ``<stdin>``."""

    name: str
    text: str | bytes

    @property
    def built_in(self) -> str | None:
        """The name of the built-in runtime that this is, or None."""
        start, end = f"{BUILTIN}runtimes/", ".yaml"
        return self.name.removeprefix(start).removesuffix(end) if self.name.startswith(start) else None

    def decoded(self) -> str:
        """Return the text; bytes that are not UTF-8 become U+FFFD (load reports them)."""
        return self.text if isinstance(self.text, str) else self.text.decode("utf-8", "replace")

    def encoded(self) -> bytes:
        """Return the bytes of the text."""
        return self.text.encode() if isinstance(self.text, str) else self.text


class Packed(Struct, frozen=True, eq=False):
    """A source that is kept compressed, because a revision has hundreds of thousands."""

    name: str
    data: bytes

    @classmethod
    def of(cls, name: str, text: bytes) -> Packed:
        """Compress a text."""
        return cls(name, compress(text, level=1))

    def source(self) -> Source:
        """Return the source."""
        return Source(self.name, decompress(self.data))


class Document(Struct, frozen=True, eq=False, weakref=True):
    """A YAML document: its data, and a function that computes positions in its text.

    ``marks()`` maps a path to the mark of its key (mappings) or of its value (lists, and the document under the empty
    path).
    """

    source: Source
    data: JsonObject
    index: int = 0
    marks: Callable[[], Mapping[Path, Mark]] = dict

    def locate(self, path: Path) -> Mark:
        """Return the mark of path, or of its nearest ancestor that has one."""
        marks = self.marks()
        for end in range(len(path), -1, -1):
            if (mark := marks.get(path[:end])) is not None:
                return mark
        return START
