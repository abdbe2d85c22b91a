"""What may be shown of two versions of an object: what looks secret in either is masked."""

from __future__ import annotations

import re
from json import dumps

from trainc.diagnostics.secrecy import LEAST, MASK, hidden
from trainc.source import Document, Json, JsonObject, Path


class Veil:
    """Masks in values what some documents hold that looks secret, wherever it stands."""

    __slots__ = ("pattern",)

    def __init__(self, *documents: Document | None) -> None:
        texts = {secret.text for each in documents if each is not None for secret in hidden(each)}
        spelt = {form for text in texts for form in (text, dumps(text)[1:-1]) if len(form) >= LEAST}
        # Longest first: one secret may begin as another does.
        forms = sorted(spelt, key=lambda form: (-len(form), form))
        self.pattern = re.compile("|".join(map(re.escape, forms))) if forms else None

    def data(self, document: Document) -> JsonObject:
        """Return the object of a document, masked; the shape stays."""
        value: Json = document.data
        for secret in hidden(document):
            value = _at(value, secret.path, None if secret.whole else secret.text)
        return self._masked(value)  # type: ignore[return-value]  # an object stays one

    def _masked(self, value: Json) -> Json:
        if self.pattern is None:
            return value
        if isinstance(value, dict):
            return {key: self._masked(child) for key, child in value.items()}
        if isinstance(value, list):
            return [self._masked(item) for item in value]
        return self.pattern.sub(MASK, value) if isinstance(value, str) else value


def _at(value: Json, path: Path, part: str | None) -> Json:
    """Return a copy of value with the scalar at path masked: all of it, or a part of its text."""
    if path:
        key, rest = path[0], path[1:]
        if isinstance(value, list):
            return [_at(item, rest, part) if place == key else item for place, item in enumerate(value)]
        assert isinstance(value, dict), "a path leads through what it was found in"
        return {**value, key: _at(value[str(key)], rest, part)}  # type: ignore[dict-item]
    return value.replace(part, MASK) if part is not None and isinstance(value, str) else MASK
