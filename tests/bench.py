"""Times ``trainc build`` from process start: one job, and a hundred. Run by ``make bench``.

The jobs are those of jobs/, under new names, so every plugin takes part. The
figures are wall-clock times of whole processes, output included; "python" is
an interpreter that does nothing, the floor under them. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAINC = Path(sys.executable).with_name("trainc")
SIZES = (1, 100)


def renamed(path: Path, number: int) -> str:
    """Return the text of a job below jobs/ with a name and namespace of its own."""
    text = path.read_text(encoding="utf-8")
    replacement = rf"\1metadata:\n  namespace: {path.parent.name}\n  name: \2-{number}\n"
    changed, count = re.subn(r"(?m)\A((?:.*\n)*?)metadata:\n  name: (\S+)\n", replacement, text, count=1)
    if count != 1:
        raise ValueError(f"{path}: metadata does not begin with a name")
    return changed


def generate(folder: Path, size: int) -> list[Path]:
    """Write size jobs below folder and return their paths."""
    templates = sorted((ROOT / "jobs").glob("*/*.yaml"))
    paths = []
    for number, template in enumerate(islice(cycle(templates), size)):
        path = folder / f"{size}-{number}.yaml"
        path.write_text(renamed(template, number), encoding="utf-8")
        paths.append(path)
    return paths


def times(command: Sequence[str | Path], runs: int) -> list[float]:
    """Return the wall-clock seconds of each run; CalledProcessError where one fails. The first is not counted."""
    found = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found.append(time.perf_counter() - start)
    return found[1:]


def cpu() -> str:
    """Return the processor's name, as well as the system says it."""
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.+)", info.read_text(encoding="utf-8"))):
        return found[1]
    return platform.processor() or platform.machine()


def show(title: str, found: Sequence[float]) -> None:
    """Print one line of figures, in milliseconds."""
    smallest, median = min(found) * 1000, statistics.median(found) * 1000
    print(f"{title:28} min {smallest:7.1f} ms   median {median:7.1f} ms   of {len(found)} runs")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="runs of each command (default 10)")
    runs = parser.parse_args().runs
    print(f"{cpu()}, {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}")
    show("python -c pass", times([sys.executable, "-c", "pass"], runs))
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            paths = generate(Path(folder), size)
            title = f"trainc build, {size} job{'s' if size > 1 else ''}"
            show(title, times([TRAINC, "build", *paths], runs))


if __name__ == "__main__":
    main()
