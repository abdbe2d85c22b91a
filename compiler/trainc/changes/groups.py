"""Jobs that change alike: one change of a runtime in many jobs is one group, shown once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json
from trainc.changes.model import Effect, FieldChange, JobChange, ObjectChange, Place, Word
from trainc.changes.phrases import counted, word_text
from trainc.gitops.runtime_resources import FOLDER

JOB: Final = "<job>"
_APPLICATION: Final = "<environment>.<namespace>.<job>"
_ANY: Final = Place("<environment>", "<namespace>", JOB)
_ALIKE: Final = (Effect.UPDATED, Effect.REFUSED, Effect.HELD, Effect.RERUN, Effect.COMMENTS)
_SHORTEST: Final = 3
"""A name of fewer characters may be part of anything: what stands for it could not be told from other text."""

_LONGEST: Final = 80
"""So many characters of a user's words fit a title."""

_NAMED: Final = 5
"""So many jobs of a group are named."""


class Group(NamedTuple):
    """Jobs that change alike. ``like`` is what they have in common: with JOB in place of their names if they are many.

    ``runtime`` is the file of the runtime that all of them use, or empty.
    """

    like: JobChange
    members: tuple[JobChange, ...]
    runtime: str = ""

    @property
    def single(self) -> bool:
        """Whether it is one job."""
        return len(self.members) == 1

    @property
    def title(self) -> str:
        """The runtime, what changes if that is one thing, and the number of jobs."""
        change = _one_change(self.like)
        start = f"{self.runtime}: " if self.runtime else ""
        return f"{start}{change}, {self.amount}" if change else f"{start}{self.amount}"

    @property
    def amount(self) -> str:
        """The number of jobs."""
        return counted(len(self.members), "job")

    @property
    def names(self) -> str:
        """The jobs, a few of them by name."""
        shown = ", ".join(str(job.place) for job in self.members[:_NAMED])
        rest = len(self.members) - _NAMED
        return f"{shown} and {rest:,} more" if rest > 0 else shown


def grouped(jobs: Iterable[JobChange]) -> tuple[Group, ...]:
    """Return jobs in groups of those that change alike, each group where its first job is."""
    found: dict[str, list[JobChange]] = {}
    likes: dict[str, JobChange] = {}
    for number, job in enumerate(jobs):
        like = _like(job)
        key = str(number) if like is None else repr(like)
        likes.setdefault(key, job if like is None else like)
        found.setdefault(key, []).append(job)
    return tuple(_group(likes[key], tuple(members)) for key, members in found.items())


def _group(like: JobChange, members: tuple[JobChange, ...]) -> Group:
    if len(members) == 1:
        return Group(members[0], members)
    runtimes = {job.runtime for job in members}
    return Group(like, members, next(iter(runtimes)) if len(runtimes) == 1 else "")


def _like(job: JobChange) -> JobChange | None:
    """Return what other jobs may have in common with a job; None for one that is alone in what becomes of it."""
    if job.effect not in _ALIKE or job.place.name == FOLDER or len(job.place.name) < _SHORTEST:
        return None
    pattern = re.compile(rf"(?<![\w.-]){re.escape(job.place.name)}(?![a-z0-9])|{re.escape(job.application)}")

    def text(value: str) -> str:
        return pattern.sub(lambda match: _APPLICATION if match[0] == job.application else JOB, value)

    named = re.compile(rf"((?:\b[A-Z]\w*|\.|\band) ){re.escape(job.place.name)}(?![a-z0-9])")
    cluster = (named.sub(rf"\g<1>{JOB}", each.replace(job.application, _APPLICATION)) for each in job.cluster)
    same = job.before == job.after
    return JobChange(
        _ANY,
        job.effect,
        "",
        name=text(job.name),
        old_name=text(job.old_name),
        words=tuple(Word(w.what, w.where, w.old and text(w.old), w.new and text(w.new)) for w in job.words),
        objects=tuple(_object(each, text) for each in job.objects),
        refusals=tuple(each._replace(name=text(each.name), message=text(each.message)) for each in job.refusals),
        cluster=tuple(cluster),
        remedy=job.remedy,
        before=type(job.before)() if same else job.before,
        after=type(job.after)() if same else job.after,
    )


def _object(change: ObjectChange, text) -> ObjectChange:  # type: ignore[no-untyped-def]
    kind, dash, rest = change.file.rpartition("/")[2].partition("-")
    file = "/".join(("out", *_ANY, f"{kind}{dash}{text(rest)}"))
    fields = tuple(FieldChange(each.path, _value(each.old, text), _value(each.new, text)) for each in change.fields)
    return replace(change, file=file, name=text(change.name), old_name=text(change.old_name), fields=fields)


def _value(value: Json, text) -> Json:  # type: ignore[no-untyped-def]
    return json.loads(text(json.dumps(value, ensure_ascii=False))) if value is not None else None


def _one_change(job: JobChange) -> str:
    """Return what changes, if that is one thing: a word of the user's, or one field that objects have."""
    if len(job.words) == 1:
        text = word_text(job.words[0])
        return text if len(text) <= _LONGEST else ""  # it stands below the title in any case
    fields = list(dict.fromkeys(_short(field) for change in job.objects for field in change.fields))
    return fields[0] if len(fields) == 1 and not job.words else ""


def _short(field: FieldChange) -> str:
    """Return a field by the last item of a list on its path and its own name: ``shm sizeLimit 16Gi to 32Gi``."""
    items = re.findall(r"\[([^\[\]]*)\]", field.path)
    name = field.path.rpartition(".")[2].partition("[")[0]
    start = (
        f"{items[-1]} {name}" if items and not field.path.endswith("]") else f"{name} {items[-1]}" if items else name
    )
    simple = all(value is None or isinstance(value, str | int | float | bool) for value in (field.old, field.new))
    if not simple:
        return start
    if field.old is None or field.new is None:
        return f"{start} {f'added: {field.new}' if field.old is None else f'removed: {field.old}'}"
    return f"{start} {field.old} to {field.new}"
