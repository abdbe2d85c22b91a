"""Times trainc from process start, and CEL within one process (benchrules.py). Run by ``make bench``.

validate and render take this repository as it is, policies included. The jobs of build are those of jobs/, under new
names, so every plugin takes part. The figures are of whole processes, output included: wall-clock time, and the time
of processors ("cpu"), which other programs disturb less. "python" is an interpreter that does nothing, the floor under
them. The first run of each command is not counted. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path

import benchdiff
import benchrules

ROOT = Path(__file__).resolve().parents[1]
TRAINC = Path(sys.executable).with_name("trainc")
JOB = "jobs/team-vision/mnist-cpu.yaml"
SIZES = (1, 100)
MANY = 1000
DIFF_TARGET = "target: wall about a second"
VALIDATE_TARGET = "target: wall below 250 ms"


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


def times(command: Sequence[str | Path], runs: int, folder: Path = ROOT) -> list[tuple[float, float]]:
    """Return the seconds of each run in a folder, by the clock and of processors; CalledProcessError if one fails."""
    found, quiet = [], subprocess.DEVNULL
    for _ in range(runs + 1):
        start, used = time.perf_counter(), _processors()
        subprocess.run(command, cwd=folder, check=True, stdout=quiet, stderr=quiet, env=environment())
        found.append((time.perf_counter() - start, _processors() - used))
    return found[1:]


def environment() -> dict[str, str]:
    """Return an environment in which Python keeps what it compiles, as where trainc is installed."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _processors() -> float:
    """Return the seconds that processors have spent on the processes waited for so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def cpu() -> str:
    """Return the processor's name, as well as the system says it."""
    info = Path("/proc/cpuinfo")
    if info.exists() and (found := re.search(r"model name\s*: (.+)", info.read_text(encoding="utf-8"))):
        return found[1]
    return platform.processor() or platform.machine()


def show(title: str, found: Sequence[tuple[float, float]], remark: str = "") -> None:
    """Print one line of figures, in milliseconds."""
    wall, processor = ([each[place] * 1000 for each in found] for place in (0, 1))
    figures = f"min {min(wall):7.1f} ms   median {statistics.median(wall):7.1f} ms   cpu {min(processor):7.1f} ms"
    print(f"{title:32} {figures}   of {len(found)} runs   {remark}".rstrip())


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10, help="runs of each command (default 10)")
    runs = parser.parse_args().runs
    print(f"{cpu()}, {os.cpu_count()} CPUs, {platform.system()}, Python {platform.python_version()}")
    show("python -c pass", times([sys.executable, "-c", "pass"], runs))
    show("trainc validate, one job", times([TRAINC, "validate", JOB], runs), VALIDATE_TARGET)
    show("trainc validate, all of jobs/", times([TRAINC, "validate"], runs))
    show("trainc render --check", times([TRAINC, "render", "--check"], runs))
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            paths = generate(Path(folder), size)
            title = f"trainc build, {size} job{'s' if size > 1 else ''}"
            show(title, times([TRAINC, "build", *paths], runs))
    with tempfile.TemporaryDirectory() as folder:
        benchdiff.repository(Path(folder), MANY)
        show(f"trainc diff, 1 job of {MANY:,}", times([TRAINC, "diff"], runs, Path(folder)), DIFF_TARGET)
    benchrules.main()


if __name__ == "__main__":
    main()
