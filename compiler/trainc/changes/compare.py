"""Compares two trees of out/: job by job, and then what the cluster does with each."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from trainc.changes.cluster import application, sentences
from trainc.changes.folders import Files, folders, is_jobset, others, read, sources
from trainc.changes.model import Difference, Effect, JobChange, Place, Word
from trainc.changes.objects import Found, Pair, jobset_of, object_changes
from trainc.changes.renames import renamed
from trainc.changes.usage import graph, of_folder, totals
from trainc.changes.veil import Veil
from trainc.changes.words import words
from trainc.diagnostics import Severity
from trainc.foreign import Kind
from trainc.gitops.companions import FOLDER
from trainc.gitops.naming import RUN
from trainc.records import dataclass, replace
from trainc.settings import Settings
from trainc.source import Document, get

_RUN: Final = re.compile(r"-([1-9][0-9]{0,8})")


@dataclass(frozen=True, slots=True)
class _Sides:
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
        name=_name(new),
        old_name=_name(old),
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


def _name(jobset: Document | None) -> str:
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
