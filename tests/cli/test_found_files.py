"""Files that trainc finds are read only if they are regular; links among them are followed only within the project."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from small import Process, Run, job, put, surroundings

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and links as Unix has them")

SECRET = "ghs_tokenOfAnotherTenant"
POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: any}
"""
OUTSIDE = "error[TC011]: symbolic link that leads out of the project, not followed"


@pytest.fixture
def known(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run trainc with a cache."""
    monkeypatch.setenv("TRAINC_CACHE_DIR", os.fspath(tmp_path / "cache"))
    return run


@pytest.mark.parametrize(
    "name",
    ["trainc.yaml", "images.lock.yaml", "policies/p.yaml", "runtimes/r.yaml", "jobs/a/pipe.yaml"],
)
@pytest.mark.parametrize("command", [("render",), ("validate",), ("build", "jobs/a/one.yaml")])
def test_a_pipe_in_the_project_is_not_read(repository: Path, known: Run, name: str, command: tuple[str, ...]) -> None:
    (repository / name).unlink(missing_ok=True)
    (repository / name).parent.mkdir(exist_ok=True)
    os.mkfifo(repository / name)
    if command[0] == "build" and name.startswith("jobs/"):
        pytest.skip("not a file of this command")
    done = known(*command)
    assert done.exit_code == 1
    assert f"{name}:1:1: error[TC011]: not a regular file\n" in done.output
    assert not (repository / "out").exists()


def test_a_socket_is_not_read(repository: Path, known: Run) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("jobs/a/s.yaml")
        done = known("validate")
    assert (done.exit_code, "jobs/a/s.yaml:1:1: error[TC011]" in done.output) == (1, True)


def test_a_device_behind_a_link_is_not_read(repository: Path, known: Run) -> None:
    (repository / "jobs/a/zero.yaml").symlink_to("/dev/zero")
    done = known("validate")
    assert (done.exit_code, OUTSIDE in done.output) == (1, True)


def test_a_pipe_in_the_place_of_output_is_not_read(repository: Path, known: Run) -> None:
    assert known("render").exit_code == 0
    made = repository / "out/prod/a/one/jobset-one.yaml"
    made.unlink()
    os.mkfifo(made)
    for command in (("render",), ("render", "--check"), ("render", "--no-cache")):
        done = known(*command)
        assert done.exit_code == 1
        assert "error[TC901]: a special file is in the way" in done.output
    assert made.is_fifo()


@pytest.mark.parametrize("size", [None, 8 << 30])
def test_a_pipe_or_a_huge_file_in_the_cache_counts_as_absent(
    repository: Path, known: Run, tmp_path: Path, size: int | None
) -> None:
    assert known("render").exit_code == 0
    first = known("build", "jobs/a/one.yaml")
    put(repository, "jobs/a/one.yaml", job("one").replace("{}", "{image: example.com/other:1}"))
    (jobs,) = (tmp_path / "cache").rglob("*.jobs")
    for path in (jobs.with_suffix(suffix) for suffix in (".all", ".jobs", ".more", ".results")):
        if size is None:
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
            os.truncate(path, size)
    assert known("validate").exit_code == 0
    assert known("render").exit_code == 0
    assert known("build", "jobs/a/two.yaml").exit_code == 0
    assert first.exit_code == 0


def test_a_pipe_that_is_named_is_read(repository: Path, process: Process, tmp_path: Path) -> None:
    expected = process("build", "jobs/a/one.yaml").stdout
    text = (repository / "jobs/a/one.yaml").read_bytes().replace(b"name: one", b"name: one, namespace: a")
    assert process("build", "/dev/stdin", stdin=text).stdout == expected
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    assert process("build", os.fspath(pipe)).stdout == expected
    writer.join()
    shell = f"exec {sys.executable} -m trainc build <(cat /dev/stdin)"
    if bash := shutil.which("bash"):
        done = subprocess.run([bash, "-c", shell], input=text, capture_output=True, check=True, env=surroundings())
        assert done.stdout == expected


LINKS = ["trainc.yaml", "images.lock.yaml", "policies/p.yaml", "runtimes/r.yaml", "jobs/a/l.yaml", "jobs/l", "policies"]


@pytest.mark.parametrize("name", LINKS)
def test_a_link_out_of_the_project_tells_nothing_of_its_target(
    repository: Path, known: Run, tmp_path: Path, name: str
) -> None:
    outside = put(tmp_path, "outside/credentials.yaml", f"machine: {SECRET}\npassword {SECRET}\n")
    place = repository / name
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(outside if name.endswith(".yaml") else outside.parent)
    commands = [("render",), ("validate",), ("validate", "--format", "json"), ("build", name)]
    for command in commands:
        done = known(*command)
        assert done.exit_code == 1, command
        assert SECRET not in done.output
        assert "credentials" not in done.output
        assert "leads out of the project" in done.output
    assert not (repository / "out").exists()


def test_git_s_own_folder_counts_as_outside(repository: Path, known: Run) -> None:
    put(repository, ".git/config", f"[http]\n\textraheader = {SECRET}\n")
    (repository / "jobs/a/l.yaml").symlink_to("../../.git/config")
    done = known("validate")
    assert (done.exit_code, OUTSIDE in done.output, SECRET in done.output) == (1, True, False)


def test_links_within_the_project_are_followed(repository: Path, known: Run) -> None:
    put(repository, "shared/config.yaml", (repository / "trainc.yaml").read_text())
    (repository / "trainc.yaml").unlink()
    (repository / "trainc.yaml").symlink_to("shared/config.yaml")
    put(repository, "shared/policies/p.yaml", POLICY)
    (repository / "policies").symlink_to("shared/policies")
    (repository / "jobs/b/linked.yaml").symlink_to("../a/two.yaml")
    (repository / "jobs/c").symlink_to("a")
    for _ in range(2):
        assert known("render").exit_code in (0, 1)
        done = known("validate")
        assert "policies/p.yaml:3:" in done.output
        assert "TC011" not in done.output
    (repository / "policies").unlink()
    assert known("render").exit_code == 0
    made = sorted(path.parent.name + "/" + path.name for path in (repository / "out").rglob("jobset-*"))
    assert made == sorted(f"{name}/jobset-{name}.yaml" for name in ("one", "two", "three", "two", "one", "two"))
    put(repository, "jobs/a/two.yaml", job("two").replace("{}", "{image: example.com/other:1}"))
    assert known("render").exit_code == 0
    for namespace in "abc":
        assert "example.com/other:1" in (repository / f"out/prod/{namespace}/two/jobset-two.yaml").read_text()


def test_what_is_named_outside_is_trusted(repository: Path, known: Run, tmp_path: Path) -> None:
    real = put(tmp_path, "elsewhere/real.yaml", job("real"))
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted/job.yaml").symlink_to(real)
    for path in ("mounted", "mounted/job.yaml"):
        done = known("build", os.fspath(tmp_path / path))
        assert (done.exit_code, "name: real" in done.stdout) == (0, True), done.output


@pytest.mark.parametrize("command", [("render",), ("validate",), ("build", "jobs")])
def test_a_loop_of_links_is_one_finding(repository: Path, known: Run, command: tuple[str, ...]) -> None:
    (repository / "jobs/a/again").symlink_to("..")
    (repository / "jobs/b/self").symlink_to("self")
    (repository / "jobs/b/x.yaml").symlink_to("y.yaml")
    (repository / "jobs/b/y.yaml").symlink_to("x.yaml")
    done = known(*command)
    assert done.exit_code == 1
    places = [line.partition(":")[0] for line in done.output.splitlines() if "loop of symbolic links" in line]
    assert places == ["jobs/a/again", "jobs/b/self", "jobs/b/x.yaml"]


def test_folders_behind_links_do_not_multiply(repository: Path, known: Run) -> None:
    for level in range(16):
        folder = repository / f"tree/{level}"
        folder.mkdir(parents=True)
        for name in "lr":
            (folder / name).symlink_to(f"../{level + 1}")
    (repository / "tree/16").mkdir()
    done = known("build", "tree")
    assert (done.exit_code, done.output.count("folders behind symbolic links")) == (1, 1)


def unprivileged(*args: str, cache: str) -> subprocess.CompletedProcess[bytes]:
    """Run trainc with no right to read what its mode forbids, which root has."""
    command = [sys.executable, "-m", "trainc", *args]
    if os.geteuid() == 0:
        if (setpriv := shutil.which("setpriv")) is None:
            pytest.skip("root may read everything")
        command = [setpriv, "--bounding-set", "-dac_override,-dac_read_search", *command]
    return subprocess.run(command, capture_output=True, check=False, env=surroundings(TRAINC_CACHE_DIR=cache))


def test_an_unreadable_folder_is_the_same_with_and_without_the_cache(
    repository: Path, known: Run, tmp_path: Path
) -> None:
    assert known("render").exit_code == 0
    (repository / "jobs/b").chmod(0)
    try:
        for place in (os.fspath(tmp_path / "cache"), ""):
            done = unprivileged("render", cache=place)
            assert done.stdout == b"jobs/b:1:1: error[TC011]: cannot be read: Permission denied\n"
            assert (done.returncode, done.stderr) == (1, b"1 error\n")
    finally:
        (repository / "jobs/b").chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_configuration_of_somebody_else_above_is_not_used(
    repository: Path, known: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repository, "trainc.yaml", f"environments:\n  {SECRET}: 3\n")
    os.chown("trainc.yaml", 12345, -1)
    inner = repository / "inner"
    put(inner, "jobs/a/one.yaml", job("one"))
    shutil.copytree(repository / "runtimes", inner / "runtimes")
    monkeypatch.chdir(inner)
    done = known("validate")
    assert done.exit_code == 0
    assert SECRET not in done.output
    assert f"trainc: warning: {repository}/trainc.yaml is ignored" in done.output
    assert known("validate", "--root", "..").exit_code == 1
    os.chown(inner, 12345, -1)
    assert known("validate").exit_code == 1
    os.chown(inner, 0, -1)
    monkeypatch.chdir(repository)
    assert known("validate").exit_code == 1


def test_the_root_can_be_named(repository: Path, known: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = os.fspath(repository)
    assert known("render", "--root", home).exit_code == 0
    assert (repository / "out/prod/a/one/jobset-one.yaml").exists()
    assert known("render", "--check", "--root", home).exit_code == 0
    assert known("validate", "--root", home).stderr == "3 TrainJobs are valid\n"
    assert known("explain", "a/one", "--root", home).exit_code == 0
    assert known("build", "--root", home, f"{home}/jobs/a/one.yaml").exit_code == 0
    assert known("build", f"{home}/jobs/a/one.yaml").exit_code == 1
    assert known("render", "--root", f"{home}/none").exit_code == 2
