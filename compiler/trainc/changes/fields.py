"""The fields in which two versions of an object differ, each by a name that a reader can follow."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.changes.model import FieldChange
from trainc.changes.veil import Veil
from trainc.documents.compare import Change, changes, key_of
from trainc.regex import lazy
from trainc.source import Document, Json, JsonObject, Path, get

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
