"""Which object of a job is meant: ``KIND/NAME:FIELD``, ``KIND:FIELD`` where it has one of the kind, else the JobSet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from trainc.findings import suggest
from trainc.model import Object, Objects
from trainc.source import get

JOBSET = "JobSet"


class Unknown(NamedTuple):
    """An object that is not there: what is wrong, and a hint."""

    message: str
    hint: str | None


def choose(objects: Objects, text: str) -> tuple[Objects, str] | Unknown:
    """Return the objects that are meant, and the rest of the text: the field in them.

    All objects for an empty text. A name may be that of the file, without run number and hash.
    """
    if not text:
        return objects, ""
    kinds = {made.kind.lower() for made in objects}
    start, colon, field = text.partition(":")
    kind, slash, name = start.partition("/")
    if not colon and not (slash and kind.partition(".")[0].lower() in kinds):
        jobsets = tuple(made for made in objects if made.kind == JOBSET)
        return (jobsets or objects), text
    if "[" in kind:
        return Unknown(f"{start!r} is no object", _forms(objects))
    found = tuple(made for made in objects if _is(made, kind, name))
    if len(found) == 1 or (found and not slash and not field):
        return found, field
    if found:
        names = ", ".join(_spelt(made) for made in found)
        return Unknown(f"the job has several objects {start!r}: {names}", "name one of them")
    known = [_spelt(made) for made in objects]
    return Unknown(f"the job has no object {start!r}", suggest(start, known) or _forms(objects))


def _is(made: Object, kind: str, name: str) -> bool:
    word, dot, group = kind.partition(".")
    fits = made.kind.lower() == word.lower()
    if dot:
        fits = fits and group == str(get(made.data, "apiVersion")).rpartition("/")[0]
    return fits and (not name or name in (made.name, made.plain))


def _spelt(made: Object) -> str:
    return f"{made.kind.lower()}/{made.plain}"


def _forms(objects: Iterable[Object]) -> str:
    return f"it has {', '.join(_spelt(made) for made in objects)}"
