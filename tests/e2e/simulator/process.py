"""What becomes of a forked child before it runs a container's program: user, groups, capabilities, directory, exec.

Runs inside the container's namespaces, in a process that is about to exec; the order is that of runc's init.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from . import kernel

CAPABILITIES: Final = (
    *("CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP"),
    *("LINUX_IMMUTABLE", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER"),
    *("SYS_MODULE", "SYS_RAWIO", "SYS_CHROOT", "SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE"),
    *("SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG", "MKNOD", "LEASE", "AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP"),
    *("MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND", "AUDIT_READ", "PERFMON", "BPF"),
    "CHECKPOINT_RESTORE",
)
"""Their names, each at its number (linux/capability.h)."""


class StartError(Exception):
    """A container or a command in it cannot be started, worded as runc does."""


@dataclass(frozen=True, slots=True)
class Process:
    """A program to run in a container. ``user`` is as in an image: `uid`, `name`, `uid:gid`; empty is root.

    ``group`` of None is the user's own of the image's /etc/passwd. ``groups`` are supplementary, besides those that the
    image's /etc/group gives the user. ``capabilities`` bound what root has: numbers.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    user: str
    group: int | None
    groups: tuple[int, ...]
    capabilities: frozenset[int]
    no_new_privileges: bool


@dataclass(frozen=True, slots=True)
class Account:
    """A user as the image's /etc/passwd and /etc/group know it."""

    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str


def run(process: Process) -> None:
    """Become the program; does not return. Standard input, output and error must be in place.

    Raises:
        StartError: It cannot be run.
        OSError: A system call before it fails.
    """
    account = find_account(process)
    env = dict(process.env)
    env.setdefault("HOME", account.home)
    os.setsid()
    os.umask(0o022)
    _give_streams_to(account.uid)
    for number in kernel.bounding_set() - process.capabilities:
        kernel.drop_from_bounding_set(number)
    reached = _enter_directory(process.cwd)
    os.setgroups(account.groups)
    os.setgid(account.gid)
    os.setuid(account.uid)
    if not reached:
        _must_enter(process.cwd)
    if process.no_new_privileges:
        kernel.no_new_privileges()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and that would outlive the exec
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    program = find_program(process.argv[0], env.get("PATH", ""))
    try:
        os.execve(program, process.argv, env)
    except OSError as error:
        raise StartError(f"exec {program}: {_lower(error)}") from None


def find_account(process: Process) -> Account:
    """Return who the program runs as.

    Raises:
        StartError: A user given by name is not in the image's /etc/passwd.
    """
    user, _, own_group = process.user.partition(":")
    users = [line.split(":") for line in _lines("/etc/passwd")]
    known = next((entry for entry in users if len(entry) > 5 and user in (entry[0], entry[2])), None)
    if known is None and user and not user.isdigit():
        raise StartError(f"unable to find user {user}: no matching entries in passwd file")
    uid = int(known[2]) if known else int(user or 0)
    if not user:
        known = next((entry for entry in users if len(entry) > 5 and entry[2] == "0"), None)
    named = [line.split(":") for line in _lines("/etc/group")]
    gid = process.group if process.group is not None else _group(own_group, named, int(known[3]) if known else 0)
    member = [int(entry[2]) for entry in named if known and len(entry) > 3 and known[0] in entry[3].split(",")]
    groups = tuple(dict.fromkeys((gid, *process.groups, *member)))
    return Account(uid, gid, groups, known[5] if known and known[5] else "/")


def find_program(name: str, path: str) -> str:
    """Return where a program is, as Go's exec.LookPath finds it.

    Raises:
        StartError: It is nowhere, or nowhere executable.
    """
    folders = [""] if "/" in name else [f"{folder or '.'}/" for folder in path.split(":")]
    problem = "executable file not found in $PATH"
    for folder in folders:
        candidate = folder + name
        try:
            mode = os.stat(candidate).st_mode  # noqa: PTH116
        except OSError as error:
            if "/" in name:
                raise StartError(f'exec: "{name}": stat {name}: {_lower(error)}') from None
            continue
        if not stat.S_ISDIR(mode) and os.access(candidate, os.X_OK):
            return candidate
        if "/" in name:
            problem = "is a directory" if stat.S_ISDIR(mode) else "permission denied"
    raise StartError(f'exec: "{name}": {problem}')


def _group(name: str, named: list[list[str]], default: int) -> int:
    if not name:
        return default
    found = next((entry for entry in named if len(entry) > 2 and name in (entry[0], entry[2])), None)
    if found is None and not name.isdigit():
        raise StartError(f"unable to find group {name}: no matching entries in group file")
    return int(found[2]) if found else int(name)


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _give_streams_to(uid: int) -> None:
    """Let the program open /dev/stdout again, as runc does for pipes."""
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.fchown(descriptor, uid, -1)


def _enter_directory(path: str) -> bool:
    with contextlib.suppress(OSError):
        Path(path).mkdir(mode=0o755, parents=True, exist_ok=True)
    try:
        os.chdir(path)
    except OSError:
        return False
    return True


def _must_enter(path: str) -> None:
    try:
        os.chdir(path)
    except OSError as error:
        raise StartError(f'chdir to cwd ("{path}") set in config.json failed: {_lower(error)}') from None


def _lower(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
