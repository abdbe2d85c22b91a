"""Findings that repeat: through one runtime, the same is true of every TrainJob that uses it, in every environment."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.basics.regex import lazy
from trainc.findings.finding import Finding, Severity, sort_key

SHOWN: Final = 2
"""How many TrainJobs are named where there are more than one more."""

_COUNT = lazy(r" \(in \d+ TrainJobs(?: of \d+ environments)?: [^()]*\)\Z")

MOST: Final = 64
"""The most findings of one code that are reported per file."""

_RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}


class OfJob(Struct, frozen=True):
    """The findings of one TrainJob in one environment, with its ``namespace/name`` there.

    ``key`` tells which TrainJob it is in every environment; without it, ``name`` does.
    """

    name: str
    findings: Iterable[Finding]
    key: Hashable = None
    environment: int = 0


class _Group(Struct):
    """One finding, the names of the TrainJobs that have it, by their keys and in order, and the environments."""

    first: Finding
    jobs: dict[Hashable, str] = field(default_factory=dict)
    environments: set[int] = field(default_factory=set)


def collapse(own: Iterable[Finding], jobs: Iterable[OfJob]) -> list[Finding]:
    """Return each finding once. ``own`` are those of the inputs themselves, ``jobs`` has those of TrainJobs.

    Findings of several jobs are one if code, severity, position, message and hint are the same, texts without the job's
    name; it then says how many jobs have it, in how many environments. A finding that is in ``own`` is not counted.
    """
    groups: dict[Hashable, _Group] = {}
    for finding in own:
        groups.setdefault((_position(finding), finding.message), _Group(finding))
    known = frozenset(groups)
    for job in jobs:
        for finding in job.findings:
            if (_position(finding), finding.message) not in known:
                key = (_position(finding), finding.message, finding.hint)
                group = groups.setdefault(key, _Group(finding))
                group.jobs.setdefault(job.name if job.key is None else job.key, job.name)
                group.environments.add(job.environment)
    return [_counted(group) for group in _joined(groups.values())]


def _position(finding: Finding) -> Hashable:
    return finding.file, finding.document.index, finding.path, finding.code, finding.severity


def _joined(groups: Iterable[_Group]) -> Iterable[_Group]:
    """Join the groups of one job each that differ in that job's name only."""
    joined: dict[Hashable, _Group] = {}
    for number, group in enumerate(groups):
        key: Hashable = number
        if len(group.jobs) == 1:
            (job,) = group.jobs.values()
            first = group.first
            key = (_position(first), without_name(first.message, job), without_name(first.hint or "", job))
        target = joined.setdefault(key, group)
        if target is not group:
            for each, name in group.jobs.items():
                target.jobs.setdefault(each, name)
            target.environments |= group.environments
    return joined.values()


def without_name(message: str, job: str) -> str:
    """Return a message with a mark in place of a job's name; generated names begin with it: job-node-0-0."""
    for name in (job, job.partition("/")[2]):
        if name in message:
            message = re.sub(rf"(?<![\w.-]){re.escape(name)}(?!\w)", "\0", message)
    return message


def _counted(group: _Group) -> Finding:
    if len(group.jobs) < 2:
        return group.first
    environments, names = len(group.environments), [*group.jobs.values()]
    message = with_count(group.first.message, sorted(names) if environments > 1 else names, environments)
    return replace(group.first, message=message)


def with_count(message: str, jobs: Sequence[str], environments: int = 1) -> str:
    """Return the message of a finding that two or more TrainJobs have; each job is ``namespace/name``."""
    named, rest = (jobs[:SHOWN], f"{len(jobs) - SHOWN} more") if len(jobs) > SHOWN + 1 else (jobs[:-1], jobs[-1])
    where = f" of {environments} environments" if environments > 1 else ""
    return f"{message} (in {len(jobs)} TrainJobs{where}: {', '.join(named)} and {rest})"


def without_count(message: str) -> str:
    """Return the message alone: which jobs have it is no part of what is wrong, and changes with every new one."""
    return _COUNT.sub("", message)


def limited(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings to report: of each code in each file the first MOST, and one that counts the others.

    Errors go before warnings and notes, then the order is that of position. The one that counts is as severe as the
    worst of those that it stands for, so a run that they fail still fails.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.file, finding.code), []).append(finding)
    return [finding for group in groups.values() for finding in _first(group)]


def _first(group: Sequence[Finding]) -> Sequence[Finding]:
    if len(group) <= MOST:
        return group
    ordered = sorted(group, key=lambda finding: (_RANK[finding.severity], sort_key(finding)))
    first, count = ordered[MOST], len(group) - MOST
    message = f"{count} more finding{'s' * (count != 1)} of {first.code} in this file"
    hint = f"only the first {MOST} of one code per file are shown"
    return [*ordered[:MOST], Finding(first.code, first.severity, message, first.document, first.path, hint=hint)]
