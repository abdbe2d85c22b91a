"""Compares two trees of out/: job by job, object by object, and then what the cluster does with each.

A job that is gone and one that has come, and differs in nothing but the name, were renamed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, get
from trainc.changes.cluster import application, sentences
from trainc.changes.fields import Veil, field_changes
from trainc.changes.model import Difference, Effect, JobChange, ObjectChange, Place, Refusal, Word
from trainc.changes.refusals import refusals
from trainc.changes.trees import Files, folders, is_jobset, others, read, sources
from trainc.changes.usage import graph, of_folder, totals, words
from trainc.documents.compare import same
from trainc.findings import Finding, Severity
from trainc.gitops.runtime_resources import FOLDER
from trainc.inputs.settings import Settings
from trainc.inputs.source import Document
from trainc.project.foreign import Kind
from trainc.upstream import RUN

_RUN: Final = re.compile(r"-([1-9][0-9]{0,8})")


class _Sides(msgspec.Struct, frozen=True):
    """One directory of both trees, and what was found of its objects."""

    place: Place
    before: Mapping[str, bytes]
    after: Mapping[str, bytes]
    found: Found

    @property
    def jobsets(self) -> Pair:
        """The JobSet before and after, the same where it does not differ."""
        pairs = self.found.pairs
        if not any(map(self._differs, {*self.before, *self.after})):
            same = next((read(file, data, old=True)[0] for file, data in self.after.items() if is_jobset(file)), None)
            return Pair(same, same)
        return Pair(jobset_of(pair.old for pair in pairs), jobset_of(pair.new for pair in pairs))

    def _differs(self, file: str) -> bool:
        return is_jobset(file) and self.before.get(file) != self.after.get(file)


def compare(
    before: Files,
    after: Files,
    settings: Mapping[str, Settings] | None = None,
    there: Mapping[str, Kind] | None = None,
    exceptions: Collection[str] = (),
) -> Difference:
    """Return what differs between two trees of out/ and what the cluster does about it.

    A tree is the bytes of its files by name from the repository's root (``out/prod/team-a/job/jobset-job.yaml``).
    ``settings`` are those of environments, by name; one that is not there has every default. ``there`` is all that
    lies in the later tree, links and files that are not read included; ``exceptions`` are paths of others that may.
    Raises nothing for any bytes: what cannot be read becomes a finding.
    """
    settings = settings or {}
    old, new = folders(before), folders(after)
    places = sorted({*old, *new})
    changed: list[_Sides] = []
    jobs: list[JobChange] = []
    for place in places:
        if (was := old.get(place, {})) != (now := new.get(place, {})):
            changed.append(_Sides(place, was, now, object_changes(place, was, now)))
            jobs.append(_job(changed[-1], settings.get(place.environment, Settings())))
    left = {application(place, settings.get(place.environment, Settings())) for place in new}
    jobs = [replace(job, last=job.application not in left) for job in jobs]
    jobs = _held(renamed(jobs, {sides.place: sides.jobsets for sides in changed}))
    jobs = [
        replace(job, cluster=sentences(job, settings.get(job.place.environment, Settings())), remedy=_remedy(job))
        for job in jobs
    ]
    not_ours = tuple(others(after, there, exceptions))
    findings = (*not_ours, *(finding for sides in changed for finding in sides.found.findings))
    read = tuple(finding.file for finding in not_ours if finding.severity is Severity.ERROR)
    return Difference(tuple(jobs), len(places) - len(jobs), totals(old, new), findings, foreign=read)


def _job(sides: _Sides, settings: Settings) -> JobChange:
    old, new = sides.jobsets
    return JobChange(
        sides.place,
        _effect(sides),
        application(sides.place, settings),
        name=_jobset_name(new),
        old_name=_jobset_name(old),
        source=_source(sides),
        runtime=next(iter((*_sources(sides.after)[1:2], *_sources(sides.before)[1:2])), ""),
        queue=of_folder(sides.after or sides.before).queue,
        words=(*_runtime(sides), *_words(old, new)),
        objects=sides.found.objects,
        refusals=tuple(sides.found.refusals),
        before=of_folder(sides.before).usage,
        after=of_folder(sides.after).usage,
        graph=graph(new.data) if new is not None else (),
    )


def _jobset_name(jobset: Document | None) -> str:
    return str(get(jobset.data, "metadata", "name")) if jobset is not None else ""


def _effect(sides: _Sides) -> Effect:
    effects = {change.effect for change in sides.found.objects}
    jobsets = {change.effect for change in sides.found.objects if change.kind == "JobSet"}
    if not effects:
        return Effect.UNREADABLE
    if not sides.before:
        return Effect.CREATED
    if not sides.after:
        return Effect.KEPT if effects == {Effect.KEPT} else Effect.DELETED
    if Effect.REFUSED in effects:
        return Effect.REFUSED
    if Effect.RERUN in jobsets:
        return Effect.RERUN
    return Effect.COMMENTS if effects == {Effect.COMMENTS} else Effect.UPDATED


def _words(old: Document | None, new: Document | None) -> tuple[Word, ...]:
    veil = Veil(old, new)
    before, after = ((each.data, veil.data(each)) if each is not None else None for each in (old, new))
    return words(before, after)


def _runtime(sides: _Sides) -> tuple[Word, ...]:
    """Return a word for another runtime, which the headers name."""
    old, new = (_sources(files)[1:2] for files in (sides.before, sides.after))
    if old == new:
        return ()
    return (Word("runtime", (), *(names[0] if names else None for names in (old, new))),)


def _sources(files: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return what the JobSet of a directory is made from, or what else is in it."""
    names = sorted(files, key=lambda name: (not name.startswith("jobset"), name))
    return sources(files[names[0]]) if names else ()


def _source(sides: _Sides) -> str:
    return next(iter((*_sources(sides.after), *_sources(sides.before))), "")


def _held(jobs: Collection[JobChange]) -> list[JobChange]:
    """Mark what else is part of an application in which a change is refused: nothing of it is applied."""
    frozen = {job.application for job in jobs if job.effect is Effect.REFUSED}
    return [
        replace(job, effect=Effect.HELD) if job.application in frozen and job.effect is not Effect.REFUSED else job
        for job in jobs
    ]


def _remedy(job: JobChange) -> str | None:
    """Return the line that lets a refused change through: the next run number, for the TrainJob's annotations."""
    if job.effect is not Effect.REFUSED or job.place.name == FOLDER:
        return None
    end = _RUN.fullmatch(job.old_name[len(job.place.name) :]) if job.old_name.startswith(job.place.name) else None
    return f'{RUN}: "{int(end[1]) + 1 if end else 2}"'


_KEEP: Final = (
    ("argocd.argoproj.io/sync-options", "Prune=false"),
    ("kustomize.toolkit.fluxcd.io/prune", "disabled"),
)
"""Annotations, and what stands in those of an object that is not removed with its file."""


class Pair(NamedTuple):
    """One file before and after, read; None where there is none."""

    old: Document | None
    new: Document | None


class Found(NamedTuple):
    """What becomes of objects: their changes, the pairs that they come from, refusals, and findings."""

    objects: tuple[ObjectChange, ...]
    pairs: tuple[Pair, ...]
    refusals: tuple[Refusal, ...]
    findings: tuple[Finding, ...]


def object_changes(place: Place, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Found:
    """Compare the files of a directory. Only those whose bytes differ are read."""
    changed: list[ObjectChange] = []
    pairs: list[Pair] = []
    refused: list[Refusal] = []
    findings: list[Finding] = []
    for file in sorted({*before, *after}, key=lambda file: (not file.startswith("jobset"), file)):
        if before.get(file) == after.get(file):
            continue
        name = f"out/{place}/{file}"
        sides = []
        for tree, old in ((before, True), (after, False)):
            document, found = read(name, tree[file], old=old) if file in tree else (None, ())
            sides.append(document)
            findings += found
        if any(file in tree and side is None for tree, side in zip((before, after), sides, strict=True)):
            continue  # a side that cannot be read is neither there nor gone
        pair = Pair(*sides)
        pairs.append(pair)
        made, forbidden, found = _of_pair(name, pair)
        changed += made
        refused += forbidden
        findings += found
    return Found(tuple(changed), tuple(pairs), tuple(refused), tuple(findings))


def _of_pair(file: str, pair: Pair) -> tuple[list[ObjectChange], tuple[Refusal, ...], tuple[Finding, ...]]:
    old, new = pair
    if old is None or new is None:
        return [_alone(file, each, gone=new is None) for each in pair if each is not None], (), ()
    if _kind(old) != _kind(new):
        return [_alone(file, old, gone=True), _alone(file, new, gone=False)], (), ()
    if same(old.data, new.data):
        return [_change(file, old, new, Effect.COMMENTS)], (), ()
    if _place(old) != _place(new):
        return [_change(file, old, new, Effect.RERUN)], (), ()
    forbidden, findings = refusals(new, old)
    effect = Effect.REFUSED if forbidden else Effect.UPDATED
    return [_change(file, old, new, effect)], forbidden, findings


def _change(file: str, old: Document, new: Document, effect: Effect) -> ObjectChange:
    fields = field_changes(old, new, Veil(old, new)) if effect is not Effect.COMMENTS else ()
    return ObjectChange(file, str(new.data["kind"]), _name(new), _name(old), effect, fields)


def _alone(file: str, document: Document, *, gone: bool) -> ObjectChange:
    kind, name = str(document.data["kind"]), _name(document)
    if not gone:
        return ObjectChange(file, kind, name, "", Effect.CREATED)
    return ObjectChange(file, kind, "", name, Effect.KEPT if is_kept(document.data) else Effect.DELETED)


def is_kept(data: JsonObject) -> bool:
    """Tell whether an object says that it stays when its file goes."""
    return any(word in str(get(data, "metadata", "annotations", key) or "").split(",") for key, word in _KEEP)


def jobset_of(documents: Iterable[Document | None]) -> Document | None:
    """Return the first JobSet."""
    return next((each for each in documents if each is not None and each.data["kind"] == "JobSet"), None)


def _kind(document: Document) -> tuple[str, str]:
    return str(document.data["apiVersion"]).rpartition("/")[0], str(document.data["kind"])


def _place(document: Document) -> tuple[str, str]:
    return str(get(document.data, "metadata", "namespace") or ""), _name(document)


def _name(document: Document) -> str:
    return str(get(document.data, "metadata", "name"))


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
