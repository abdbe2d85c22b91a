"""Writes findings and messages, and returns the exit status that findings mean."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from trainc.cli.command import CLEAN, ENVIRONMENT, ERRORS, echo, echo_line, is_terminal
from trainc.findings import Finding, Severity, Silenced, has_errors
from trainc.findings.display import counted
from trainc.findings.formats import FORMATS, as_sarif
from trainc.findings.settling import limited
from trainc.findings.text import render_brief, summary

FAILING = {
    "error": frozenset((Severity.ERROR,)),
    "warning": frozenset((Severity.ERROR, Severity.WARNING)),
}
"""The values of --fail-on, and the severities that then fail a run."""


class Report(NamedTuple):
    """The text of findings, and the lines that count them, which may be empty."""

    findings: str
    summary: str


class Reporter(msgspec.Struct, frozen=True):
    """Writes findings and remarks, and decides which findings fail the run.

    ``fail_on`` is the lowest severity that does. With ``aside``, findings go to standard error, as standard output is
    for objects. If it ``advises``, the summary on a terminal counts the findings that `trainc fix` can fix.
    """

    format: str = "text"
    fail_on: str = "error"
    quiet: bool = False
    verbose: bool = False
    aside: bool = False
    advises: bool = True

    def fails(self, findings: Iterable[Finding]) -> bool:
        """Return whether any finding fails the run; then only findings are written."""
        return any(finding.severity in FAILING[self.fail_on] for finding in findings)

    def status(self, findings: Iterable[Finding]) -> int:
        """Return the exit status that findings mean: 2 if the inputs are empty, or trainc itself failed."""
        findings = tuple(findings)
        if not has_errors(findings):
            return ERRORS if self.fails(findings) else CLEAN
        codes = {finding.code for finding in findings if finding.severity is Severity.ERROR}
        return ENVIRONMENT if codes == {"TC014"} or "TC902" in codes else ERRORS

    def report(self, findings: Iterable[Finding], silenced: Iterable[Silenced] = ()) -> int:
        """Write the findings, and return the exit status that they mean.

        If quiet, only those that fail the run are written. In text, they are counted on standard error. ``silenced``
        are findings that comments suppress, which only SARIF lists.
        """
        findings = tuple(findings)
        self.write(self.text_of(findings, silenced))
        return self.status(findings)

    def text_of(self, findings: Iterable[Finding], silenced: Iterable[Silenced] = ()) -> Report:
        """Return the text of findings, which depends only on them and on the ``style``."""
        shown = [finding for finding in findings if not self.quiet or self.fails((finding,))]
        if self.lists_silenced:
            text = as_sarif(limited(shown), silenced=silenced)
        elif self.brief:  # which has each code once
            text = render_brief(shown, self.colour)
        else:
            text = FORMATS[self.format](limited(shown), self.colour)
        return Report(text, f"{summary(shown)}{self._advice(shown)}" if self.format == "text" and shown else "")

    def _advice(self, shown: Iterable[Finding]) -> str:
        """Return how many findings `trainc fix` can fix, for a terminal."""
        if not self._terminal or not self.advises:
            return ""
        from trainc.findings.fixes import is_fixable

        count = sum(map(is_fixable, shown))
        return f"\n{counted(count, 'finding')} can be fixed with 'trainc fix'" if count else ""

    @property
    def lists_silenced(self) -> bool:
        """Whether the format lists findings that comments suppress."""
        return self.format == "sarif" and not self.quiet

    def write(self, report: Report) -> None:
        """Write the text of findings in this style."""
        echo(report.findings, nl=False, err=self.aside, color=self.colour, form=self.format)
        for line in report.summary.splitlines():
            self.remark(line)

    @property
    def colour(self) -> bool:
        """Whether findings are coloured."""
        return _colour(self._terminal)

    @property
    def brief(self) -> bool:
        """Whether only the first of repeated warnings and notes is shown: on a terminal, without --verbose."""
        return self.format == "text" and not self.verbose and self._terminal

    @property
    def _terminal(self) -> bool:
        return is_terminal(sys.stderr if self.aside else sys.stdout)

    @property
    def style(self) -> tuple[str | bool, ...]:
        """The settings that decide how findings are written, and whether they fail the run."""
        return self.format, self.fail_on, self.quiet, self.aside, self.colour, self.brief, self._terminal

    def result(self, line: str) -> None:
        """Write a line of a result that is not a finding, apart from findings for programs."""
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
    """Return whether standard output may be coloured."""
    return _colour(is_terminal(sys.stdout))


def _colour(terminal: bool) -> bool:
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
