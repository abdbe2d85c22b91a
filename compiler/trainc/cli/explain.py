"""`trainc explain CODE`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from trainc.cli.command import CLEAN, Command
from trainc.diagnostics import CODES
from trainc.diagnostics.explain import listing, page

EPILOG = """\b
Examples:
  trainc explain          all codes
  trainc explain TC101    what one of them means
"""


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    start = incomplete.upper()
    return [CompletionItem(code, help=CODES[code].title) for code in sorted(CODES) if code.startswith(start)]


@click.command("explain", cls=Command, epilog=EPILOG)
@click.argument("code", metavar="[CODE]", required=False, shell_complete=_complete)
def command(code: str | None) -> int:
    """Say what CODE, the code of a finding such as TC101, means and what to do about it; without one, list all."""
    if code is None:
        click.echo(listing(), nl=False)
        return CLEAN
    if code.upper() not in CODES:
        from difflib import get_close_matches

        near = get_close_matches(code.upper(), CODES, 3, 0.7)
        hint = f", nearest are {', '.join(near)}" if near else ", codes look like TC101"
        raise click.BadParameter(f"no such code {code!r}{hint}", param_hint="CODE")
    click.echo(page(code.upper()), nl=False)
    return CLEAN
