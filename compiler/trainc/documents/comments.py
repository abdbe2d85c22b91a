"""The comments of a text that begin with a given word; a ``#`` inside a scalar begins no comment."""

from __future__ import annotations

import re
from bisect import bisect_right

from trainc.basics.regex import lazy
from trainc.documents.problems import Refused
from trainc.inputs.source import Mark, Source

_HASH = lazy(r"(?<!\S)#")
"""What begins a comment, unless it is inside a scalar or another comment."""

_REST = lazy("[^\n\r\u0085\u2028\u2029]*")


def comments(source: Source, word: str) -> tuple[tuple[Mark, str], ...]:
    """Return the comments of a source that begin with word: the position of each ``#``, and what follows word.

    JSON has none, and neither has a document that cannot be read.
    """
    if not _may_have(source.decoded(), word):
        return ()
    from trainc.documents.load import yaml_chunks
    from trainc.documents.positions import Lines

    text = source.text if isinstance(source.text, str) else source.text.decode("utf-8", "surrogateescape")
    lines = Lines(text)
    return tuple(
        (lines.mark(begin + offset), rest)
        for begin, end in yaml_chunks(text)
        for offset, rest in yaml_comments(text[begin:end], word)
    )


def _may_have(text: str, word: str) -> bool:
    """Tell whether any comment could begin with word: no other text has to be parsed."""
    return word in text and re.search(rf"#\s*{re.escape(word)}", text) is not None


def yaml_comments(text: str, word: str) -> list[tuple[int, str]]:
    """Return the comments of one document: the code point of each ``#``, and what follows word.

    Blanks before word are skipped and those around the rest are removed.
    """
    if not _may_have(text, word):
        return []
    from trainc.documents.libyaml import scalar_events, with_masks

    try:
        scalars = with_masks(
            text, lambda masked, masks: [(scalar.begin, scalar.end) for scalar in scalar_events(masked, masks)]
        )
    except Refused:
        return []
    starts = [start for start, _ in scalars]
    found, end = [], 0
    for match in _HASH.finditer(text):
        at = match.start()
        before = bisect_right(starts, at) - 1
        if at < end or (before >= 0 and at < scalars[before][1]):
            continue
        rest = _REST.match(text, at + 1)
        end = rest.end() if rest else at + 1
        comment = text[at + 1 : end].strip()
        if comment.startswith(word):
            found.append((at, comment.removeprefix(word).strip()))
    return found
