"""Runs commands of trainc under an audit hook, and prints, as JSON, what sockets and programs each of them asks for.

The argument is the folder of the package. The commands are read from standard input, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

report = os.open("forked", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn")


def hook(event: str, args: tuple[object, ...]) -> None:
    """Note an event, here or in a worker process, and refuse what uses the network."""
    if event == "subprocess.Popen":
        note(f"{event} {args[1][0]}" if isinstance(args[1], list | tuple) else f"{event} {args[1]}")
    elif event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib.", "ctypes.", *STARTS)):
        note(event)
        if event.startswith("socket."):
            raise PermissionError(event)


def note(event: str) -> None:
    """Remember an event; worker processes are forked, and share the file."""
    os.write(report, f"{event}\n".encode())


def main() -> None:
    """Run each command in this process; a module that is imported for the first command is there for the others."""
    commands = json.load(sys.stdin)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.addaudithook(hook)
    from click.testing import CliRunner

    from trainc.cli.root import trainc

    found = {}
    for command in commands:
        done = CliRunner().invoke(trainc, command, prog_name="trainc")
        events = sorted(set(Path("forked").read_text(encoding="utf-8").splitlines()))
        os.ftruncate(report, 0)
        found[" ".join(command)] = [done.exit_code, events, done.output[-300:] if done.exit_code else ""]
    json.dump(found, sys.__stdout__)


if __name__ == "__main__":
    main()
