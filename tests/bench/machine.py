"""The machine that figures were taken on, without what names it."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def describe(folder: Path) -> str:
    """Return processor, cores, memory, kernel, file system of ``folder`` and Python as a sentence."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    mounts = Path("/proc/mounts")
    parts = [
        _processor(),
        f"{cores} core{'s' if cores > 1 else ''}",
        f"{memory:.0f} GiB",
        f"{platform.system()} {plain_release(platform.release())}",
        filesystem(folder.resolve(), mounts.read_text(encoding="utf-8")) if mounts.exists() else "",
        f"Python {platform.python_version()}",
    ]
    return ", ".join(filter(None, parts)) + "."


def plain_release(release: str) -> str:
    """Return the numbers of a kernel's release: what follows may name who built it."""
    found = re.match(r"\d+(\.\d+)*", release)
    return found[0] if found else ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.+)", info.read_text(encoding="utf-8"))):
        return found[1].strip()
    return platform.processor() or platform.machine()


def filesystem(folder: Path, mounts: str) -> str:
    """Return the type of the file system that holds a folder, by the text of /proc/mounts."""
    longest, kind = -1, ""
    for line in mounts.splitlines():
        _, mount, found, *_ = line.split(" ")
        if folder.is_relative_to(mount) and len(mount) >= longest:  # a later mount hides an earlier one
            longest, kind = len(mount), found
    return kind
