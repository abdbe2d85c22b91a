"""What the user sees when a run cannot go on."""

from __future__ import annotations

from trainc.cli.echo import echo, echo_line

INTERRUPTED = 130

ENVIRONMENT = 2
"""The exit status of a run that could not be carried out: wrong usage, nothing to compile, the system refused."""


def failure(error: Exception, *, verbose: bool) -> int:
    """Tell on standard error why a run cannot go on, and return its exit status.

    An OSError is the environment's; any other exception is a fault of trainc,
    and ``verbose`` adds its traceback.
    """
    if isinstance(error, OSError) and error.strerror is not None:
        place = f"{error.filename}: " if error.filename is not None else ""
        echo_line(f"trainc: error: {place}{error.strerror}", err=True)
        return ENVIRONMENT
    from trainc.diagnostics import CODES
    from trainc.diagnostics.display import one_line

    kind = type(error).__name__
    echo(f"trainc: error[TC902]: {CODES['TC902'].title}: {one_line(f'{kind}: {error}')}", err=True)
    if verbose:
        import traceback

        echo("".join(traceback.format_exception(error)), err=True, nl=False)
    else:
        echo(f"{CODES['TC902'].text} --verbose shows where it happened.", err=True)
    return ENVIRONMENT
