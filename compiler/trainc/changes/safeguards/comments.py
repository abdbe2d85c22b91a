"""Comments that silence findings and were not there before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from trainc.documents.load import comments
from trainc.findings import Finding, report
from trainc.findings.suppression import WORD, read
from trainc.inputs.options import Revision
from trainc.inputs.source import Document, Source

Entry = tuple[str, str, str]
"""File, code and reason."""


def new_comments(before: Revision, after: Revision) -> Iterator[Finding]:
    """Yield a note for each code that a comment silences, and none of the same file and reason did before."""
    old = {source.name: source for source in before.sources}
    for source in after.sources:
        if WORD not in source.decoded() or (source.name in old and old[source.name].text == source.text):
            continue
        known = Counter(entry for entry, _ in _entries(old[source.name])) if source.name in old else Counter[Entry]()
        for entry, place in _entries(source):
            known[entry] -= 1
            if known[entry] < 0:
                yield report("TC522", place, (), f"new comment ignores {entry[1]}: {entry[2]}")


def _entries(source: Source) -> Iterator[tuple[Entry, Document]]:
    for ignore in read(source, comments)[0]:
        for code, place in ignore.codes.items():
            yield (source.name, code, ignore.reason), place
