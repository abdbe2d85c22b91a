"""Edits of a small repository, and runs in it."""

from __future__ import annotations

import time
from collections.abc import Callable

from click.testing import CliRunner, Result

from cache import walktexts as texts
from cache.walking import TICK
from trainc.cli.root import trainc

JOB = texts.PLAIN
RUNTIME = texts.PLAIN_RUNTIME
Compiled = Callable[[], list[str]]


def pause() -> None:
    time.sleep(2 * TICK / 1e9)


def run(*args: str, status: int = 0) -> Result:
    result = CliRunner().invoke(trainc, args, prog_name="trainc")
    assert result.exit_code == status, result.output
    pause()
    return result
