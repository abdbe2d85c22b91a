"""The class of all commands, which return an exit status, and writes to standard output and standard error.

All output of trainc except ``--help`` goes through here, so that text of an input never acts on a terminal or a CI log.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from math import inf
from typing import Any, BinaryIO, Final, TextIO

import click

from trainc.findings.display import ESCAPES, escape_text, escaped, one_line

CLEAN: Final = 0
ERRORS: Final = 1
ENVIRONMENT: Final = 2
"""The exit status for wrong usage, nothing to compile, and errors of the system."""
STALE: Final = 3
INTERRUPTED: Final = 130

_LIBRARIES: Final = tuple(EXTENSION_SUFFIXES)
"""The ends of the names of modules that are not in Python, such as .so."""

_NO_FRAME: Final = ("error return without exception set", "returned NULL without setting an exception")
"""How messages of the SystemError end that Python 3.11 raises where it has no memory for a frame.

The second one is that of a function that C code calls, such as the key of a sort.
"""


class WrongValue(click.BadParameter):
    """A value of the command line that is wrong, and a hint, on lines of their own."""

    def __init__(self, message: str, hint: str | None, param_hint: str) -> None:
        super().__init__(message, param_hint=param_hint)
        self.hint = hint


class Command(click.Command):
    """A command whose exceptions become a short message; --verbose adds the traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and return its exit status."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - all failures are reported alike
            if (interruption := _interruption(error)) is not None:
                raise interruption from None
            return failure(error, verbose=bool(ctx.params.get("verbose")))


def _interruption(error: Exception) -> BaseException | None:
    """Return the signal whose exception an error followed: shutil, for one, may then close a descriptor twice."""
    cause = error.__context__
    while cause is not None and not isinstance(cause, SystemExit | KeyboardInterrupt):
        cause = cause.__context__
    return cause


def failure(error: Exception, *, verbose: bool) -> int:
    """Report on standard error why a run failed, and return its exit status.

    An OSError comes from the environment, and so does a lack of memory, or a library that does not load; any other
    exception is a bug in trainc, and ``verbose`` adds its traceback.
    """
    from trainc.cli.limits import allow

    allow(inf)  # the message may need memory
    if isinstance(error, MemoryError) or (isinstance(error, SystemError) and str(error).endswith(_NO_FRAME)):
        error.__traceback__ = error.__context__ = None  # they hold what filled the memory
        error = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    if isinstance(error, ImportError) and (error.path or "").endswith(_LIBRARIES):
        error = OSError(None, f"cannot be loaded: {error}", error.path)
    if isinstance(error, OSError) and error.strerror is not None:
        # The only bad descriptor is that of a standard output that the caller closed.
        name = error.filename or (OUTPUT if error.errno == errno.EBADF else None)
        echo_line(f"trainc: error: {f'{name}: ' if name is not None else ''}{error.strerror}", err=True)
        return ENVIRONMENT
    from trainc.findings import CODES

    kind = type(error).__name__
    echo(f"trainc: error[TC902]: {CODES['TC902'].title}: {one_line(f'{kind}: {error}')}", err=True)
    if verbose:
        import traceback

        echo("".join(traceback.format_exception(error)), err=True, nl=False)
    else:
        echo(f"{CODES['TC902'].text} --verbose shows the traceback.", err=True)
    return ENVIRONMENT


def is_terminal(*streams: TextIO | None) -> bool:
    """Return whether all streams lead to a terminal; one that the caller closed is None."""
    return all(stream is not None and stream.isatty() for stream in streams)


OUTPUT = "<stdout>"
INPUT: Final = "<stdin>"


def standard_input() -> BinaryIO:
    """Return the bytes of standard input. Raises OSError if the caller closed it."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), INPUT)
    with contextlib.suppress(OSError):  # it has no descriptor, as in tests
        os.set_blocking(sys.stdin.fileno(), True)  # else a read ends before the input does
    return sys.stdin.buffer


def echo_line(line: str, *, err: bool = False) -> None:
    """Write a text on one line, with its line breaks escaped."""
    echo(escaped(line), err=err)


def echo(
    message: str | bytes, *, nl: bool = True, err: bool = False, color: bool | None = None, form: str = "text"
) -> None:
    """Write a text, or bytes, and a newline, and flush; unless ``color``, without the escapes that colour it.

    Text is escaped for its format, bytes are not. Raises OSError, with the name of the stream.
    """
    if isinstance(message, str):
        message = escape_text(message, bool(color)) if form == "text" else ESCAPES[form](message)
    try:
        click.echo(message, nl=nl, err=err, color=color)
    except OSError as error:
        error.filename = error.filename or ("<stderr>" if err else OUTPUT)
        raise


def echo_yaml(text: str) -> None:
    """Write the text of YAML files; without their comments if it has hidden characters, or commands of CI."""
    from trainc.basics.jsonvalues import as_object, without_nulls
    from trainc.documents.emit import acts, emit_inert
    from trainc.documents.load import load
    from trainc.inputs.source import Source

    if acts(text):
        documents, _ = load(Source("", text))
        text = "---\n".join(emit_inert(as_object(without_nulls(each.data))) for each in documents)
    echo(text.encode("utf-8"), nl=False)


def allow_all_text() -> None:
    """Escape characters that the encoding of a terminal does not have: findings may quote any, and so may who types."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            with contextlib.suppress(OSError):  # a program that calls trainc may have read from it
                reconfigure(errors="backslashreplace")
