"""Writes to standard output and standard error as click does, which is asked only where there is more to it.

All output of trainc goes through here but that of ``--help``: what an input holds is shown, and acts on nothing.
"""

from __future__ import annotations

import os
import sys

from trainc.diagnostics.display import one_line
from trainc.diagnostics.inert import FORMS, for_people

_PLAIN = frozenset(() if os.name == "nt" else ("utf-8", "utf8", "UTF-8"))
"""Encodings of streams that need no help; a Windows console is one that does."""


def echo_line(line: str, *, err: bool = False) -> None:
    """Write a text on one line, whatever it holds."""
    echo(one_line(line, len(line)), err=err)


def echo(
    message: str | bytes, *, nl: bool = True, err: bool = False, color: bool | None = None, form: str = "text"
) -> None:
    """Write a text, or bytes, and a newline, and flush. ``color`` false: without the escapes that colour it.

    A text is made inert as its form needs. Bytes are written as they are.
    """
    if isinstance(message, str):
        message = for_people(message, bool(color)) if form == "text" else FORMS[form](message)
    stream = sys.stderr if err else sys.stdout
    if getattr(stream, "encoding", None) in _PLAIN:
        if isinstance(message, str) and (color or "\x1b" not in message):
            stream.write(message + "\n" if nl else message)
            stream.flush()
            return
        if isinstance(message, bytes) and (buffer := getattr(stream, "buffer", None)) is not None:
            stream.flush()
            buffer.write(message + b"\n" if nl else message)
            buffer.flush()
            return
    import click

    click.echo(message, nl=nl, err=err, color=color)


def allow_all_text() -> None:
    """Let a terminal of a narrow encoding show escapes: findings quote whatever a file holds."""
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
