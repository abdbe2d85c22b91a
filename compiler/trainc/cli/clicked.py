"""click's commands: those that are declared (``declared.py``), and what the others share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from trainc.cli.declared import Choice, Count, Declared, Existing, Kind, Option
from trainc.cli.failure import failure

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


def clicked(declared: Declared) -> click.Command:
    """Return click's command of what is declared."""

    def run(**asked: Any) -> int:
        return declared.run(**asked)

    run.__doc__ = declared.run.__doc__
    paths = declared.paths
    kind = _kind(paths.kind)
    argument = click.argument("paths", metavar=paths.metavar, nargs=-1, required=paths.required, type=kind)
    function = with_options(*declared.options)(argument(run))
    return click.command(declared.name, cls=Command, epilog=declared.epilog)(function)


def with_options(*options: Option) -> Callable[[F], F]:
    """Return what adds declared options to a function that becomes a command of click's own."""

    def add(function: F) -> F:
        for option in reversed(options):
            function = _option(option)(function)
        return function

    return add


def _option(option: Option) -> Callable[[F], F]:
    about: dict[str, Any] = {"help": option.help}
    if option.flag is None:
        shown = isinstance(option.default, str)
        about |= {"type": _kind(option.kind), "metavar": option.metavar, "multiple": option.many, "show_default": shown}
    else:
        about |= {"is_flag": True, "flag_value": option.flag}
    if option.default is not None and not option.many:
        about["default"] = option.default
    return click.option(*option.spellings, option.name, **about)


def _kind(kind: Kind) -> click.types.ParamType[Any] | None:
    if isinstance(kind, Choice):
        return click.Choice(kind.words)
    if isinstance(kind, Count):
        return click.IntRange(1)
    if isinstance(kind, Existing):
        return click.Path(exists=True, allow_dash=kind.dash, file_okay=kind.file)
    return None
