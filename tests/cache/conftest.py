"""A small repository whose files have settled, and the names of the jobs that are compiled in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from smallrepository import JOB, RUNTIME, Compiled, pause

from cache.walking import TICK
from folders import put
from trainc.inputs.source import Document
from trainc.pipeline import job
from trainc.pipeline.context import Context


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of four jobs and two runtimes, the working directory, whose files have settled."""
    monkeypatch.setenv("TRAINC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("trainc.cache.snapshot.FINE", TICK)
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
    real = job.compile_job

    def spy(self: Context, document: Document) -> object:
        names.append(str(document.data["metadata"]["name"]))  # type: ignore[index, call-overload]
        return real(self, document)

    def since() -> list[str]:
        found = sorted(set(names))
        names.clear()
        return found

    monkeypatch.setattr(job, "compile_job", spy)
    yield since
