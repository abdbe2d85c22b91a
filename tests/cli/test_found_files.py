"""Files that trainc finds are read only if they are regular; links among them are not followed."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from small import Process, Run, job, surroundings

from folders import put, tree
from gitrepo import commit, needs_git

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes and links as Unix has them")

SECRET = "ghs_tokenOfAnotherTenant"


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


@needs_git
@pytest.mark.parametrize("name", [".gitattributes", "out/prod/.gitattributes"])
def test_a_pipe_in_the_place_of_attributes_is_not_read_by_git(repository: Path, known: Run, name: str) -> None:
    assert known("render").exit_code == 0
    commit(repository)
    os.mkfifo(repository / name)
    for command in (("render", "--check", "--no-cache"), ("validate",)):
        done = known(*command)
        assert done.exit_code == 1
        assert f"{name}:1:1: error[TC011]: not a regular file, and git would read it\n" in done.output


def test_a_socket_is_not_read(repository: Path, known: Run) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("jobs/a/s.yaml")
        done = known("validate")
    assert (done.exit_code, "jobs/a/s.yaml:1:1: error[TC011]" in done.output) == (1, True)


def test_output_behind_a_link_is_not_up_to_date(repository: Path, known: Run) -> None:
    assert known("render").exit_code == 0
    (repository / "out/prod").rename(repository / "moved")
    (repository / "out/prod").symlink_to("../moved")
    for command in (("render",), ("render", "--check"), ("render", "--no-cache")):
        done = known(*command)
        assert done.exit_code == 1
        assert "out/prod:1:1: error[TC901]: a symbolic link in place of a folder\n" in done.output
        assert "1 error\n" in done.output


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


def test_output_of_a_folder_at_which_one_cannot_look_stays(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a mount whose server is gone; Path.is_dir of Python 3.14 says that there is none."""
    put(repository, "trainc.yaml", "environments: {prod: {namespaces: {a: c, b: c}}}\n")
    assert run("render").exit_code == 0
    before, where, stat = tree(repository / "out"), os.fspath(repository / "jobs/b"), os.stat

    def failing(path: str | Path, **options: Any) -> os.stat_result:
        if str(path) == where:
            raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN), where)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", failing)
    monkeypatch.setattr(Path, "is_dir", os.path.isdir)
    assert run("render", "jobs/a").exit_code == 2
    assert tree(repository / "out") == before


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


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "link to a device", "link to /proc", "loop"])
@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("jobs/a/new.yaml", ("import", "--write", "old.yaml")),
        ("images.lock.yaml", ("image", "lock", f"example.com/a:1=sha256:{'0' * 64}")),
        ("images/a/image.yaml", ("image", "build", "a")),
        ("images/a/packages.lock", ("image", "build", "a")),
        ("policies/tests/t.yaml", ("policy", "test")),
        ("crds/c.yaml", ("validate", "--crd-dir", "crds")),
        ("Makefile", ("init", "--yes", ".")),
        ("jobs/a/one.yaml", ("fix",)),
        ("jobs/a/one.yaml", ("rerun", "a/one")),
        ("jobs/a/one.yaml", ("explain", "a/one")),
        ("jobs/a/one.yaml", ("report", "-o", "page.html")),
        ("out/prod/a/one/jobset-one.yaml", ("diff",)),
        ("layout/index.json", ("image", "verify", "layout")),
    ],
)
def test_no_command_waits_for_a_file(
    repository: Path, run: Run, name: str, command: tuple[str, ...], kind: str
) -> None:
    put(repository, "images/a/image.yaml", "image: example.com/a:1\n")
    put(repository, "layout/oci-layout", '{"imageLayoutVersion": "1.0.0"}')
    path = repository / name
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as other:
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "socket":
            other.bind(os.path.relpath(path))
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to(
                {"link to a device": "/dev/zero", "link to /proc": "/proc/self/environ"}.get(kind, path.name)
            )
        signal.alarm(60)  # which ends pytest
        done = run(*command)
        signal.alarm(0)
    assert done.exit_code in (0, 1, 2, 3), done.output
    assert "TC902" not in done.output
    assert "PATH=" not in done.output


@pytest.mark.parametrize("command", ["build", "validate", "render", "fix"])
def test_a_path_through_a_link_to_the_project_names_the_same_job(repository: Path, run: Run, command: str) -> None:
    link = repository.parent / "link"
    link.symlink_to(repository)
    put(repository, "jobs/a/one.yaml", job("one").replace("plain", "missing"))
    results = [run(command, path) for path in ("jobs/a/one.yaml", str(link / "jobs/a/one.yaml"))]
    assert results[0].output == results[1].output
    assert results[0].exit_code == results[1].exit_code
    assert "jobs/a/one.yaml:" in results[0].output
