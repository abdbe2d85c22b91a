"""Finds the document of a finding again, from the text of today."""

from __future__ import annotations

from pathlib import Path

from trainc.findings.plain import Place, place_of
from trainc.read import CONFIG, LOCK, read_config, read_file, read_lock
from trainc.source import Document, Source


class Unfound(Exception):
    """A document is not one that a file of the repository holds."""


class Finder:
    """The documents of a repository's files, each file read when it is first asked for."""

    def __init__(self, root: Path) -> None:
        """Find documents below root."""
        self.root = root
        self.known: dict[str, dict[int, Document]] = {}

    def place(self, document: Document) -> Place:
        """Return the place of a document. Raises Unfound where it would not be found again."""
        name, index = place_of(document)
        if not name.endswith((".yaml", ".yml", ".json")) or ":" in name:  # as in trainc:..., and in revisions
            raise Unfound(name)
        return name, index

    def document(self, place: Place) -> Document:
        """Return the document at a place. Raises Unfound."""
        name, index = place[0], place[1]
        if name not in self.known:
            self.known[name] = {document.index: document for document in self._read(name)}
        try:
            return self.known[name][index]
        except KeyError:
            raise Unfound(name) from None

    def _read(self, name: str) -> tuple[Document, ...]:
        if name in (CONFIG, LOCK):
            from trainc.config import read_document

            inputs = read_config(self.root) if name == CONFIG else read_lock(self.root)
            return tuple(read_document(source)[1] for source in inputs.sources)
        from trainc.documents import with_namespace
        from trainc.load import load

        inputs = read_file(self.root / name, name)
        sources: tuple[Source, ...] = inputs.sources
        return tuple(with_namespace(document)[0] for source in sources for document in load(source)[0])
