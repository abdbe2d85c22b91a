"""Places inside a string of a document, for findings on one of its characters."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping

from trainc.records import dataclass, replace
from trainc.source import Document, Mark, Path, get


@dataclass(frozen=True, slots=True)
class Moved:
    """The marks of a document, of which that of ``path`` is moved to a character of the string there."""

    document: Document
    path: Path
    offset: int

    def __call__(self) -> Mapping[Path, Mark]:
        """Return the marks."""
        known = self.document.marks()
        mark = known.get(self.path)
        value = get(self.document.data, *self.path)
        if mark is None or not isinstance(value, str):
            return known
        from trainc.documents.yamlstrings import inside

        text = self.document.source.decoded()
        found = inside(text, mark, value, self.offset, key=isinstance(self.path[-1], str))
        return known if found is None else ChainMap({self.path: found}, known)  # type: ignore[arg-type]  # read only


def within(document: Document, path: Path, offset: int) -> Document:
    """Return the document with the mark of path moved to a character of the string there.

    ``offset`` counts code points. Where the string cannot be found in the text, the mark stays at its key.
    """
    return replace(document, marks=Moved(document, path, offset))
