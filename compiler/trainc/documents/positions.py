"""Where things stand in a text: lines and columns of offsets, and the marks of paths, made when they are asked for."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from trainc.memo import Once
from trainc.source import Mark, Path

BOM: Final = "\ufeff"
"""A byte order mark."""

Marks: TypeAlias = Callable[[], Mapping[Path, Mark]]
"""Tells where the keys and items of a document stand, by path."""


class Lines:
    """Where the lines of a text start, found when first asked for."""

    __slots__ = ("starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts: list[int] = []

    def mark(self, offset: int) -> Mark:
        """Return line and column of an offset, in code points."""
        if not self.starts:
            # A byte order mark is no column.
            self.starts = [1 if self.text.startswith(BOM) else 0]
            self.starts += [match.end() for match in re.finditer("\n", self.text)]
        line = max(bisect_right(self.starts, offset), 1)
        return Mark(line, max(offset - self.starts[line - 1], 0) + 1)

    def marks(self, offsets: Callable[[], Mapping[Path, int]], begin: int) -> Marks:
        """Return the marks of a document that begins at an offset of the text, given the offsets in it by path."""
        return Once(lambda: _Placed(self, offsets(), begin))


class _Placed(Mapping[Path, Mark]):
    """The marks of the paths in a chunk of a text that begins at an offset, each made when asked for: few ever are."""

    __slots__ = ("_begin", "_lines", "_offsets")

    def __init__(self, lines: Lines, offsets: Mapping[Path, int], begin: int) -> None:
        self._lines, self._offsets, self._begin = lines, offsets, begin

    def __getitem__(self, path: Path) -> Mark:
        return self._lines.mark(self._begin + self._offsets[path])

    def __contains__(self, path: object) -> bool:
        return path in self._offsets

    def __iter__(self) -> Iterator[Path]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)


class Parts:
    """The marks of a document cut into those of parts of it, each with the marks below its path."""

    __slots__ = ("_paths", "_prefixes", "marks")

    def __init__(self, marks: Marks) -> None:
        self.marks = marks
        self._prefixes: set[Path] = set()
        self._paths: dict[Path, list[Path]] | None = None

    def below(self, prefix: Path) -> Marks:
        """Return the marks of the part at a path, as those of a document of its own; no part is in another."""
        self._prefixes.add(prefix)
        return lambda: _Below(self, self.marks(), prefix)

    def paths(self, prefix: Path) -> list[Path]:
        """Return the paths in the part at a path. All parts are found in one walk."""
        if self._paths is None:
            self._paths = {prefix: [] for prefix in self._prefixes}
            sizes = sorted({len(prefix) for prefix in self._prefixes})
            for path in self.marks():
                for size in sizes:
                    if size <= len(path) and (part := self._paths.get(path[:size])) is not None:
                        part.append(path[size:])
        return self._paths[prefix]


class _Below(Mapping[Path, Mark]):
    """The marks below a path, as those of a document of its own."""

    __slots__ = ("marks", "parts", "prefix")

    def __init__(self, parts: Parts, marks: Mapping[Path, Mark], prefix: Path) -> None:
        self.parts = parts
        self.marks = marks
        self.prefix = prefix

    def __getitem__(self, path: Path) -> Mark:
        return self.marks[self.prefix + path]

    def __iter__(self) -> Iterator[Path]:
        return iter(self.parts.paths(self.prefix))

    def __len__(self) -> int:
        return len(self.parts.paths(self.prefix))
