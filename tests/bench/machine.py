"""The machine that figures were taken on, without what names it."""

from __future__ import annotations

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, cores, memory in GiB, kernel, file system of the fleets, Python."""

    processor: str
    cores: int
    memory: float
    system: str
    filesystem: str
    python: str

    @property
    def sentence(self) -> str:
        """All of it, for people."""
        cores = f"{self.cores} core{'s' if self.cores > 1 else ''}"
        where = f", {self.filesystem}" if self.filesystem else ""
        return f"{self.processor}, {cores}, {self.memory:.0f} GiB, {self.system}{where}, Python {self.python}."


def here(folder: Path) -> Machine:
    """Return this machine; ``folder`` is where the fleets lie."""
    return Machine(
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30,
        system=f"{platform.system()} {plain_release(platform.release())}",
        filesystem=_filesystem(folder),
        python=platform.python_version(),
    )


def plain_release(release: str) -> str:
    """Return the numbers of a kernel's release: what follows may name who built it."""
    found = re.match(r"\d+(\.\d+)*", release)
    return found[0] if found else ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.+)", info.read_text(encoding="utf-8"))):
        return found[1].strip()
    return platform.processor() or platform.machine()


def _filesystem(folder: Path) -> str:
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return ""
    return filesystem_of(folder.resolve(), mounts.read_text(encoding="utf-8"))


def filesystem_of(folder: Path, mounts: str) -> str:
    """Return the type of the file system that holds a folder, by the text of /proc/mounts."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        _, place, found, *_ = line.split(" ")
        if folder.is_relative_to(place) and len(place) >= best:  # of two on one place the later one is seen
            best, kind = len(place), found
    return kind
