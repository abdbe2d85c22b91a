"""What may be shown of two versions of an object: what looks secret in either is masked."""

from __future__ import annotations

from trainc.diagnostics.secrecy import MASK, hidden, known, redact
from trainc.source import Document, Json, JsonObject, Path


class Veil:
    """Masks in texts what some documents hold that looks secret."""

    __slots__ = ("indexes",)

    def __init__(self, *documents: Document | None) -> None:
        there = [document for document in documents if document is not None and hidden(document)]
        self.indexes = [known(document) for document in there]

    def data(self, document: Document) -> JsonObject:
        """Return the object of a document, masked; the shape stays."""
        value: Json = document.data
        for secret in hidden(document):
            value = _at(value, secret.path, None if secret.whole else secret.text)
        return self.json(value)  # type: ignore[return-value]  # an object stays one

    def json(self, value: Json) -> Json:
        """Return a value with every text in it masked."""
        if not self.indexes:
            return value
        if isinstance(value, dict):
            return {key: self.json(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self.json(item) for item in value]
        return redact(value, self.indexes) if isinstance(value, str) else value


def _at(value: Json, path: Path, part: str | None) -> Json:
    """Return a copy of value with the scalar at path masked: all of it, or a part of its text."""
    if path:
        key, rest = path[0], path[1:]
        if isinstance(value, list):
            return [_at(item, rest, part) if place == key else item for place, item in enumerate(value)]
        assert isinstance(value, dict), "a path leads through what it was found in"
        return {**value, key: _at(value[str(key)], rest, part)}  # type: ignore[dict-item]
    return value.replace(part, MASK) if part is not None and isinstance(value, str) else MASK
