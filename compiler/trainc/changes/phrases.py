"""What text and Markdown share: effects, words, counts, the lines of a field, and groups of jobs that change alike."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from json import dumps
from typing import Final, NamedTuple

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.changes.model import (
    Difference,
    Effect,
    FieldChange,
    JobChange,
    ObjectChange,
    Place,
    Refusal,
    Totals,
    Usage,
    Word,
)
from trainc.documents.emit import emit
from trainc.findings import Finding
from trainc.findings.display import one_line
from trainc.findings.redaction import MASK
from trainc.gitops.runtime_resources import FOLDER

SIGNS: Final = {
    Effect.CREATED: "+",
    Effect.UPDATED: "~",
    Effect.RERUN: ">",
    Effect.RENAMED: ">",
    Effect.REFUSED: "!",
    Effect.HELD: "!",
    Effect.DELETED: "-",
    Effect.KEPT: "=",
    Effect.COMMENTS: "=",
    Effect.UNREADABLE: "?",
}
_OF_EFFECT: Final = {
    Effect.CREATED: "created",
    Effect.UPDATED: "updated in place",
    Effect.RERUN: "runs again",
    Effect.RENAMED: "renamed, runs again",
    Effect.REFUSED: "refused as immutable",
    Effect.HELD: "held back",
    Effect.DELETED: "deleted",
    Effect.KEPT: "kept in the cluster",
    Effect.COMMENTS: "only comments",
    Effect.UNREADABLE: "cannot be compared",
}
_OF_OBJECT: Final = {**_OF_EFFECT, Effect.RERUN: "replaced"}

_DIGEST: Final = re.compile(r"(sha256:[0-9a-f]{12})[0-9a-f]{52}")
_SHORT: Final = ("runtime", "queue", "priority", "suspended", "nodes", "image", "processes per node")
"""What is said of a job that comes or goes."""

FIELDS: Final = 60
"""So many fields of an object are shown."""

LINES: Final = 30
"""So many lines of a field are shown."""

REFUSED: Final = 5
"""So many fields that are refused are shown."""

WIDTH: Final = 200
"""So many characters of a line are shown."""


def effect_of(job: JobChange) -> str:
    """Return what becomes of a job, with the names where it gets another."""
    text = _OF_EFFECT[job.effect]
    if job.effect is Effect.RERUN:
        return f"{text}: {job.old_name} -> {job.name}"
    if job.effect is Effect.RENAMED and job.other is not None:
        return f"{text}: was {job.other}"
    return text


def object_title(change: ObjectChange) -> str:
    """Return the kind and names of an object and what becomes of it."""
    names = change.name or change.old_name
    if change.old_name and change.name and change.old_name != change.name:
        names = f"{change.old_name} -> {change.name}"
    return f"{change.kind} {names}: {_OF_OBJECT[change.effect]}"


def word_text(word: Word) -> str:
    """Return a change in a user's words on one line: ``image (node): a:1 -> a:2``."""
    where = f" ({', '.join(word.where)})" if word.where else ""
    if word.old is None or word.new is None:
        text = f"added: {word.new}" if word.old is None else f"removed: {word.old}"
    elif word.old == word.new:
        text = f"changed (hidden: {word.new})" if MASK in word.new else f"changed: {word.new}"
    else:
        text = f"{word.old} -> {word.new}"
    return one_line(_short(f"{word.what}{where}: {text}"), WIDTH)


def _short(text: str) -> str:
    """Return text with digests cut to what people compare."""
    return _DIGEST.sub(r"\1...", text)


def images(difference: Difference) -> list[str]:
    """Return a line for each image and runtime that changes in the same way in several jobs, with their number."""
    counts = Counter(
        (word.what, word.old, word.new)
        for job in difference.jobs
        for word in {word._replace(where=()) for word in job.words}
        if word.what in ("image", "runtime") and word.old is not None and word.new is not None
    )
    return [
        one_line(_short(f"{what}: {old} -> {new} in {count:,} jobs"), WIDTH)
        for (what, old, new), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        if count > 1
    ]


def words_of(job: JobChange) -> list[str]:
    """Return a job's words, a line each; of a job that comes or goes, what it is."""
    if alone := bool(job.old_name) != bool(job.name):
        short = [word for word in job.words if word.what in _SHORT]
        found = [_plain(word) for word in short]
    else:
        found = [word_text(word) for word in job.words]
    if job.before != job.after or (alone and job.place.name != FOLDER):
        found.append(f"needs: {taken(job)}")
    return found


def _plain(word: Word) -> str:
    where = f" ({', '.join(word.where)})" if word.where else ""
    return one_line(_short(f"{word.what}{where}: {word.new if word.new is not None else word.old}"), WIDTH)


def taken(job: JobChange) -> str:
    """Return the pods and GPUs of a job before and after."""
    if not job.old_name:
        return amounts(job.after)
    if not job.name:
        return f"{amounts(job.before)} -> nothing"
    return f"{amounts(job.before)} -> {amounts(job.after)}"


def amounts(usage: Usage) -> str:
    """Return pods and GPUs: ``4 pods, 32 GPUs``."""
    return f"{counted(usage.pods, 'pod')}, {counted(usage.gpu_count, 'GPU')}"


def counted(number: int, what: str) -> str:
    """Return a number and what it counts: ``1 pod``, ``2 pods``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def summary(difference: Difference) -> str:
    """Return the line that counts: ``2 of 19 jobs change: 1 created, 1 refused as immutable``."""
    changed = len(difference.jobs)
    count = changed + difference.unchanged
    if not changed:
        return f"nothing changes in {_directories(count)}"
    counts = Counter(job.effect for job in difference.jobs)
    parts = ", ".join(f"{counts[effect]:,} {_OF_EFFECT[effect]}" for effect in Effect if counts[effect])
    return f"{changed:,} of {_directories(count)} change{'s' * (changed == 1)}: {parts}"


def _directories(count: int) -> str:
    return f"{count:,} director{'y' if count == 1 else 'ies'}"


def total_rows(totals: Totals) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, jobs, pods and GPUs of what differs in total: namespaces, queues, and everything."""
    rows = [("/".join(key), total) for key, total in totals.namespaces.items()]
    rows += [(f"{key[0]}/{key[1]} queue {key[2]}", total) for key, total in totals.queues.items()]
    for name, total in [row for row in rows if row[1].before != row[1].after] + [("all", totals.all)]:
        old, new = total
        counts = ((old.jobs, new.jobs), (old.pods, new.pods), (old.gpu_count, new.gpu_count))
        yield one_line(name, WIDTH), *(_moved(*pair) for pair in counts)  # type: ignore[misc]


def _moved(old: int, new: int) -> str:
    return f"{old:,}" if old == new else f"{old:,} -> {new:,}"


def object_lines(change: ObjectChange) -> Iterator[str]:
    """Yield what differs in an object, as a diff: paths begin with a blank, values with - and +."""
    for field in change.fields[:FIELDS]:
        yield f"  {one_line(field.path, WIDTH)}"
        yield from field_lines(field)
    if (rest := len(change.fields) - FIELDS) > 0:
        yield f"  {counted(rest, 'more field')}"


def field_lines(field: FieldChange) -> Iterator[str]:
    """Yield the lines of both values, signed; of longer ones only where they differ."""
    old, new = _lines(field.old), _lines(field.new)
    if field.old == field.new:
        yield f"! hidden: {MASK}"
        return
    if old == new:  # but for a newline at the end
        old, new = ([dumps(value, ensure_ascii=False)] for value in (field.old, field.new))
    if min(len(old), len(new)) > 1:
        found: Iterable[str] = _hunks(old, new)
    else:
        found = (*(f"- {line}" for line in old), *(f"+ {line}" for line in new))
    shown = [one_line(line, WIDTH) for line in found]
    yield from shown[:LINES]
    if (rest := len(shown) - LINES) > 0:
        yield f"  {counted(rest, 'more line')}"


def _hunks(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the lines that differ with one around them, and dots between places that lie apart."""
    for number, line in enumerate(list(unified_diff(old, new, lineterm="", n=1))[2:]):
        if not line.startswith("@"):
            yield f"{line[0]} {line[1:]}".rstrip()
        elif number:
            yield "  ..."


def refusal_lines(refusals: Iterable[Refusal]) -> Iterator[str]:
    """Yield what is refused: object and message, then the fields, a few of them."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for each in refusals:
        groups.setdefault((each.kind, each.name, each.message), []).append(each.field)
    for (kind, name, message), fields in groups.items():
        yield one_line(f"! {kind} {name}: {message}:", WIDTH)
        yield from (one_line(f"!   {field}", WIDTH) for field in fields[:REFUSED])
        if (rest := len(fields) - REFUSED) > 0:
            yield f"!   {counted(rest, 'more field')}"


def _lines(value: Json) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str) and "\n" in value:
        return value.removesuffix("\n").split("\n")
    if not isinstance(value, dict | list) or not value:
        return [dumps(value, ensure_ascii=False)]
    try:
        text = emit(value) if isinstance(value, dict) else emit({"items": value}).partition("\n")[2]
    except ValueError:  # a null, say, which trainc itself never writes
        text = dumps(value, ensure_ascii=False, indent=2)
    return text.rstrip("\n").split("\n")


_SHOWN: Final = 10
"""So many jobs are named."""


def weakened_title(difference: Difference) -> str:
    """Return the heading of what judges less than before."""
    return f"{counted(len(difference.weakened), 'change')} that may weaken checks"


def weakened_lines(difference: Difference) -> Iterator[tuple[str, str]]:
    """Yield the place and the words of each change to what checks the jobs."""
    for finding in difference.weakened:
        hint = f" ({finding.hint})" if finding.hint is not None else ""
        yield f"{finding.file}:{finding.line}", f"{finding.message}{hint}"


def weakened_json(finding: Finding) -> JsonObject:
    """Return one change to what checks the jobs, for programs."""
    return {
        "code": finding.code,
        "file": finding.file,
        "line": finding.line,
        "message": finding.message,
        "hint": finding.hint,
    }


def advice(difference: Difference) -> str:
    """Return what to do about changes that no source explains; empty without any."""
    places = difference.unexplained
    if not places:
        return ""
    named = ", ".join(map(str, places[:_SHOWN]))
    more = f" and {len(places) - _SHOWN:,} more" if len(places) > _SHOWN else ""
    return (
        f"No source of {named}{more} has changed. If out/ was edited by hand, change the sources instead and run"
        " 'trainc render'."
    )


_MOST: Final = 10
_WIDTH: Final = 120


def warnings(difference: Difference) -> tuple[str, ...]:
    """Return a sentence for each, the worst first; none where all is as it should be."""
    found = []
    if names := difference.foreign:
        one = len(names) == 1
        what = "1 file or folder below out/ was" if one else f"{len(names)} files or folders below out/ were"
        them = "it" if one else "them"
        found.append(f"{what} not written by trainc, and Argo CD or Flux reads {them}: {_listed(names)}")
    if difference.stale is None and difference.broken:
        found.append("out/ may be stale: its sources have errors, which trainc validate lists")
    elif places := [str(place) for place in difference.stale or ()]:
        what = "1 job" if len(places) == 1 else f"{len(places)} jobs"
        found.append(f"out/ is stale for {what}: {_listed(places)}. Run trainc render, then compare again")
    return tuple(found)


def _listed(names: Sequence[str]) -> str:
    shown = [one_line(name, _WIDTH) for name in names[:_MOST]]
    return ", ".join(shown) + (f" and {len(names) - _MOST} more" if len(names) > _MOST else "")


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
    fields = list(dict.fromkeys(_short_field(field) for change in job.objects for field in change.fields))
    return fields[0] if len(fields) == 1 and not job.words else ""


def _short_field(field: FieldChange) -> str:
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
