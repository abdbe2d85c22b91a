"""Where findings go, how they are written, and the exit status that they mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from trainc.cli.command import CLEAN, ENVIRONMENT, ERRORS
from trainc.cli.echo import echo, echo_line
from trainc.findings import Finding, Severity, Silenced, has_errors
from trainc.findings.formats import FORMATS, as_sarif
from trainc.findings.settling import limited
from trainc.findings.text import render_brief, summary

FAILING = {
    "error": frozenset((Severity.ERROR,)),
    "warning": frozenset((Severity.ERROR, Severity.WARNING)),
}
"""The values of --fail-on, and the severities that then fail a run."""


class Words(NamedTuple):
    """Findings as they are written, and the line that counts them, or nothing."""

    findings: str
    summary: str


class Reporter(msgspec.Struct, frozen=True):
    """Where findings and remarks go, and which findings fail the run.

    ``fail_on`` is the mildest severity that does. ``aside``: standard output
    belongs to objects, so findings go to standard error.
    """

    format: str
    fail_on: str
    quiet: bool
    verbose: bool
    aside: bool = False

    def fails(self, findings: Iterable[Finding]) -> bool:
        """Tell whether any finding fails the run: then nothing is written but findings."""
        return any(finding.severity in FAILING[self.fail_on] for finding in findings)

    def status(self, findings: Iterable[Finding]) -> int:
        """Return the exit status that findings mean.

        An empty set of inputs, or a fault of trainc, is no fault of the inputs.
        """
        findings = tuple(findings)
        if not has_errors(findings):
            return ERRORS if self.fails(findings) else CLEAN
        codes = {finding.code for finding in findings if finding.severity is Severity.ERROR}
        return ENVIRONMENT if codes == {"TC014"} or "TC902" in codes else ERRORS

    def findings(self, findings: Iterable[Finding], silenced: Iterable[Silenced] = ()) -> None:
        """Write the findings, only those that fail the run if quiet; in text, count them on standard error.

        ``silenced`` are those that comments take away, which one format lists.
        """
        self.tell(self.worded(findings, silenced))

    def worded(self, findings: Iterable[Finding], silenced: Iterable[Silenced] = ()) -> Words:
        """Return what is to be written of findings: a function of them and of the ``manner``."""
        shown = [finding for finding in findings if not self.quiet or self.fails((finding,))]
        counted = summary(shown) if self.format == "text" and shown else ""
        if self.lists_silenced:
            return Words(as_sarif(limited(shown), silenced=silenced), counted)
        if self.brief:  # which has each code once
            return Words(render_brief(shown, self.colour), counted)
        return Words(FORMATS[self.format](limited(shown), self.colour), counted)

    @property
    def lists_silenced(self) -> bool:
        """Whether the format lists what comments silence."""
        return self.format == "sarif" and not self.quiet

    def tell(self, words: Words) -> None:
        """Write the findings that were worded in this manner."""
        echo(words.findings, nl=False, err=self.aside, color=self.colour, form=self.format)
        if words.summary:
            self.remark(words.summary)

    @property
    def colour(self) -> bool:
        """Whether findings are coloured."""
        return _colour(self._terminal)

    @property
    def brief(self) -> bool:
        """Whether of warnings and notes that repeat one is shown: to a person, who can ask for more."""
        return self.format == "text" and not self.verbose and self._terminal

    @property
    def _terminal(self) -> bool:
        stream = sys.stderr if self.aside else sys.stdout
        return stream is not None and stream.isatty()  # a stream that the caller closed is None

    @property
    def manner(self) -> tuple[str | bool, ...]:
        """All that decides how findings are written, and whether they fail the run."""
        return self.format, self.fail_on, self.quiet, self.aside, self.colour, self.brief

    def result(self, line: str) -> None:
        """Write a line of a result that is not a finding; it must not get among findings for programs."""
        echo_line(line, err=self.aside or self.format != "text")

    def remark(self, line: str) -> None:
        """Write a line about the run to standard error, unless quiet."""
        if not self.quiet:
            echo_line(line, err=True)

    def detail(self, line: str) -> None:
        """Write a line about the run to standard error if verbose."""
        if self.verbose:
            echo_line(line, err=True)


def is_coloured() -> bool:
    """Tell whether what a command prints on standard output may be coloured."""
    return _colour(sys.stdout is not None and sys.stdout.isatty())


def _colour(terminal: bool) -> bool:
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
