"""Runs one command and prints what it took: ``python -I -S spawn.py OUTPUT ERRORS COMMAND...``.

A process of its own, and a small one, without pathlib: the peak memory that the system reports of a child begins with
that of the process that started it. Prints status, seconds by the clock, seconds of user and of system, and peak memory
in KiB; processes that the command has waited for count. Memory is that of the largest process or, on Linux, that of all
together if it is more: several times a second, with the share of each in pages that they share (Pss).
"""
# ruff: noqa: PTH110, PTH123, PTH208

import os
import sys
import threading
import time


def together(root):
    """Return the KiB of a process and its descendants together; 0 where the system does not tell."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc") if os.path.exists("/proc/self/smaps_rollup") else ()):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
    family = {root}
    while found := {child for child, parent in parents.items() if parent in family} - family:
        family |= found
    total = 0
    for number in family:
        try:
            with open(f"/proc/{number}/smaps_rollup") as file:
                total += next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
        except OSError:
            continue
    return total


def watch(root, peaks, ended):
    """Append the memory of a process and its descendants until ``ended``, in at most a twentieth of the time."""
    pause = 0.02
    while not ended.wait(pause):
        start = time.perf_counter()
        peaks.append(together(root))
        pause = max(0.02, 20 * (time.perf_counter() - start))


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
    peaks, ended = [0], threading.Event()
    watcher = threading.Thread(target=watch, args=(child, peaks, ended))
    watcher.start()
    _, status, usage = os.wait4(child, 0)
    wall = time.perf_counter() - start
    ended.set()
    watcher.join()
    print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime, usage.ru_stime, max(usage.ru_maxrss, *peaks, 0))


if __name__ == "__main__":
    main()
