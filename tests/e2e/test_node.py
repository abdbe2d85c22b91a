"""The node of the simulator: every case of nodecases/ in a cluster of its own, and that nothing is left of any."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from simulator.isolate import isolated
from simulator.possible import reason

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent
CASES = [
    (file.stem, node.name)
    for file in sorted((HERE / "nodecases").glob("*.py"))
    for node in ast.parse(file.read_text(encoding="utf-8")).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("case_")
]
PATIENCE = 120

FOREVER = """
import sys; sys.path.insert(0, sys.argv[1])
from nodecases.bench import Bench
bench = Bench()
pods = [bench.start(f"p{i}", f"trap '' TERM; {sys.argv[2]} & {sys.argv[2]}") for i in range(3)]
bench.until(lambda: all(pod.phase == "Running" for pod in pods), "start")
pods[0].wait(3600)
"""


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    why = reason()
    if why is not None:
        pytest.skip(f"no pods here: {why}")


def left(marker: str) -> dict[str, list[str]]:
    """Return what a cluster could leave on the machine: processes, links, named network namespaces, mounts."""
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    named = Path("/run/netns")
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return {
        "processes": [line for line in processes.splitlines() if marker in line],
        "links": [link.name for link in Path("/sys/class/net").iterdir() if link.name.startswith(("veth", "cni"))],
        "namespaces": [entry.name for entry in named.iterdir()] if named.is_dir() else [],
        "mounts": [line for line in mounts if line.startswith("simulator ") or "/pods/" in line],
    }


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        isolated([sys.executable, *command]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_there_are_cases() -> None:
    assert len(CASES) >= 20
    assert {module for module, _ in CASES} == {"containers", "lifecycle", "networking", "storage"}


@pytest.mark.parametrize(("module", "case"), CASES, ids=[f"{module}-{case[5:]}" for module, case in CASES])
def test_case(module: str, case: str) -> None:
    ended = run(str(HERE / "nodecases" / "bench.py"), module, case)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"


@pytest.fixture
def marker() -> str:
    """A command that no other test runs at the same time."""
    return f"sleep 4321.{os.getpid()}{time.monotonic_ns()}"


@contextmanager
def forever(marker: str, command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a cluster with three pods that end by themselves only after an hour, wait until they run their commands."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert until(lambda: sum(line == marker for line in left(marker)["processes"]) == 6), left(marker)
        yield process
    finally:
        process.kill()
        process.wait(20)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_killed(number: signal.Signals, marker: str) -> None:
    """A cluster that is killed from outside takes everything with it, without a chance to do anything."""
    before = left(marker)
    with forever(marker, isolated([sys.executable, "-c", FOREVER, str(HERE), marker])) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        os.kill(process.pid if number == signal.SIGKILL else int(children[0]), number)
        assert until(lambda: left(marker) == before), left(marker)


def test_parent_killed(marker: str) -> None:
    """Nor does it outlive the process that started it."""
    before = left(marker)
    command = isolated([sys.executable, "-c", FOREVER, str(HERE), marker])
    with forever(marker, [sys.executable, "-c", f"import subprocess; subprocess.run({command!r})"]) as process:
        process.kill()
        assert until(lambda: left(marker) == before), left(marker)


def test_two_at_the_same_time() -> None:
    """Clusters share no name, address or folder."""
    case = str(HERE / "nodecases" / "bench.py"), "networking", "case_names_of_pods"
    with ThreadPoolExecutor(3) as pool:
        every = list(pool.map(lambda _: run(*case), range(3)))
    assert [each.returncode for each in every] == [0] * 3, every


def test_failing_case_is_told() -> None:
    """The runner of the cases does not pass what fails."""
    ended = run(str(HERE / "nodecases" / "bench.py"), "lifecycle", "case_that_is_not_there")
    assert ended.returncode == 1 and "has no attribute" in ended.stderr
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "from nodecases import bench, lifecycle\n"
        "lifecycle.case_bad = lambda bench: bench.run('p', 'exit 3')\n"
        "bench.main('lifecycle', 'case_bad')\n"
    )
    ended = run("-c", code)
    assert ended.returncode == 1 and "Failed" in ended.stderr
