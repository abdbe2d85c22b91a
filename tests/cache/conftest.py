"""A small repository whose files have settled, and the names of the jobs that are compiled in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import pytest
from smallrepository import JOB, RUNTIME, Compiled, pause, put
from walking import TICK

from trainc.cli import abridging
from trainc.compilejob import JobCompiler
from trainc.contents import Content
from trainc.records import replace
from trainc.source import Document
from trainc.write import Plan, Seen, plan


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of four jobs and two runtimes, the working directory, whose files have settled."""
    monkeypatch.setenv("TRAINC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("trainc.cache.stamps.FINE", TICK)
    monkeypatch.setattr("trainc.cache.whole.FINE", TICK)
    monkeypatch.setattr("trainc.cache.whole._PATIENCE", 0)
    root = tmp_path / "repository"
    put(root, "trainc.yaml", "environments:\n  prod: {}\n")
    for name in ("plain", "other"):
        put(root, f"runtimes/{name}.yaml", RUNTIME.format(name=name, image="example.com/img:1"))
    for name, runtime in (("one", "plain"), ("two", "plain"), ("three", "other"), ("four", "other")):
        put(root, f"jobs/a/{name}.yaml", JOB.format(name=name, runtime=runtime))
    monkeypatch.chdir(root)
    pause()
    return root


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiled]:
    """Return the names of the jobs compiled since the last call."""
    names: list[str] = []
    real = JobCompiler.compile

    def spy(self: JobCompiler, document: Document) -> object:
        names.append(str(document.data["metadata"]["name"]))  # type: ignore[index, call-overload]
        return real(self, document)

    def since() -> list[str]:
        found = sorted(names)
        names.clear()
        return found

    monkeypatch.setattr(JobCompiler, "compile", spy)
    yield since


@pytest.fixture(autouse=True)
def looked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where what a look at changes alone knows of out/ gives another plan than a look at out/."""

    def both(
        root: Path,
        files: Mapping[str, Content],
        scopes: Collection[str],
        tops: Collection[str],
        is_same: Callable[[str, Content], bool],
        *,
        seen: Seen,
    ) -> Plan:
        known = plan(root, files, scopes, tops, is_same, seen=seen)
        found = plan(root, files, scopes, tops, is_same)
        assert set(_blocks(found)) <= set(_blocks(known)), "it knows of more than the scopes, and never of less"
        assert replace(known, blocked=()) == replace(found, blocked=()), "known without a look, and found"
        return known

    monkeypatch.setattr(abridging, "plan", both)


def _blocks(todo: Plan) -> list[tuple[str, str]]:
    return [(finding.file, finding.message) for finding in todo.blocked]
