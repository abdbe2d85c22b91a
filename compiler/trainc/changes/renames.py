"""Finds jobs that were renamed: one is gone, and one has come that differs in nothing but the name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from trainc.changes.model import Effect, JobChange, Place
from trainc.changes.objects import Pair
from trainc.records import replace
from trainc.source import Document, Json, get

_TRIED: Final = 2000
"""So many pairs are compared; a change that renames hundreds of equal jobs is told as jobs that come and go."""

_Names = tuple[tuple[str, str], ...]
"""Old and new names that stand for each other, longest first."""


def renamed(jobs: Iterable[JobChange], jobsets: Mapping[Place, Pair]) -> list[JobChange]:
    """Return the jobs, those that are gone joined to those that came in their place."""
    jobs = list(jobs)
    gone: dict[tuple[object, ...], list[JobChange]] = {}
    for job in jobs:
        if job.effect is Effect.DELETED and jobsets[job.place].old is not None:
            gone.setdefault(_likeness(job, job.before), []).append(job)
    joined: dict[Place, JobChange] = {}
    tried = 0
    for job in jobs:
        new = jobsets[job.place].new
        if job.effect is not Effect.CREATED or new is None:
            continue
        candidates = gone.get(_likeness(job, job.after), [])
        for other in candidates:
            old = jobsets[other.place].old
            tried += 1
            if old is not None and tried <= _TRIED and _is_same(old.data, new.data, _names(other, old, job, new)):
                candidates.remove(other)
                joined[job.place] = other
                break
    taken = {other.place for other in joined.values()}
    return [_join(job, joined.get(job.place)) for job in jobs if job.place not in taken]


def _likeness(job: JobChange, usage: object) -> tuple[object, ...]:
    return job.place.environment, job.queue, usage


def _join(job: JobChange, other: JobChange | None) -> JobChange:
    if other is None:
        return job
    return replace(
        job,
        effect=Effect.RENAMED,
        other=other.place,
        old_name=other.old_name,
        words=(),
        objects=(*job.objects, *other.objects),
        before=other.before,
        last=other.last,
    )


def _names(other: JobChange, old: Document, job: JobChange, new: Document) -> _Names:
    pairs = {(other.place.name, job.place.name), (other.old_name, job.name)}
    pairs.add((str(get(old.data, "metadata", "namespace")), str(get(new.data, "metadata", "namespace"))))
    return tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair)))


def _is_same(old: Json, new: Json, names: _Names) -> bool:
    """Tell whether two values are equal once the old names are read as the new ones."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(value, new[key], names) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_is_same(a, b, names) for a, b in zip(old, new, strict=True))
    if isinstance(old, str) and isinstance(new, str):
        return old == new or _as_new(old, names) == new
    return old == new and type(old) is type(new)


def _as_new(text: str, names: _Names) -> str:
    for old, new in names:
        found = re.sub(rf"(?<![a-z0-9]){re.escape(old)}(?![a-z0-9])", lambda _, new=new: new, text)  # type: ignore[misc]
        if found != text:
            return found
    return text
