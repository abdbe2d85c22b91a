"""Runs one command and prints what it took: ``python -I -S spawn.py OUTPUT ERRORS COMMAND...``.

A process of its own, and a small one: the peak memory that the system reports of a child begins with that of the
process that started it. Prints status, seconds by the clock, seconds of user and of system, and peak memory in KiB;
processes that the command has waited for count, and of memory the largest of them.
"""

import os
import sys
import time


def main() -> None:
    """Run the command, its output and errors to the files given."""
    output, errors, *command = sys.argv[1:]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, output, flags, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, errors, flags, 0o644),
    ]
    if source := os.environ.pop("SPAWN_INPUT", ""):
        actions[0] = (os.POSIX_SPAWN_OPEN, 0, source, os.O_RDONLY, 0)
    start = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss)


if __name__ == "__main__":
    main()
