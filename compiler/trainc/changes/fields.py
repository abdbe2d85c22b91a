"""The fields in which two versions of an object differ, each by a name that a reader can follow, secrets masked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import dumps

from trainc.basics.jsonvalues import Json, JsonObject, Path, get
from trainc.basics.regex import lazy
from trainc.changes.model import FieldChange
from trainc.documents.compare import Change, changes, key_of
from trainc.findings.redaction import LEAST, MASK
from trainc.findings.secrets import hidden
from trainc.inputs.source import Document

_PLAIN = lazy(r"[A-Za-z_][\w-]*\Z")
_INDEX = lazy(r"[0-9]+\Z")
_BARE = lazy(r"[^\s\[\]=]+\Z")


def field_changes(old: Document, new: Document, veil: Veil) -> tuple[FieldChange, ...]:
    """Return what differs between two versions of an object, in order of the new one, secrets masked."""
    shown, before = veil.data(new), veil.data(old)
    return tuple(
        FieldChange(
            named(new.data, old.data, change),
            _shown(before, change.old_path, change.old),
            _shown(shown, change.path, change.new),
        )
        for change in _sorted_out(new.data, old.data)
    )


def _sorted_out(new: JsonObject, old: JsonObject) -> Iterator[Change]:
    """Yield the changes; a null, which is a value in JSON, is none to a cluster."""
    return (change for change in changes(new, old) if not (change.new is None and change.old is None))


def _shown(masked: JsonObject, path: Path, value: Json) -> Json:
    return None if value is None else get(masked, *path)


def named(new: Json, old: Json, change: Change) -> str:
    """Spell the path of a change: ``spec.replicatedJobs[node].template``, items of lists by what names them.

    An item without a key is named by its index, another key than name is said: ``volumeMounts[mountPath=/data]``.
    """
    text, value = "", new
    for depth, step in enumerate(change.name):
        if depth >= len(change.path):  # what is gone
            value = get(old, *change.old_path[:-1])
        text += _item(value, step) if isinstance(step, int) else _key(step, first=not text)
        value = get(value, step)
    return text


def _key(step: str, *, first: bool) -> str:
    if _PLAIN.match(step):
        return step if first else f".{step}"
    return f'["{step}"]'


def _item(value: Json, step: int) -> str:
    key = key_of(get(value, step))
    if key is None or not _BARE.match(str(key[1])):
        return f"[{step}]"
    name, said = key
    return f"[{said}]" if name == "name" and not _INDEX.match(str(said)) else f"[{name}={said}]"


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
