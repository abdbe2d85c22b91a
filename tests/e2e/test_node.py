"""The node of the simulator: every case of nodecases/ in a cluster of its own, and that nothing is left of any."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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
pods = [bench.start(f"p{i}", "trap '' TERM; sleep 4321 & sleep 4321") for i in range(3)]
bench.until(lambda: all(pod.phase == "Running" for pod in pods), "start")
print("up", flush=True)
pods[0].wait(600)
"""


@pytest.fixture(scope="module", autouse=True)
def possible() -> None:
    why = reason()
    if why is not None:
        pytest.skip(f"no pods here: {why}")


def left() -> dict[str, int]:
    """Count what a cluster could leave on the machine."""
    processes = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    links = {link for link in os.listdir("/sys/class/net") if link.startswith(("veth", "cni"))}  # noqa: PTH208
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return {
        "commands": processes.count("sleep 4321"),
        "links": len(links),
        "mounts": sum(line.startswith(("simulator ", "overlay ", "shm ")) for line in mounts),
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
    assert len(CASES) > 40
    assert {module for module, _ in CASES} == {"containers", "lifecycle", "networking", "storage"}


@pytest.mark.parametrize(("module", "case"), CASES, ids=[f"{module}-{case[5:]}" for module, case in CASES])
def test_case(module: str, case: str) -> None:
    ended = run(str(HERE / "nodecases" / "bench.py"), module, case)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_killed(number: signal.Signals) -> None:
    """A cluster that is killed from outside takes everything with it, without a chance to do anything."""
    before = left()
    with subprocess.Popen(
        isolated([sys.executable, "-c", FOREVER, str(HERE)]), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        assert left() != before
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8").split()
        os.kill(process.pid if number == signal.SIGKILL else int(children[0]), number)
        process.wait(20)
    assert until(lambda: left() == before), left()


def test_parent_killed() -> None:
    """Nor does it outlive the process that started it."""
    before = left()
    start = f"import subprocess, sys; subprocess.run({isolated([sys.executable, '-c', FOREVER, str(HERE)])!r})"
    with subprocess.Popen([sys.executable, "-c", start], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        process.kill()
        process.wait(20)
    assert until(lambda: left() == before), left()


def test_two_at_the_same_time() -> None:
    """Clusters share no name, address or folder."""
    case = str(HERE / "nodecases" / "bench.py"), "networking", "case_names_of_pods"
    both = [
        subprocess.Popen(isolated([sys.executable, *case]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(3)
    ]
    for process in both:
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, output.decode()


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
