"""``make e2e``: gets ready, runs the end-to-end tests once or N times, and says how it went.

Where pods cannot be simulated or images cannot be built, it says why and ends with 0. With CI=true, or E2E_INSTALL=1,
missing packages are installed by apt-get first. N repeats append a line of figures to docs/e2e.md. Nothing here waits
for ever: every run has a limit of seconds (E2E_LIMIT, 900) beyond which it is killed and counts as failed. What fails
in a single run is run once more, and said: a busy machine is not what is tested. Among repeats nothing is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import roots
from simulator import possible

PAGE: Final = roots.ROOT / "docs" / "e2e.md"
FEW: Final = 3
"""So many tests that failed are run once more."""
LIMIT: Final = float(os.environ.get("E2E_LIMIT") or 900)
PACKAGES: Final = {
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "nsenter": "util-linux",
    "openssl": "openssl",
    "setpriv": "util-linux",
    "skopeo": "skopeo",
    "unshare": "util-linux",
}
"""Programs, with Debian's packages that have them. skopeo only looks at images: tests do without it."""


@dataclass
class Run:
    """One run of the tests: its seconds, the number of tests that passed, names of those that did not, by outcome."""

    seconds: float
    passed: int = 0
    skipped: int = 0
    failed: list[str] = field(default_factory=list)


def main() -> int:
    """Return 0 where all passed, or where there is a reason to skip them all; else 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run the tests so often")
    parser.add_argument("rest", nargs="*", help="arguments for pytest instead of the folders of tests")
    options = parser.parse_args()
    install()
    if (why := possible.reason()) is not None:
        print(f"e2e: skipped: pods cannot be simulated here: {why}")  # noqa: T201 - a command line
        return 0
    began = time.monotonic()
    known = {path.name for path in (roots.CACHE / "roots").glob("*")}
    try:
        images = roots.images()
    except roots.NotPossible as error:
        print(f"e2e: skipped: {error}")  # noqa: T201
        return 0
    built = {Path(each["root"]).name for each in images.values()} - known
    ready = time.monotonic() - began
    print(f"e2e: {len(built)} root folders built, the others cached: {ready:.0f} s", flush=True)  # noqa: T201
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "images.json"
        file.write_text(json.dumps(images), encoding="utf-8")
        os.environ["TRAINC_E2E_IMAGES"] = str(file)
        targets = options.rest or [str(roots.ROOT / "tests" / "e2e")]
        runs = [run(targets) for _ in range(options.repeat)]
        if not options.rest and options.repeat == 1:
            runs.append(run([str(roots.ROOT / "tests" / "images")]))
        again = [run(each.failed) for each in runs if options.repeat == 1 and 0 < len(each.failed) <= FEW]
    for each in runs:
        print(f"e2e: {told(each)}")  # noqa: T201
    for each in again:
        print(f"e2e: once more what failed: {told(each)}")  # noqa: T201
    if options.repeat > 1:
        append(runs, ready, bool(built))
    return 0 if all(map(good, again if again and all(len(each.failed) <= FEW for each in runs) else runs)) else 1


def good(each: Run) -> bool:
    """Say whether a run is nothing to worry about: no test failed, and there were some."""
    return not each.failed and each.passed + each.skipped > 0


def install() -> None:
    """Install what is missing, where that is wanted and can be done."""
    if not (os.environ.get("CI") or os.environ.get("E2E_INSTALL")) or os.geteuid() != 0:
        return
    missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not missing or shutil.which("apt-get") is None:
        return
    print(f"e2e: installing {' '.join(missing)}", flush=True)  # noqa: T201
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = ["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    for command in commands:
        try:
            done = subprocess.run(
                [command[0], "--quiet", *command[1:]], env=env, capture_output=True, text=True, check=False, timeout=300
            )
        except subprocess.TimeoutExpired:
            print(f"e2e: {' '.join(command)} takes longer than 300 s")  # noqa: T201
            return
        if done.returncode:
            print(f"e2e: {' '.join(command)} fails: {done.stderr.strip()[-500:]}")  # noqa: T201
            return


def run(targets: list[str]) -> Run:
    """Run the tests once, in a process group of their own that does not outlive the limit."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "e2e", "-n", "2", "-rs", f"--junitxml={report}", *targets]
        began = time.monotonic()
        with subprocess.Popen(command, cwd=roots.ROOT, start_new_session=True) as process:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return Run(time.monotonic() - began, failed=[f"not done after {LIMIT:.0f} s"])
        found = Run(time.monotonic() - began)
        if not report.exists():
            found.failed.append("pytest made no report")
            return found
        for case in ET.parse(report).iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                found.failed.append(f"{str(case.get('classname')).replace('.', '/')}.py::{case.get('name')}")
            elif case.find("skipped") is not None:
                found.skipped += 1
            else:
                found.passed += 1
        return found


def told(each: Run) -> str:
    """Return how a run went."""
    names = ", ".join(name.rpartition("::")[2] for name in each.failed)
    bad = f", {len(each.failed)} failed: {names}" if each.failed else ""
    return f"{each.passed} passed, {each.skipped} skipped{bad} in {each.seconds:.0f} s"


def append(runs: list[Run], ready: float, cold: bool) -> None:
    """Add a line to the table of figures."""
    seconds = [each.seconds for each in runs]
    flaky = sorted({name for each in runs for name in each.failed})
    cells = [
        datetime.now(UTC).strftime("%Y-%m-%d"),
        machine(),
        f"{ready:.0f} s ({'built' if cold else 'cached'})",
        str(len(runs)),
        f"{runs[0].seconds:.0f} s",
        f"{statistics.median(seconds):.0f} s",
        f"{max(seconds):.0f} s",
        str(sum(each.passed for each in runs)),
        ", ".join(name.rpartition("::")[2] for name in flaky) or "none",
    ]
    text = PAGE.read_text(encoding="utf-8").rstrip("\n")
    PAGE.write_text(f"{text}\n| {' | '.join(cells)} |\n", encoding="utf-8")


def machine() -> str:
    """Return what is computed on: cores and memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB"


if __name__ == "__main__":
    sys.exit(main())
