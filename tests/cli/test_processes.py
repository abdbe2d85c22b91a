"""Worker processes end with the run however it ends; signals clean up; standard output that takes nothing is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from small import RUNTIME, Process, job, surroundings

from effort import some
from folders import put
from gitrepo import commit, needs_git

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")

LONG = "# a job that takes a while\n" + "".join(f"      - name: V{n}\n        value: '{n}'\n" for n in range(100))


@pytest.fixture(autouse=True)
def signals_are_heard() -> Iterator[None]:
    """What is ignored, as behind nohup or `&`, would be so in processes that begin here."""
    before = [signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)]
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), before, strict=True):
        signal.signal(number, handler)


@pytest.fixture
def fleet(repository: Path) -> Path:
    """A repository with so many large jobs that results do not fit into a pipe."""
    for number in range(240):
        text = job(f"fleet-{number}").replace("trainer: {}", f"trainer:\n      env:\n{LONG}")
        put(repository, f"jobs/a/fleet-{number}.yaml", text)
    return repository


def workers_of(run: subprocess.Popen[bytes]) -> list[int]:
    return [int(word) for word in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()]


def state(pid: int) -> str:
    """Return the letter for what a process does; Z for one that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def until(reached: object) -> None:
    assert callable(reached)
    for _ in range(6000):
        if reached():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


@contextmanager
def halted(*args: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """Run trainc until it has two workers that wait for it, and stop it there."""
    command = [sys.executable, "-m", "trainc", *args]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings())
    try:
        until(lambda: run.poll() is not None or len(workers_of(run)) == 2)
        assert run.poll() is None
        run.send_signal(signal.SIGSTOP)
        workers = workers_of(run)
        until(lambda: all(state(pid) == "S" for pid in workers))
        yield run, workers
    finally:
        run.kill()
        run.communicate()


@needs_proc
@pytest.mark.parametrize(
    ("number", "status"),
    some([(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)], 3),
)
def test_workers_end_with_the_run(fleet: Path, number: signal.Signals, status: int) -> None:
    with halted("render", "-j", "2") as (run, workers):
        run.send_signal(number)
        run.send_signal(signal.SIGCONT)
        out, err = run.communicate(timeout=60)  # which ends only when nobody holds the pipes
        assert run.returncode == status
        assert (out, err.strip()) == (b"", b"")
        until(lambda: all(state(pid) == "Z" for pid in workers))
    assert not (fleet / "out").exists()


@needs_proc
def test_a_killed_worker_ends_the_run(fleet: Path) -> None:
    with halted("render", "-j", "2") as (run, workers):
        os.kill(workers[0], signal.SIGKILL)  # in the middle of a result, of which the pipe holds the beginning
        run.send_signal(signal.SIGCONT)
        out, err = run.communicate(timeout=60)
        assert (run.returncode, out) == (2, b"")
        assert err == b"trainc: error: a worker process ended unexpectedly (out of time or memory?)\n"
        until(lambda: all(state(pid) == "Z" for pid in workers))
    assert not (fleet / "out").exists()


WRITES = """\
import os, signal, sys
from trainc.cli import main
real, count = os.replace, 0
def replace(*args, **more):
    global count
    count += 1
    if count == 2:
        os.kill(os.getpid(), signal.{name})
    return real(*args, **more)
os.replace = replace
sys.argv = ["trainc", "render", "-j", "1"]
main()
"""


@pytest.mark.parametrize(("name", "status"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGINT", 130)])
def test_a_signal_cleans_up(repository: Path, name: str, status: int) -> None:
    command = [sys.executable, "-c", WRITES.format(name=name)]
    done = subprocess.run(command, capture_output=True, check=False, env=surroundings())
    assert (done.returncode, done.stdout, done.stderr.strip()) == (status, b"", b"")
    left = [path.name for path in (repository / "out").rglob("*") if path.is_file()]
    assert left == ["jobset-one.yaml"], "one file is there, and nothing half done"


WITHOUT_CHILDREN = """\
import signal, sys
from trainc.cli import main
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
sys.argv = ["trainc", "validate", "--base", "missing"]
main()
"""


@needs_git
def test_a_git_that_fails_is_seen_where_the_caller_ignores_children(repository: Path) -> None:
    commit(repository)
    command = [sys.executable, "-c", WITHOUT_CHILDREN]
    done = subprocess.run(command, capture_output=True, check=False, env=surroundings())
    assert done.returncode == 2, done.stderr
    assert b"revision 'missing' not found" in done.stderr


LOADS = """\
import os, signal, sys
class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "trainc.cli.root":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
signal.signal(signal.SIGINT, signal.default_int_handler)
from trainc.cli import main
main()
"""


def test_an_interrupt_while_modules_are_loaded() -> None:
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, check=False, env=surroundings())
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


COMMANDS = [
    ("validate",),
    ("render", "--check"),
    ("build", "-q", "jobs/a/one.yaml"),
    ("explain", "TC101"),
    ("explain", "a/one"),
    ("cel", "1 + 1"),
    ("policy", "test"),
    ("image", "lock", "ghcr.io/a/b:1=sha256:" + "0" * 64),
    ("argocd", "--health"),
    ("--version",),
    ("render", "--help"),
]


@needs_full
@pytest.mark.parametrize("command", some(COMMANDS, 6), ids=" ".join)
def test_standard_output_that_takes_nothing(repository: Path, command: tuple[str, ...]) -> None:
    put(repository, "runtimes/plain.yaml", RUNTIME.replace("example.com/img:1", "example.com/img"))
    line = f"{sys.executable} -m trainc {' '.join(map(repr, command))}"
    told = []
    for where in ("> /dev/full", ">&-"):
        run = subprocess.Popen(["sh", "-c", f"{line} {where}"], stderr=subprocess.PIPE, env=surroundings())
        told.append(run)
    full, closed = ((run.communicate()[1], run.returncode) for run in told)
    assert closed == (b"trainc: error: <stdout>: Bad file descriptor\n", 2)
    assert (full[0].count(b"\n"), full[1]) == (1, 2)
    assert full[0].startswith(b"trainc: error: ")
    assert full[0].endswith(b"No space left on device\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_standard_output_that_takes_a_part(repository: Path, unbuffered: str) -> None:
    line = f"ulimit -f 8; {sys.executable} -m trainc explain > part"
    environment = {**surroundings(), "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (2, b"trainc: error: <stdout>: File too large\n")


def test_a_reader_that_has_enough(repository: Path, process: Process) -> None:
    line = f"{sys.executable} -m trainc explain | head -n 1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, env=surroundings())
    assert (done.returncode, done.stdout.count(b"\n"), done.stderr) == (0, 1, b"")
