"""The limits of processor time and memory end a command, its workers and its git, and leave everything as it was."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from small import job, surroundings

from folders import put
from gitrepo import commit, needs_git
from trainc.cli import Stopped
from trainc.cli.limits import MEMORY, PER_POLICY, SECONDS_PER_ITEM, Limits
from trainc.cli.root import trainc
from trainc.project.git import odd_folders

SLOW = f"  trainer: {{{', '.join(f'a{number}: 1' for number in range(60_000))}}}\n"
"""Fields of which each is an error: several seconds."""

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [jobset.x-k8s.io], apiVersions: [v1alpha2], operations: ["*"], resources: [jobsets]}]
  validations: [{expression: 'true'}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""

STOPPED = """\
trainc: error: stopped after 2 seconds of processor time at jobs/a/one.yaml
Hint: make the file smaller or simpler; TRAINC_CPU_SECONDS sets another limit.
"""


def run(
    *args: str, seconds: str = "1", before: Callable[[], None] | None = None, path: str = ""
) -> subprocess.CompletedProcess[str]:
    environment = surroundings(CI="", TRAINC_CPU_SECONDS=seconds, PATH=f"{path}{os.environ['PATH']}")
    command = [sys.executable, "-m", "trainc", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, preexec_fn=before)


@pytest.fixture
def slow(repository: Path) -> Path:
    put(repository, "jobs/a/one.yaml", job("one", extra=SLOW))
    return repository


@pytest.mark.parametrize("args", [("validate", "-j", "1"), ("render", "-j", "2"), ("report",), ("fix", "--diff")])
def test_a_command_ends_at_the_limit(slow: Path, args: tuple[str, ...]) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", STOPPED)
    assert {path.name for path in slow.iterdir()} == {"jobs", "runtimes", "trainc.yaml"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count less as data")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_command_ends_at_the_limit_of_memory(repository: Path, workers: str) -> None:
    """Each position is kept with its path: a kilobyte for two bytes of text."""
    deep = f'{{"a": {"[" * 97}1{",1" * 400_000}{"]" * 97}}}'
    put(repository, "jobs/a/deep.json", deep)
    code = "import trainc.cli.limits as limits; limits.MEMORY = 300 << 20; import trainc.cli; trainc.cli.main()"
    command = [sys.executable, "-c", code, "validate", "-j", workers]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings(CI=""))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "trainc: error: Cannot allocate memory\n"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count less as data")
def test_the_message_is_written_where_no_memory_is_left(repository: Path) -> None:
    code = "import trainc.cli.limits as limits; limits.MEMORY = 1 << 20; import trainc.cli; trainc.cli.main()"
    command = [sys.executable, "-c", code, "validate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings(CI=""))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "trainc: error: Cannot allocate memory\n")


@needs_git
def test_git_has_the_limit_too(repository: Path, tmp_path: Path) -> None:
    commit(repository)
    put(tmp_path, "bin/git", "#!/bin/sh\nwhile :; do :; done\n").chmod(0o755)
    done = run("validate", "--base", "HEAD", path=f"{tmp_path / 'bin'}:")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "trainc: error: git: ended by signal 24 (out of time or memory?)\n"


@needs_git
def test_a_check_fails_without_the_answer_of_git(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders of HEAD that are not stored as git writes them would be no error."""
    commit(repository)
    script = f'#!/bin/sh\n[ "$1" != cat-file ] || kill -XCPU $$\nexec {shutil.which("git")} "$@"\n'
    put(tmp_path, "bin/git", script).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(ChildProcessError, match="ended by signal"):
        list(odd_folders(repository))


GOES_ON = """
import trainc.cli, trainc.cli.limits as limits, trainc.cli.validate as validate
limits.SECONDS_TO_END = 1
class Finalized:
    def __del__(self):
        while True:
            pass
validate.load_config = lambda root: [Finalized() and None for _ in range(2)]
trainc.cli.main()
"""


def test_the_limit_holds_in_a_finalizer(repository: Path) -> None:
    """Python prints its exception, and goes on."""
    environment = surroundings(TRAINC_CPU_SECONDS="1")
    done = subprocess.run(
        [sys.executable, "-c", GOES_ON, "validate"], capture_output=True, check=False, env=environment
    )
    assert (done.returncode, done.stdout) == (-signal.SIGPROF, b"")
    assert done.stderr.startswith(b"trainc: error: stopped after 1 seconds of processor time")


IN_C = """
import itertools, trainc.cli, trainc.cli.limits as limits, trainc.pipeline.job as job
limits.SECONDS_TO_END = 1
job._compile = lambda context, document: sum(itertools.repeat(0, 1 << 31))
trainc.cli.main()
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_limit_holds_in_a_call_of_c_code(workers: str, repository: Path) -> None:
    """Python handles no signal before the call returns."""
    environment = surroundings(TRAINC_CPU_SECONDS="1")
    command = [sys.executable, "-c", IN_C, "validate", "-j", workers, "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    lost = "trainc: error: a worker process ended unexpectedly (out of time or memory?)\n"
    status, stderr = (-signal.SIGPROF, "") if workers == "1" else (2, lost)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", stderr)


@pytest.mark.parametrize("error", [OSError, RuntimeError])
def test_the_limit_holds_where_no_message_can_be_written(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who expects an OSError of a file would go on: the stream may be closed, or be written to at the moment."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("trainc.cli.limits.echo_line", fail)
    limit = Limits()
    limit.seconds = 2
    try:
        with pytest.raises(Stopped):
            limit._stop(signal.SIGXCPU, None)
    finally:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def test_the_limit_holds_where_the_stack_is_full() -> None:
    """Who expects that of a deep value would go on without a limit."""
    ended, limit = list[str](), Limits()
    limit.seconds = 2

    def deeper() -> None:
        try:
            deeper()
        except RecursionError:  # the stack is full here, and less so in each frame around
            try:
                limit._stop(signal.SIGXCPU, None)
            except Stopped:
                ended.append("stopped")
                raise
            except RecursionError:
                ended.append("called again")
                raise

    try:
        with pytest.raises(Stopped):
            deeper()
    finally:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    assert ended[-1] == "stopped"


@pytest.mark.parametrize("seconds, before", [("0", resource.RLIM_INFINITY), ("1", 900)])
def test_no_limit(seconds: str, before: int, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither if nobody wants one, nor in place of another."""
    set_to: list[object] = []
    monkeypatch.setenv("TRAINC_CPU_SECONDS", seconds)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (before, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda *limits: set_to.append(limits))
    monkeypatch.setattr("signal.setitimer", lambda *timer: set_to.append(timer))
    assert CliRunner().invoke(trainc, ["validate"], obj=Limits()).exit_code == 0
    assert not set_to


@pytest.mark.parametrize("seconds", ["", "x", "-1", "1.5", "\u0663", "9" * 10])
def test_a_wrong_limit(repository: Path, seconds: str) -> None:
    done = run("validate", seconds=seconds)
    assert (done.returncode, done.stdout) == (2, "")
    shown = f"TRAINC_CPU_SECONDS is a number of seconds, such as 60, or 0 for no limit: {seconds!r}"
    assert done.stderr.splitlines()[-1] == f"Error: {shown}"


def test_files_jobs_and_policies_add_to_the_limit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs and a runtime are read, and three jobs compiled; then also a policy, which is tried on each."""
    set_to: list[int] = []
    memory: list[int] = []
    lists = {resource.RLIMIT_CPU: set_to, resource.RLIMIT_DATA: memory}
    monkeypatch.setenv("TRAINC_CPU_SECONDS", "1000")
    monkeypatch.setattr("trainc.cli.limits.SECONDS_PER_ITEM", 100)
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: lists[which].append(limits[0]))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)
    assert CliRunner().invoke(trainc, ["render", "--no-cache"], obj=Limits()).exit_code == 0
    assert set_to == [1000, 1400, 1700]
    assert [each - MEMORY for each in memory] == [0, 4 << 18, 7 << 18]
    assert CliRunner().invoke(trainc, ["render", "--no-cache"]).exit_code == 0
    assert len(set_to) == 3, "without the object of main() there is none"
    put(repository, "policies/p.yaml", POLICY)
    assert CliRunner().invoke(trainc, ["render", "--no-cache"], obj=Limits()).exit_code == 0
    assert set_to[3:] == [1000, 1500, 1860]
    assert [each - MEMORY for each in memory[3:]] == [0, 5 << 18, 8 << 18], "a policy takes no memory for each job"
    assert (SECONDS_PER_ITEM, PER_POLICY) == (0.05, 0.2)


@needs_git
def test_files_of_revisions_add_to_the_limit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change may remove thousands of jobs, whose JobSets are compared with those that stay."""
    set_to: list[int] = []
    monkeypatch.setenv("TRAINC_CPU_SECONDS", "1000")
    assert CliRunner().invoke(trainc, ["render", "--no-cache"]).exit_code == 0
    commit(repository)
    shutil.rmtree(repository / "jobs")
    monkeypatch.setattr("trainc.cli.limits.SECONDS_PER_ITEM", 100)
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append(limits[0]))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)
    command = ["validate", "--base", "HEAD", "--policies-from", "HEAD"]
    assert CliRunner().invoke(trainc, command, obj=Limits()).exit_code == 0
    # As much again for the revision, which is read once, with four inputs and three JobSets; then the runtime.
    assert [seconds for seconds in set_to if seconds < MEMORY] == [1000, 2700, 2800, 2800]
    assert [each // MEMORY for each in set_to if each >= MEMORY] == [1, 2, 2, 2]
    set_to.clear()
    command[-1] = "main"
    assert CliRunner().invoke(trainc, command, obj=Limits()).exit_code == 0
    assert [seconds for seconds in set_to if seconds < MEMORY] == [1000, 2700, 4400, 4500, 4500]
    set_to.clear()
    assert CliRunner().invoke(trainc, ["diff", "--head", "main"], obj=Limits()).exit_code == 0
    assert [seconds for seconds in set_to if seconds < MEMORY] == [1000, 2700, 4400]


@needs_git
def test_policies_of_the_base_and_on_pods_add_to_the_limit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each of three jobs: a policy of the base that differs, and policies that are tried on pods, too."""
    set_to: list[int] = []
    put(repository, "policies/p.yaml", POLICY)
    commit(repository)
    monkeypatch.setenv("TRAINC_CPU_SECONDS", "1000")
    monkeypatch.setattr("trainc.cli.limits.SECONDS_PER_ITEM", 100)
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append(limits[0]))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)

    def compiling(*args: str) -> int:
        set_to.clear()
        assert CliRunner().invoke(trainc, ["validate", *args], obj=Limits()).exit_code == 0
        *_, before, after = (each for each in set_to if each < MEMORY)
        return after - before

    base = ("--base", "HEAD", "--policies-from", "HEAD")
    assert compiling(*base) == 360
    put(repository, "policies/p.yaml", POLICY.replace("'true'", "'1 == 1'"))
    assert compiling(*base) == 420
    assert compiling() == 360
    put(repository, "trainc.yaml", "policies: {pods: true}\n")
    assert compiling() == 480


def test_jobs_add_to_the_limit_if_only_changed_files_are_rendered(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few files may have thousands of jobs."""
    set_to: list[int] = []
    monkeypatch.setenv("TRAINC_CACHE_DIR", os.fspath(tmp_path / "cache"))
    monkeypatch.setenv("TRAINC_CPU_SECONDS", "1000")
    put(repository, "jobs/a/one.yaml", job("one"))
    assert CliRunner().invoke(trainc, ["render"]).exit_code == 0
    put(repository, "jobs/a/one.yaml", job("one", extra="  suspend: true\n"))
    monkeypatch.setattr("trainc.cli.limits.SECONDS_PER_ITEM", 100)
    monkeypatch.setattr(resource, "setrlimit", lambda which, limits: set_to.append(limits[0]))
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("signal.setitimer", lambda *_: None)
    monkeypatch.setattr("trainc.project.planning.plan_request", None)
    done = CliRunner().invoke(trainc, ["render"], obj=Limits())
    assert "1 changed" in done.output, done.output
    assert [seconds for seconds in set_to if seconds < MEMORY] == [1000, 1100]
