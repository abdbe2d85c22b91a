"""The comments of one YAML text that begin with a given word; a ``#`` inside a scalar is no comment."""

from __future__ import annotations

import re
from bisect import bisect_right

from trainc.documents.problems import Refused
from trainc.regex import lazy

_HASH = lazy(r"(?<!\S)#")
"""What begins a comment, unless a scalar holds it or another comment does."""

_REST = lazy("[^\n\r\u0085\u2028\u2029]*")


def may_have(text: str, word: str) -> bool:
    """Tell whether any comment could begin with word: no other text needs a reader of YAML to say that none does."""
    return word in text and re.search(rf"#\s*{re.escape(word)}", text) is not None


def yaml_comments(text: str, word: str) -> list[tuple[int, str]]:
    """Return the comments whose first characters are word: the code point of each ``#``, and what follows word.

    Blanks before word are skipped and those around the rest are removed. A text that YAML cannot read has none.
    """
    if not may_have(text, word):
        return []
    from trainc.documents.libyaml import with_masks

    try:
        scalars: list[tuple[int, int]] = with_masks(text, _scalars)
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


def _scalars(text: str, masks: str) -> list[tuple[int, int]]:
    """Return where each scalar begins and ends, in order."""
    from trainc.documents.libyaml import kinds, open_events

    known = kinds()
    read = open_events(text, masks)
    spans: list[tuple[int, int]] = []
    while type(event := read()) is not known.StreamEndEvent:
        if type(event) is known.ScalarEvent:
            spans.append((event.start_mark.index, event.end_mark.index))
    return spans
