"""The system calls that containers are made of and Python 3.11 lacks."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Final

NEW_MOUNT: Final = 0x00020000
NEW_UTS: Final = 0x04000000
NEW_IPC: Final = 0x08000000
NEW_PID: Final = 0x20000000
NEW_NET: Final = 0x40000000

READ_ONLY: Final = 1
NO_SUID: Final = 2
NO_DEVICES: Final = 4
NO_EXEC: Final = 8
REMOUNT: Final = 32
BIND: Final = 4096
RECURSIVE: Final = 16384
PRIVATE: Final = 1 << 18

_DETACH: Final = 2
_DROP_BOUND: Final = 24  # PR_CAPBSET_DROP
_READ_BOUND: Final = 23  # PR_CAPBSET_READ
_NO_NEW_PRIVILEGES: Final = 38  # PR_SET_NO_NEW_PRIVS

_libc: Final = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system; an empty kind is for binds, remounts and changes of propagation."""
    given = (source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), data.encode() or None)
    _check(_libc.mount(*given), f"mount {kind or source} at {target}")


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Mount what is at one path at another too, with the mounts below it."""
    mount(source, target, flags=BIND | RECURSIVE)
    if read_only:
        mount("", target, flags=BIND | REMOUNT | READ_ONLY)


def unmount(target: str) -> None:
    """Take a mount and those below it away, even while something uses them."""
    _check(_libc.umount2(target.encode(), _DETACH), f"unmount {target}")


def pivot(root: str, old: str) -> None:
    """Make a mount the root of this mount namespace; the former root is then at ``old``, which lies below it."""
    _check(_libc.pivot_root(root.encode(), old.encode()), f"pivot_root {root}")


def unshare(namespaces: int) -> None:
    """Leave these namespaces for new ones (the one of processes only for the children to come)."""
    _check(_libc.unshare(namespaces), "unshare")


def enter(descriptor: int, namespace: int) -> None:
    """Enter a namespace by its descriptor (the one of processes only for the children to come)."""
    _check(_libc.setns(descriptor, namespace), "setns")


def set_hostname(name: str) -> None:
    """Name the UTS namespace."""
    _check(_libc.sethostname(name.encode(), len(name)), "sethostname")


def bounding_set() -> frozenset[int]:
    """Return the numbers of the capabilities that this process and its children can ever have."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text())
    return frozenset(number for number in range(last + 1) if _libc.prctl(_READ_BOUND, number, 0, 0, 0) == 1)


def drop_from_bounding_set(number: int) -> None:
    """Take a capability away for good."""
    _check(_libc.prctl(_DROP_BOUND, number, 0, 0, 0), f"drop capability {number}")


def no_new_privileges() -> None:
    """Make set-user-id programs and file capabilities of no effect from here on."""
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
