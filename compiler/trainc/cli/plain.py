"""Runs commands whose arguments are plainly right without click, which takes longer to load than they may take."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainc.cli.declared import Declared

DECLARED = ("render", "build", "validate")
"""Commands that are declared: the module of each has its name."""


def run(args: Sequence[str]) -> int | None:
    """Run a command and return its exit status; None where click has to, for its parsing or its words."""
    if not args or args[0] not in DECLARED or os.name == "nt" or "_TRAINC_COMPLETE" in os.environ:
        return None
    from importlib import import_module

    command: Declared = import_module(f"trainc.cli.{args[0]}").command
    asked = command.parse(args[1:])
    if asked is None or asked.get("executor") == "mpi":
        return None
    from trainc.cli.echo import allow_all_text, echo
    from trainc.cli.failure import INTERRUPTED, failure

    allow_all_text()
    try:
        return command.run(**asked)
    except KeyboardInterrupt:
        echo("", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        from pathlib import Path

        # Nobody listens, to the last flush either.
        sys.stdout = sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - stays until the end
        return 1
    except Exception as error:  # noqa: BLE001 - every fault is told the same way
        return None if _is_refusal(error) else failure(error, verbose=bool(asked["verbose"]))


def _is_refusal(error: Exception) -> bool:
    """Tell whether a command refuses its arguments, which it does before it writes anything: click has the words."""
    click = sys.modules.get("click")
    return click is not None and isinstance(error, click.ClickException)
