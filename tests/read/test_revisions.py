from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gitrepo import commit, git, needs_git
from trainc.project.files import Kind
from trainc.project.git import RevisionError, index_of, reader
from trainc.project.revisions import read_output, read_revision
from trainc.project.write import OWNED

pytestmark = needs_git
GENERATED = OWNED + b"jobs/a/x.yaml\nkind: JobSet\n"


def put(root: Path, name: str, data: bytes = b"kind: X\n") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def read(root: Path, revision: str = "HEAD") -> dict[str, bytes]:
    found = read_revision(root, revision)
    sources = (*found.sources, *(file.source() for file in found.output))
    return {source.name: bytes(source.text) for source in sources}  # type: ignore[arg-type]


def refusal(root: Path, revision: str) -> tuple[str, str]:
    with pytest.raises(RevisionError) as caught:
        read_revision(root, revision)
    return caught.value.message, caught.value.hint


def test_what_is_read(tmp_path: Path) -> None:
    wanted = {
        "jobs/a/x.yaml": b"",
        "jobs/a/y.JSON": b"{}",
        "runtimes/r.yml": b"\xff\0\n",
        "runtimes/f/r.yaml": b"no newline",
        "out/prod/a/x/jobset-x.yaml": GENERATED,
    }
    for name, data in wanted.items():
        put(tmp_path, name, data)
    for name in ("trainc.yaml", "jobs/x.yaml", "jobs/a/b/x.yaml", "jobs/a/.x.yaml", "jobs/.a/x.yaml", "jobs/a/x.txt"):
        put(tmp_path, name)
    put(tmp_path, "out/prod/a/foreign.yaml")
    for name in ("out/prod/a/x/foreign.yaml", "runtimes/run.yaml"):
        wanted[name] = put(tmp_path, name).read_bytes()
    (tmp_path / "runtimes/run.yaml").chmod(0o755)
    commit(tmp_path)
    assert read(tmp_path) == wanted
    found = read_revision(tmp_path, "HEAD")
    assert [source.name for source in found.sources] == sorted(source.name for source in found.sources)


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ([], []),
        (["stores"], ["stores/a.yaml", "stores/deep/down/b.json"]),
        (["stores/deep", "no/such"], ["stores/deep/down/b.json"]),
        (["stores/a.yaml"], ["stores/a.yaml"]),
        (["stores/.hidden"], ["stores/.hidden/c.yaml"]),
        (["."], ["ci.yml", "stores/a.yaml", "stores/deep/down/b.json"]),
    ],
)
def test_what_else_is_asked_for(tmp_path: Path, given: list[str], more: list[str]) -> None:
    names = ("jobs/a/x.yaml", "stores/a.yaml", "stores/deep/down/b.json", "stores/.hidden/c.yaml", "stores/a.txt")
    for name in (*names, "storesx/a.txt", "ci.yml", "trainc.yaml", "out/x.yaml", "policies/tests/t.yaml"):
        put(tmp_path, name)
    commit(tmp_path)
    found = [source.name for source in read_revision(tmp_path, "HEAD", given).sources]
    assert found == sorted(["jobs/a/x.yaml", *more])


def test_revisions(tmp_path: Path) -> None:
    job = put(tmp_path, "jobs/a/x.yaml", b"old")
    first = commit(tmp_path)
    git(tmp_path, "tag", "-a", "v1", "-m", "a tag")
    job.write_bytes(b"new")
    commit(tmp_path)
    git(tmp_path, "update-ref", "refs/remotes/origin/main", first)
    job.write_bytes(b"not committed")
    for revision, text in {
        "HEAD": b"new",
        "main": b"new",
        "HEAD~1": b"old",
        "@^": b"old",
        "v1": b"old",
        "origin/main": b"old",
        first: b"old",
        first[:8]: b"old",
    }.items():
        assert read(tmp_path, revision) == {"jobs/a/x.yaml": text}
        assert read_revision(tmp_path, revision).name == revision
    assert job.read_bytes() == b"not committed"


def test_a_folder_of_a_larger_repository(tmp_path: Path) -> None:
    put(tmp_path, "jobs/a/other.yaml")
    put(tmp_path, "training/jobs/a/x.yaml")
    commit(tmp_path)
    assert list(read(tmp_path / "training")) == ["jobs/a/x.yaml"]
    (tmp_path / "later").mkdir()
    assert read(tmp_path / "later") == {}


@pytest.mark.parametrize(
    "name", ["sp ace.yaml", "a\nb.yaml", 'q"\\.yaml', "-v.yaml", "ünï.yaml", "*.yaml", ":(top)x.yaml"]
)
def test_odd_names(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"jobs/a/{name}", b"text")
    commit(tmp_path)
    assert read(tmp_path) == {f"jobs/a/{name}": b"text"}


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    put(tmp_path, os.fsdecode(b"jobs/a/\xff.yaml"))
    commit(tmp_path)
    assert list(read(tmp_path)) == [os.fsdecode(b"jobs/a/\xff.yaml")], "as in a working tree"


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainc.project.revisions.LIMIT", 4)
    put(tmp_path, "jobs/a/large.yaml", b"12345")
    put(tmp_path, "jobs/a/small.yaml", b"1234")
    commit(tmp_path)
    assert list(read(tmp_path)) == ["jobs/a/small.yaml"]


def test_nothing_there(tmp_path: Path) -> None:
    put(tmp_path, "README.md")
    commit(tmp_path)
    assert read(tmp_path) == {}


def test_links_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path, "jobs/b/x.yaml")
    for name, target in (("jobs/a", "b"), ("jobs/b/y.yaml", "x.yaml"), ("policies", "jobs/b"), ("out", "jobs")):
        (tmp_path / name).symlink_to(target)
    commit(tmp_path)
    assert set(read(tmp_path)) == {"jobs/b/x.yaml"}
    assert read_output(tmp_path, "HEAD", pytest.fail) == ({}, {"out": Kind.LINK})


def test_files_that_look_like_a_repository_are_none(tmp_path: Path) -> None:
    put(tmp_path, "fake/jobs/a/x.yaml", b"fake")
    commit(tmp_path / "fake")
    (tmp_path / "fake/.git").rename(tmp_path / "hidden")
    put(tmp_path, "training/jobs/a/x.yaml", b"true")
    commit(tmp_path)
    for name in ("HEAD", "objects", "refs"):
        (tmp_path / "hidden" / name).rename(tmp_path / "training" / name)
    put(tmp_path, "training/config", b"[core]\n\tworktree = ..\n")
    assert read(tmp_path / "training") == {"jobs/a/x.yaml": b"true"}


@pytest.mark.parametrize("revision", ["", "-p", "--all", "^main", "a\0b", "a\nb"])
def test_what_is_no_revision(tmp_path: Path, revision: str) -> None:
    commit(tmp_path)
    assert refusal(tmp_path, revision) == (f"{revision!r} is not a revision", "")


@pytest.mark.parametrize("revision", ["none", "HEAD~5", "HEAD:jobs", "HEAD^{tree}", "main..main", ":/never", "0" * 40])
def test_an_unknown_revision(tmp_path: Path, revision: str) -> None:
    put(tmp_path, "jobs/a/x.yaml")
    commit(tmp_path)
    message, hint = refusal(tmp_path, revision)
    assert message == f"revision {revision!r} not found"
    assert hint == "pass a branch, a tag or a commit that git rev-parse --verify accepts"


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert refusal(tmp_path, "HEAD") == (
        "revision 'HEAD' not found",
        "the current branch has no commit yet: commit first",
    )


def test_a_branch_that_was_not_fetched(tmp_path: Path) -> None:
    commit(tmp_path)
    git(tmp_path, "remote", "add", "origin", "nowhere")
    assert refusal(tmp_path, "origin/main")[1] == "fetch it first: git fetch origin main"


def test_a_shallow_clone(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    put(origin, "jobs/a/x.yaml")
    commit(origin)
    commit(origin)
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), "clone")
    assert list(read(tmp_path / "clone")) == ["jobs/a/x.yaml"]
    message, hint = refusal(tmp_path / "clone", "HEAD~1")
    assert message == "revision 'HEAD~1' not found"
    assert hint.startswith("this clone is shallow: fetch the whole history (git fetch --unshallow; fetch-depth: 0")


def test_a_partial_clone_asks_no_network(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    job = put(origin, "jobs/a/x.yaml", b"old")
    commit(origin)
    job.write_bytes(b"new")
    commit(origin)
    git(origin, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", origin.as_uri(), "clone")
    origin.rename(tmp_path / "gone")
    assert read(tmp_path / "clone") == {"jobs/a/x.yaml": b"new"}
    message, hint = refusal(tmp_path / "clone", "HEAD~1")
    assert "warning" not in message
    assert hint == "fetch the content of the revision first: this clone is partial, or damaged"


def test_no_repository(tmp_path: Path) -> None:
    message, hint = refusal(tmp_path, "main")
    assert message.startswith("no git repository here: not a git repository")
    assert hint == "run trainc where the repository is checked out"


def test_a_repository_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    message, hint = refusal(tmp_path, "HEAD")
    assert message.startswith("no git repository here: detected dubious ownership in repository at")
    assert hint == "if you trust its owner: git config --global --add safe.directory FOLDER"


def test_a_bare_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    assert refusal(tmp_path / "bare", "main")[0].startswith("no git repository here")


def test_a_git_that_prints_other_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "bin/git", b"#!/bin/sh\nprintf '\\377'\n").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with pytest.raises(RevisionError, match="no git repository here"):
        read_revision(tmp_path, "HEAD")


def test_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal(tmp_path, "main")[0] == "git not found on PATH"


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE"])
def test_variables_of_a_hook_in_another_repository_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("hook", "own"):
        put(tmp_path / name, "jobs/a/x.yaml", name.encode())
        put(tmp_path / name, f"out/{name}", b"")
        commit(tmp_path / name)
    place = {"GIT_WORK_TREE": tmp_path, "GIT_INDEX_FILE": tmp_path / "hook/.git/index"}
    monkeypatch.setenv(variable, str(place.get(variable, tmp_path / "hook/.git")))
    assert read(tmp_path / "own") == {"jobs/a/x.yaml": b"own"}
    assert index_of(tmp_path / "own", "out") == {"out/own": Kind.FILE}


@pytest.mark.parametrize("folder", [":x", ":(top)x", "[x]", "*"])
@pytest.mark.parametrize("variable", ["GIT_ICASE_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS"])
def test_a_folder_that_looks_like_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, variable: str
) -> None:
    put(tmp_path / folder, "jobs/a/x.yaml", b"own")
    put(tmp_path / folder, "out/x.yaml")
    commit(tmp_path)
    monkeypatch.setenv(variable, "1")
    assert read(tmp_path / folder) == {"jobs/a/x.yaml": b"own"}
    assert index_of(tmp_path / folder, "out") == {"out/x.yaml": Kind.FILE}


def test_an_ambiguous_name(tmp_path: Path) -> None:
    commit(tmp_path)
    git(tmp_path, "tag", "main")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(tmp_path, "update-ref", "refs/heads/origin/main", "HEAD")
    for name in ("main", "origin/main", "main~0"):
        message, hint = refusal(tmp_path, name)
        assert message == f"revision {name!r} is ambiguous: several branches or tags have this name"
        assert hint == "pass the whole name of the branch or tag, such as refs/heads/main"
    git(tmp_path, "commit", "--allow-empty", "-m", "another")
    git(tmp_path, "update-ref", "refs/tags/HEAD", "HEAD~1")  # it never hides what is checked out
    for name in ("refs/heads/main", "heads/main", "HEAD"):
        assert read(tmp_path, name) == {}


@pytest.mark.parametrize("content", [None, b"", b"damaged"])
def test_a_damaged_repository(tmp_path: Path, content: bytes | None) -> None:
    put(tmp_path, "jobs/a/x.yaml")
    commit(tmp_path)
    blob = git(tmp_path, "rev-parse", "HEAD:jobs/a/x.yaml")
    path = tmp_path / ".git/objects" / blob[:2] / blob[2:]
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    message, hint = refusal(tmp_path, "HEAD")
    assert message == "git does not have the content of jobs/a/x.yaml"
    assert hint == "fetch the content of the revision first: this clone is partial, or damaged"


def test_what_git_writes_to_standard_error_does_not_block_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {f"jobs/a/x{number}.yaml": str(number).encode() for number in range(1200)}
    for name, data in wanted.items():
        put(tmp_path, name, data)
    commit(tmp_path)
    git(tmp_path, "gc", "-q")
    monkeypatch.setenv("GIT_TRACE_PACK_ACCESS", "1")  # a line for each object, more than a pipe holds
    assert read(tmp_path) == wanted


@pytest.mark.parametrize("start", [None, "%s blob 100\nkind: Trai", "%s blob 100\n", "%s bl"])
def test_a_git_that_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: str | None) -> None:
    """As by the system, for lack of memory: before it reads, or within an answer."""
    root = tmp_path / "repository"
    put(root, "jobs/a/x.yaml")
    commit(root)
    read_and_answer = f"read name; printf {shlex.quote(start or '')} $name; kill -9 $$"
    what = "kill -9 $$" if start is None else read_and_answer
    script = put(
        tmp_path, "bin/git", f'#!/bin/sh\n[ "$1" = cat-file ] || exec {shutil.which("git")} "$@"\n{what}\n'.encode()
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    with pytest.raises(ChildProcessError, match="ended by signal 9"):
        read_revision(root, "HEAD")


def test_a_git_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal of a broken pipe, which ends trainc where nobody reads its output, does not end it here."""
    put(tmp_path, "jobs/a/x.yaml")
    commit(tmp_path)
    ended = tmp_path / "ended"
    put(tmp_path, "bin/git", f"#!/bin/sh\nexec 0<&-\ntouch {ended}\n".encode()).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with reader(tmp_path) as read:
            while not ended.exists():
                time.sleep(0.01)
            with pytest.raises(RevisionError, match="git cat-file: ended unexpectedly"):
                list(read([("jobs/a/x.yaml", "0" * 40)]))
        assert signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGPIPE, before)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has pipes of another size")
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_git_and_trainc_do_not_wait_for_each_other_where_pipes_are_small(tmp_path: Path, form: str) -> None:
    """A user with a thousand pipes, such as root on a node with many containers, gets pipes of one or two pages."""
    for number in range(250):
        put(tmp_path, f"jobs/a/{number}.yaml", b"kind: X\n" * 20 + b"# %d\n" % number)
    git(tmp_path, "init", "-q", f"--object-format={form}")
    commit(tmp_path)
    code = """\
import subprocess, functools, pathlib, trainc.project.git as git, trainc.project.revisions as revisions
git.subprocess.Popen = functools.partial(subprocess.Popen, pipesize=4096)
print(len(revisions.read_revision(pathlib.Path(), "HEAD").sources))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=10, capture_output=True, check=True)
    assert done.stdout == b"250\n"
