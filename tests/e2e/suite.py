"""``make e2e``: gets ready, and runs the end-to-end tests.

Where pods cannot be simulated or images cannot be built, it says why and ends with 0. With CI=true, or E2E_INSTALL=1,
missing packages are installed by apt-get first. A run is killed after E2E_LIMIT seconds (900). What fails is run
once more, and said: a busy machine is not what is tested.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Final

import roots
from simulator import possible

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


def main() -> int:
    """Return 0 where all passed, or where there is a reason to skip them all; else 1."""
    install()
    if (why := possible.reason()) is not None:
        say(f"skipped: pods cannot be simulated here: {why}")
        return 0
    began = time.monotonic()
    try:
        images = roots.images()
    except roots.NotPossible as error:
        say(f"skipped: {error}")
        return 0
    say(f"images are ready after {time.monotonic() - began:.0f} s")
    folders = sys.argv[1:] or [str(roots.ROOT / "tests" / name) for name in ("e2e", "images")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "images.json"
        file.write_text(json.dumps(images), encoding="utf-8")
        os.environ["TRAINC_E2E_IMAGES"] = str(file)
        failed = run(folders)
        if 0 < len(failed) <= FEW:
            say(f"once more what failed: {', '.join(failed)}")
            failed = run(failed)
    return 1 if failed else 0


def say(text: str) -> None:
    """Print a line about the run."""
    print(f"e2e: {text}", flush=True)  # noqa: T201 - a command line


def install() -> None:
    """Install what is missing, where that is wanted and can be done."""
    if not (os.environ.get("CI") or os.environ.get("E2E_INSTALL")) or os.geteuid() != 0:
        return
    missing = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not missing or shutil.which("apt-get") is None:
        return
    say(f"installing {' '.join(missing)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    commands = ["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    for command in commands:
        try:
            done = subprocess.run(
                [command[0], "--quiet", *command[1:]], env=env, capture_output=True, text=True, check=False, timeout=300
            )
        except subprocess.TimeoutExpired:
            say(f"{' '.join(command)} takes longer than 300 s")
            return
        if done.returncode:
            say(f"{' '.join(command)} fails: {done.stderr.strip()[-500:]}")
            return


def run(targets: list[str]) -> list[str]:
    """Run tests in a process group that does not outlive the limit, and return those that failed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-m", "e2e", "-n", "2", "-rs", f"--junitxml={report}", *targets]
        with subprocess.Popen(command, cwd=roots.ROOT, start_new_session=True) as process:
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                say(f"not done after {LIMIT:.0f} s")
                return targets
        if not report.exists():
            return targets
        return failures(report)


def failures(report: Path) -> list[str]:
    """Return the tests of a JUnit report that failed, as pytest takes them."""
    cases = list(ET.parse(report).iter("testcase"))
    if not cases:
        return ["no test was run"]
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return [f"{str(case.get('classname')).replace('.', '/')}.py::{case.get('name')}" for case in failed]


if __name__ == "__main__":
    sys.exit(main())
