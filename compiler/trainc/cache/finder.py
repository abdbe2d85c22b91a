"""Tells where a finding is, as plain data, and finds its document again, from the text of today."""

from __future__ import annotations

from pathlib import Path

from trainc.findings.plain import Place, place_of
from trainc.read import CONFIG, LOCK, read_config, read_file, read_lock
from trainc.source import Document, Mark, Source

_TEXT = -1
"""Instead of an index: no document but a place in a text, as of a comment."""
_NOTHING = -2
"""Instead of an index: no text either, but a name, as of a link."""
_BUILT_IN = "trainc:"
"""As in ``trainc.lookup``, which takes longer to load than all that this module is for."""


class Unfound(Exception):
    """A document is not one that a file of the repository holds."""


class Finder:
    """The documents of a repository's files, each file read when it is first asked for."""

    def __init__(self, root: Path) -> None:
        """Find documents below root."""
        self.root = root
        self.sources: dict[str, tuple[Source, ...]] = {}
        self.known: dict[str, dict[int, Document]] = {}

    def place(self, document: Document) -> Place:
        """Return the place of a document. Raises Unfound where it would not be found again."""
        name, index = place_of(document)
        if document.data:
            if ":" in name and not name.startswith(_BUILT_IN):  # of a revision, or no file
                raise Unfound(name)
            return name, index
        marks = document.marks()
        if not document.source.text:
            if marks:
                raise Unfound(name)
            return name, _NOTHING
        if set(marks) != {()}:
            raise Unfound(name)
        line, column = marks[()]
        return f"{line}:{column}:{name}", _TEXT

    def document(self, place: Place) -> Document:
        """Return the document at a place. Raises Unfound."""
        name, index = place[0], place[1]
        if index == _NOTHING:
            return Document(Source(name, b""), {})
        if index == _TEXT:
            line, column, name = name.split(":", 2)
            mark = Mark(int(line), int(column))
            return Document(self._source(name), {}, 0, lambda: {(): mark})
        if name not in self.known:
            self.known[name] = {document.index: document for document in self._documents(name)}
        try:
            return self.known[name][index]
        except KeyError:
            raise Unfound(name) from None

    def _source(self, name: str) -> Source:
        if name not in self.sources:
            read = {CONFIG: read_config, LOCK: read_lock}.get(name)
            inputs = read_file(self.root / name, name) if read is None else read(self.root)
            self.sources[name] = inputs.sources
        if not self.sources[name]:
            raise Unfound(name)
        return self.sources[name][0]

    def _documents(self, name: str) -> tuple[Document, ...]:
        if name.startswith(_BUILT_IN):
            from trainc.lookup import builtin_names
            from trainc.runtimes import admit_builtin

            own = (admit_builtin(each) for each in builtin_names())
            return tuple(one.document for one in own if one is not None and one.document.source.name == name)
        if name in (CONFIG, LOCK):
            from trainc.typedfiles import read_document

            return (read_document(self._source(name))[1],)
        from trainc.documents.classify import with_namespace
        from trainc.documents.load import load

        return tuple(with_namespace(document)[0] for document in load(self._source(name))[0])
