"""Findings that repeat: through one runtime, the same is true of every TrainJob that uses it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

from trainc.findings import Diagnostic
from trainc.findings.counts import with_count, without_count
from trainc.records import NamedTuple, dataclass, field, replace


@dataclass(slots=True)
class _Group:
    """One finding, and the TrainJobs that have it, in order."""

    first: Diagnostic
    jobs: dict[str, None] = field(default_factory=dict)


def collapse(own: Iterable[Diagnostic], jobs: Iterable[tuple[str, Iterable[Diagnostic]]]) -> list[Diagnostic]:
    """Return each finding once.

    ``own`` are findings on the inputs themselves; ``jobs`` has those of each TrainJob under ``namespace/name``.
    Findings of several jobs are one if code, severity, place, message and hint are the same, texts after the
    job's name is taken out; it then says how many jobs there are. What ``own`` holds is not counted.
    """
    kept: dict[Hashable, _Group] = {}
    for finding in own:
        kept.setdefault((_place(finding), finding.message), _Group(finding))
    known = frozenset(kept)
    for job, findings in jobs:
        for finding in findings:
            if (_place(finding), finding.message) not in known:
                key = (_place(finding), finding.message, finding.hint)
                kept.setdefault(key, _Group(finding)).jobs[job] = None
    return [_counted(group) for group in _alike(kept.values())]


def _place(finding: Diagnostic) -> Hashable:
    return finding.file, finding.document.index, finding.path, finding.code, finding.severity


def _alike(groups: Iterable[_Group]) -> Iterable[_Group]:
    """Join the groups of one job each that differ in that job's name only."""
    joined: dict[Hashable, _Group] = {}
    for number, group in enumerate(groups):
        key: Hashable = number
        if len(group.jobs) == 1:
            (job,) = group.jobs
            key = (_place(group.first), _nameless(group.first.message, job), _nameless(group.first.hint or "", job))
        joined.setdefault(key, _Group(group.first)).jobs.update(group.jobs)
    return joined.values()


def _nameless(message: str, job: str) -> str:
    # What is made of the name begins with it: job-node-0-0.
    for name in (job, job.partition("/")[2]):
        if name not in message:
            continue
        message = re.sub(rf"(?<![\w.-]){re.escape(name)}(?!\w)", "\0", message)
    return message


def _counted(group: _Group) -> Diagnostic:
    jobs = list(group.jobs)
    if len(jobs) < 2:
        return group.first
    return replace(group.first, message=with_count(group.first.message, jobs))


class Told(NamedTuple):
    """A finding of one TrainJob: the environment's number, what identifies the job, its name, and the message."""

    environment: int
    job: Hashable
    name: str
    message: str


def across(
    findings: Iterable[Diagnostic], environments: Sequence[Iterable[tuple[Hashable, str, Iterable[Diagnostic]]]]
) -> list[Diagnostic]:
    """Return the findings of several environments, those that differ only in their count of TrainJobs as one.

    Each environment has its TrainJobs: what identifies one everywhere, its ``namespace/name`` and its findings.
    """
    told: dict[Hashable, list[Told]] = {}
    for number, jobs in enumerate(environments):
        for job, name, found in jobs:
            for finding in found:
                told.setdefault(_place(finding), []).append(Told(number, job, name, finding.message))
    kept: dict[Hashable, Diagnostic] = {}
    for finding in findings:
        key, common = _common(finding, told)
        kept.setdefault(key, finding if common is None else common)
    return list(kept.values())


def _common(finding: Diagnostic, told: Mapping[Hashable, Sequence[Told]]) -> tuple[Hashable, Diagnostic | None]:
    """Return what a finding has in common with those of other environments, and it with their count if it has one."""
    place, message = _place(finding), without_count(finding.message)
    rows = told.get(place, ())
    name = next((row.name for row in rows if row.message == message), "")
    if not name:
        return (place, finding.message, finding.hint), None
    nameless = _nameless(message, name)
    alike = [row for row in rows if _nameless(row.message, row.name) == nameless]
    names = {row.job: row.name for row in reversed(alike)}
    count = len({row.environment for row in alike})
    key = (place, nameless, _nameless(finding.hint or "", name))
    if len(names) < 2 or count < 2:
        return key, None
    return key, replace(finding, message=with_count(message, sorted(names.values()), count))
