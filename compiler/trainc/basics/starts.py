"""Finds the names, such as patterns or beginnings of image names, that may mean a text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


class Starts:
    """Names by the texts with which others may start, so that those of a text are found at once."""

    __slots__ = ("_names", "_sizes")

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._names: dict[str, list[str]] = {}
        for start, name in pairs:
            self._names.setdefault(start, []).append(name)
        self._sizes = sorted({*map(len, self._names)})

    def of(self, text: str, *, by_step: bool = True) -> Iterator[str]:
        """Yield the names for each start of a text, shortest start first.

        ``by_step``: the text is the full name of an image, of which a start ends at a step of the path, or at the tag
        or digest. A registry with a port is another one than that without.
        """
        path = text.index("/") if "/" in text else len(text)  # a colon before it begins a port
        for size in self._sizes:
            if size > len(text):
                return
            ends = ("", *"/:@") if size > path else ("", "/")
            is_step = size > 0 and (text[size : size + 1] in ends or text[size - 1] == "/")
            if is_step or not by_step:
                yield from self._names.get(text[:size], ())
