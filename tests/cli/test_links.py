"""No command that CI runs asks where a link of the project leads: that may be a file system that does not answer."""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from small import Run, job

from effort import some
from folders import put
from gitrepo import commit, needs_git

PLACES = (
    *("jobs", "jobs/a", "jobs/a/one.yaml", "jobs/a/new.yaml", "jobs/c", "jobs/readme.txt", "Jobs", "RUNTIMES"),
    *("runtimes", "runtimes/plain.yaml", "runtimes/more", "policies", "policies/p.yaml", "policies/readme.txt"),
    *(
        "jobs/shared",
        "policies/tests",
        "trainc.yaml",
        "trainc.yml",
        "images.lock.yaml",
        ".gitattributes",
        ".gitmodules",
    ),
    *("out", "out/prod", "out/prod/a", "out/prod/a/one", "out/prod/a/one/jobset-one.yaml", "out/other"),
    *("out/.gitattributes", "out/prod/a/.gitattributes", "jobs/.argocd-source.yaml", ".argocd-source.yaml"),
)
COMMANDS = (
    ("validate", "--base", "HEAD"),
    ("render", "--check"),
    ("diff", "--base", "HEAD"),
    ("report", "-o", "-"),
    ("render",),
)
FOLLOWING = ("stat", "listdir", "scandir", "access", "chdir", "chmod", "utime")
"""The functions of ``os`` that ask where the last part of a path leads; others ask only about the parts before."""
OTHERS = ("lstat", "readlink", "unlink", "rename", "replace", "mkdir", "rmdir")


class Entry:
    """An entry of a folder, of which ``is_dir`` and the like are functions that can be watched."""

    def __init__(self, entry: os.DirEntry[str], ask: Callable[[str], None]) -> None:
        self._entry, self._ask = entry, ask

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> str:
        return self._entry.path

    def _kind(self, name: str, follow_symlinks: bool) -> bool:
        if follow_symlinks:
            self._ask(self._entry.path)
        return bool(getattr(self._entry, name)(follow_symlinks=follow_symlinks))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        if follow_symlinks:
            self._ask(self._entry.path)
        return self._entry.stat(follow_symlinks=follow_symlinks)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._kind("is_dir", follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return self._kind("is_file", follow_symlinks)


class Listing:
    """What ``os.scandir`` returns."""

    def __init__(self, entries: list[Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Entry]:
        return self._entries

    def __next__(self) -> Entry:
        return next(self._entries)

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_error: object) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def followed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths in the repository at which something asked where a link leads, since the test began."""
    found: list[str] = []
    is_link, home = os.path.islink, f"{repository}/"
    busy: list[bool] = []

    def ask(path: Any, *, last: bool = True) -> None:
        if busy or isinstance(path, int):
            return
        name = os.path.normpath(Path(home, os.fsdecode(path)))
        if not f"{name}/".startswith(home):
            return
        busy.append(True)
        try:
            parts = name[len(home) :].split("/")
            if any(is_link(home + "/".join(parts[:end])) for end in range(1, len(parts) + last)):
                found.append(name[len(home) :])
        finally:
            busy.pop()

    def watch(where: Any, name: str, *, last: bool) -> None:
        real = getattr(where, name)

        def watched(path: Any = ".", *args: Any, **options: Any) -> Any:
            flags = args[0] if name == "open" and where is os and args else 0
            follows = last and options.get("follow_symlinks", True) and not flags & os.O_NOFOLLOW
            ask(path, last=follows)
            if name != "scandir" or isinstance(path, int):
                return real(path, *args, **options)
            with real(path) as entries:
                return Listing([Entry(entry, ask) for entry in entries])

        monkeypatch.setattr(where, name, watched)

    for name in FOLLOWING:
        watch(os, name, last=True)
    for name in OTHERS:
        watch(os, name, last=False)
    watch(os, "open", last=True)
    watch(io, "open", last=True)
    watch(builtins, "open", last=True)
    return found


@pytest.fixture(params=some(["warm", "cold"], 2))
def known(request: pytest.FixtureRequest, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run trainc, with what earlier runs stored if it is warm."""
    monkeypatch.setenv("TRAINC_CACHE_DIR", os.fspath(tmp_path / "cache") if request.param == "warm" else "")
    return run


@needs_git
@pytest.mark.parametrize("place", PLACES)
def test_nothing_asks_where_a_link_leads(
    repository: Path, known: Run, tmp_path: Path, place: str, followed: list[str]
) -> None:
    put(repository, "trainc.yaml", "environments: {prod: {namespaces: {shared: a}}}\n")
    put(repository, "policies/readme.md", "policies")
    assert known("render").exit_code == 0
    commit(repository)
    assert known("render", "--check").exit_code == 0
    path = repository / place
    if os.path.lexists(path):
        path.rename(tmp_path / "moved")
    path.parent.mkdir(parents=True, exist_ok=True)
    put(tmp_path / "target", "a/x.yaml", job("x"))
    path.symlink_to(tmp_path / "target")
    # A path of the command line may lead through links, but not what belongs to it elsewhere.
    of_a_path = () if place in ("jobs", "jobs/a") else (("render", "--check", "jobs/a"),)
    for command in (*COMMANDS, *of_a_path):
        known(*command)
        assert (command, followed) == (command, [])
    assert path.exists()
    assert followed == [place], "what asks is seen"


def test_a_link_that_is_called_as_a_folder_of_inputs_is_reported(repository: Path, run: Run) -> None:
    (repository / "Runtimes").symlink_to("/net/host/share")
    assert run("validate").output.startswith("Runtimes:1:1: warning[TC011]: ")
