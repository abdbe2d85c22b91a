"""Selects the findings that a run reports.

Comments suppress findings, severities in trainc.yaml raise and lower them. A finding on a runtime is detected in every
TrainJob that uses it, in every environment, and reported once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.basics.jsonvalues import JsonObject
from trainc.basics.regex import lazy
from trainc.findings.display import counted
from trainc.findings.finding import Finding, Severity, Silenced, has_errors, sort_key
from trainc.findings.redaction import Redactor
from trainc.findings.severities import KEY, LEVELS, OF_OTHER_FILES, Severities, apply, locked, read
from trainc.findings.suppression import ReadComments, Suppressions
from trainc.inputs.options import Options
from trainc.inputs.source import Document, Source

OF_CHANGES: Final = ("TC202", "TC204")
"""The codes of changed fields of a TrainJob."""

WITH_BASE: Final = (*OF_CHANGES, "TC205", "TC609")
"""The codes of findings that need a base revision, at least some of them."""

NOT_IN_EACH_RUN: Final = (*sorted(OF_OTHER_FILES), "TC502", "TC503", "TC504", "TC519")
"""The codes of findings that one run may have and another not.

A run of some jobs does not compare them with others. Policies may match only CREATE, or only UPDATE, which a base
revision decides.
"""


class Report(Struct, frozen=True):
    """The findings of a run, each once; those on inputs other than jobs, those of each job, and the suppressed ones.

    ``unused`` are findings on what this run does not use, which other environments may use. They are in no other list.
    """

    findings: tuple[Finding, ...]
    of_inputs: tuple[Finding, ...]
    of_jobs: tuple[tuple[Finding, ...], ...]
    silenced: tuple[Silenced, ...]
    unused: tuple[Finding, ...] = ()


class ReportRules(Struct, frozen=True):
    """The comments and severities of a run. ``skipped`` are codes that the run may not check.

    ``floor`` are the severities of another revision; no finding gets a lower one.
    """

    suppressions: Suppressions = Suppressions()
    severities: Severities = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    floor: Severities | None = None

    @classmethod
    def of(
        cls, sources: Iterable[Source], documents: Iterable[Document], options: Options, comments: ReadComments
    ) -> ReportRules:
        """Read the comments of sources, and the severities in trainc.yaml, which faithful output ignores."""
        current = None if options.faithful else options.config.get(KEY)
        other = options.policies_from.config.get(KEY) if options.policies_from is not None else None
        suppressions = Suppressions.read(sources, documents, comments, locked(current) | locked(other))
        floor = None if options.policies_from is None else read(other)
        skipped = NOT_IN_EACH_RUN if options.base is not None else (*NOT_IN_EACH_RUN, *WITH_BASE)
        return cls(suppressions, read(current), skipped, floor)

    @classmethod
    def of_project(cls, config: JsonObject, other: JsonObject | None = None) -> ReportRules:
        """Return the severities of a parsed trainc.yaml, and of another revision's, for findings beside the jobs."""
        return cls(severities=read(config.get(KEY)), floor=None if other is None else read(other.get(KEY)))

    def settle(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with their final severities, without those that comments or trainc.yaml suppress."""
        return self._with_severities(each for each in findings if not self.suppressions.suppresses(each))

    def _with_severities(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        applied = (apply(finding, self.severities, self.floor) for finding in findings)
        return tuple(finding for finding in applied if finding is not None)

    def stops(self, findings: Iterable[Finding]) -> bool:
        """Return whether the reported findings of a job include an error, so that it is not compiled further."""
        return has_errors(self.settle(findings))

    def finish(
        self,
        of_inputs: Sequence[Finding],
        jobs: Sequence[JobFindings],
        unused: Sequence[Finding],
        partial: Collection[Source],
    ) -> Report:
        """Return the report of a run, from the findings on inputs other than jobs and those of each TrainJob.

        ``unused`` are findings on inputs that this run does not use. Unused comments are added to them only without
        errors, since the checks of a job end at an error. ``partial`` are sources of which this run does not detect all
        findings.
        """
        found = [*of_inputs, *unused, *(finding for job in jobs for finding in job.findings)]
        settled = self.settle(of_inputs)
        of_jobs = tuple(self.settle(job.findings) for job in jobs)
        rows = [JobFindings(job.name, findings) for job, findings in zip(jobs, of_jobs, strict=True)]
        findings = collapse(settled, rows)
        noted = self._with_severities((*self.suppressions.findings, *self.suppressions.powerless(found)))
        comments = () if has_errors(findings) else self.suppressions.unused(found, partial, self.skipped)
        silenced = tuple(self._silenced((*of_inputs, *unused), jobs))
        unused = (*self.settle(unused), *self._with_severities(comments))
        return Report((*findings, *noted), (*settled, *noted), of_jobs, silenced, unused)

    def _silenced(self, of_inputs: Iterable[Finding], jobs: Iterable[JobFindings]) -> Iterable[Silenced]:
        """Yield each finding that a comment suppresses, once. Thousands may have one reason."""
        reasons: dict[Hashable, str] = {}
        suppresses = self.suppressions.suppresses
        rows = (JobFindings(job.name, tuple(filter(suppresses, job.findings))) for job in jobs)
        for finding in collapse(filter(suppresses, of_inputs), rows):
            ignore, final = self.suppressions.covering(finding), apply(finding, self.severities, self.floor)
            if ignore is not None and final is not None:
                key = ignore, finding.code, finding.document
                if key not in reasons:
                    redactor = Redactor(ignore.codes[finding.code], (), None, (finding.document,))
                    reasons[key] = redactor.text(ignore.reason) or ""
                yield Silenced(final, reasons[key])


# Repeated findings.


SHOWN: Final = 2
"""The most TrainJobs that a message names, unless only one more remains."""

_COUNT = lazy(r" \(in \d+ TrainJobs(?: of \d+ environments)?: [^()]*\)\Z")

_WRONG_TYPE: Final = ("TC006", "TC102", "TC108")

MOST: Final = 64
"""The most findings of one code that are reported per file."""


class JobFindings(Struct, frozen=True):
    """The findings of one TrainJob in one environment, with its ``namespace/name`` there.

    ``key`` identifies the TrainJob across environments; without it, ``name`` does.
    """

    name: str
    findings: Sequence[Finding]
    key: Hashable = None
    environment: int = 0


class _Group(Struct):
    """A finding with the names, by key, and the environments of the TrainJobs that have it."""

    first: Finding
    jobs: dict[Hashable, str] = field(default_factory=dict)
    environments: set[int] = field(default_factory=set)


def collapse(of_inputs: Iterable[Finding], jobs: Iterable[JobFindings]) -> list[Finding]:
    """Return each finding once: those on inputs other than jobs, and those of TrainJobs.

    Findings of several jobs become one if code, severity, position, message and hint are equal, apart from the job's
    name. Its message then counts the jobs and environments. A finding in ``of_inputs`` is not counted.
    """
    groups: dict[Hashable, _Group] = {}
    of_inputs, jobs = [*of_inputs], [*jobs]
    explained = _explained([*of_inputs, *chain.from_iterable(job.findings for job in jobs)])
    for finding in of_inputs:
        if not explained(finding):
            groups.setdefault((_position(finding), finding.message), _Group(finding))
    reported = frozenset(groups)
    for job in jobs:
        for finding in job.findings:
            if (_position(finding), finding.message) not in reported and not explained(finding):
                key = (_position(finding), finding.message, finding.hint)
                group = groups.setdefault(key, _Group(finding))
                group.jobs.setdefault(job.name if job.key is None else job.key, job.name)
                group.environments.add(job.environment)
    return [_counted(group) for group in _joined(groups.values())]


def _explained(found: Iterable[Finding]) -> Callable[[Finding], bool]:
    """Return whether another finding on the same field explains a finding better, so that it is not reported.

    Of an ambiguous scalar, the finding on its wrong type says what to write. Of a change that Trainer would refuse, a
    warning, the error on the JobSet that the cluster refuses says how to run the job again.
    """
    wrong, refused = set(), set()
    for each in found:
        if each.code in _WRONG_TYPE and each.severity is Severity.ERROR:
            wrong.add(_field(each))
        elif each.code in OF_CHANGES and each.severity is Severity.ERROR:
            refused.add(_field(each))

    def explained(finding: Finding) -> bool:
        if finding.code == "TC005":
            return bool(finding.path) and _field(finding) in wrong
        return finding.code in OF_CHANGES and finding.severity is not Severity.ERROR and _field(finding) in refused

    return explained


def _field(finding: Finding) -> Hashable:
    return finding.document.source, finding.document.index, finding.path


def _position(finding: Finding) -> Hashable:
    document = finding.document
    # A document without data stands for one place in a file, such as a comment: all of these have one path.
    mark = None if document.data else document.locate(finding.path)
    return finding.file, document.index, finding.path, mark, finding.code, finding.severity


def _joined(groups: Iterable[_Group]) -> Iterable[_Group]:
    """Join groups of one job each that differ only in that job's name."""
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
    """Return a message with the job's name replaced, also at the start of generated names such as job-node-0-0."""
    for name in (job, job.partition("/")[2]):
        if name in message:
            message = re.sub(rf"(?<![\w.-]){re.escape(name)}(?!\w)", "\0", message)
    return message


def _counted(group: _Group) -> Finding:
    if len(group.jobs) < 2:
        return group.first
    environments, jobs = len(group.environments), [*group.jobs.values()]
    jobs = sorted(jobs) if environments > 1 else jobs
    named, rest = (jobs[:SHOWN], f"{len(jobs) - SHOWN} more") if len(jobs) > SHOWN + 1 else (jobs[:-1], jobs[-1])
    where = f" of {environments} environments" if environments > 1 else ""
    count = f"(in {len(jobs)} TrainJobs{where}: {', '.join(named)} and {rest})"
    return replace(group.first, message=f"{group.first.message} {count}")


def without_count(message: str) -> str:
    """Return the message without its list of jobs."""
    return _COUNT.sub("", message)


def limited(findings: Iterable[Finding]) -> list[Finding]:
    """Return the first MOST findings of each code in each file, worst first, and one that counts the others.

    It has the worst severity of the others, so that a run still fails if one of them is an error.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.file, finding.code), []).append(finding)
    kept: list[Finding] = []
    for group in groups.values():
        if (count := len(group) - MOST) > 0:
            group.sort(key=lambda finding: (LEVELS.index(finding.severity), sort_key(finding)))
            first = group[MOST]
            message = f"{counted(count, 'more finding')} of {first.code} in this file"
            hint = f"only the first {MOST} of one code per file are shown"
            group[MOST:] = [Finding(first.code, first.severity, message, first.document, first.path, hint=hint)]
        kept += group
    return kept
