"""Writes to standard output and standard error.

All output of trainc except ``--help`` goes through here, so that text of an input never acts on a terminal or a CI log.
"""

from __future__ import annotations

import sys

import click

from trainc.findings.display import ESCAPES, escape_text, one_line

OUTPUT = "<stdout>"


def echo_line(line: str, *, err: bool = False) -> None:
    """Write a text on one line, with its line breaks escaped."""
    echo(one_line(line, len(line)), err=err)


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


def allow_all_text() -> None:
    """Escape characters that the encoding of a terminal does not have: findings may quote any character."""
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
