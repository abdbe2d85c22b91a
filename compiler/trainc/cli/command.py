"""What all commands share: the options for findings, where findings go, and the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from trainc.cli.failure import ENVIRONMENT, failure
from trainc.diagnostics import Diagnostic, Severity
from trainc.diagnostics.formats import FORMATS
from trainc.diagnostics.text import summary

CLEAN = 0
ERRORS = 1
STALE = 3

F = TypeVar("F", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose own faults become a short message; --verbose adds the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return its exit status."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - every fault is told the same way
            return failure(error, verbose=bool(ctx.params.get("verbose")))


@dataclass(frozen=True, slots=True)
class Reporter:
    """Where findings and remarks go.

    ``aside``: standard output belongs to objects, so findings go to standard error.
    """

    format: str
    quiet: bool
    verbose: bool
    aside: bool = False

    def findings(self, findings: Iterable[Diagnostic]) -> None:
        """Write the findings, only the errors if quiet; in text, count them on standard error."""
        shown = [finding for finding in findings if not self.quiet or finding.severity is Severity.ERROR]
        stream = sys.stderr if self.aside else sys.stdout
        colour = _colour(stream is not None and stream.isatty())  # a stream that the caller closed is None
        click.echo(FORMATS[self.format](shown, colour), nl=False, err=self.aside, color=colour)
        if self.format == "text" and shown:
            self.remark(summary(shown))

    def result(self, line: str) -> None:
        """Write a line of a result that is not a finding; it must not get among JSON."""
        click.echo(line, err=self.aside or self.format != "text")

    def remark(self, line: str) -> None:
        """Write a line about the run to standard error, unless quiet."""
        if not self.quiet:
            click.echo(line, err=True)

    def detail(self, line: str) -> None:
        """Write a line about the run to standard error if verbose."""
        if self.verbose:
            click.echo(line, err=True)


def _colour(terminal: bool) -> bool:
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def status(findings: Iterable[Diagnostic]) -> int:
    """Return the exit status that findings mean. An empty set of inputs, or a fault of trainc, is no fault of them."""
    codes = {finding.code for finding in findings if finding.severity is Severity.ERROR}
    if not codes:
        return CLEAN
    return ENVIRONMENT if codes == {"TC014"} or "TC902" in codes else ERRORS


def finding_options(function: F) -> F:
    """Add --format, --quiet and --verbose."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="Say more: each file, the place of an internal error."),
        click.option("-q", "--quiet", is_flag=True, help="Show errors only, and no remarks."),
        click.option(
            "--format",
            "format_",
            type=click.Choice(tuple(FORMATS)),
            default="text",
            show_default=True,
            help="How to write findings.",
        ),
    ):
        function = option(function)
    return function
