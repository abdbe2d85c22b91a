"""The class of all commands: a click command that returns an exit status and reports exceptions as a short message."""

from __future__ import annotations

import errno
from typing import Any, Final

import click

from trainc.cli.echo import OUTPUT, echo, echo_line

CLEAN: Final = 0
ERRORS: Final = 1
ENVIRONMENT: Final = 2
"""The exit status for wrong usage, nothing to compile, and errors of the system."""
STALE: Final = 3
INTERRUPTED: Final = 130


class Command(click.Command):
    """A command whose exceptions become a short message; --verbose adds the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return its exit status."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - all failures are reported alike
            return failure(error, verbose=bool(ctx.params.get("verbose")))


def failure(error: Exception, *, verbose: bool) -> int:
    """Report on standard error why a run failed, and return its exit status.

    An OSError comes from the environment; any other exception is a bug in trainc, and ``verbose`` adds its traceback.
    """
    if isinstance(error, OSError) and error.strerror is not None:
        # The only bad descriptor is that of a standard output that the caller closed.
        name = error.filename or (OUTPUT if error.errno == errno.EBADF else None)
        echo_line(f"trainc: error: {f'{name}: ' if name is not None else ''}{error.strerror}", err=True)
        return ENVIRONMENT
    from trainc.findings import CODES
    from trainc.findings.display import one_line

    kind = type(error).__name__
    echo(f"trainc: error[TC902]: {CODES['TC902'].title}: {one_line(f'{kind}: {error}')}", err=True)
    if verbose:
        import traceback

        echo("".join(traceback.format_exception(error)), err=True, nl=False)
    else:
        echo(f"{CODES['TC902'].text} --verbose shows the traceback.", err=True)
    return ENVIRONMENT
