"""Process 1 of a simulated cluster: starts one command, reaps whatever is left to it, passes signals on.

A script of its own and not a module of the package: it starts in 10 ms and holds no memory worth speaking of.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def main(command: list[str]) -> int:
    """Run a command and return its exit code, 128 and the number for a signal."""
    child = os.posix_spawnp(command[0], command, os.environ)

    def forward(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, forward)
    while True:
        ended, status = os.wait()
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
