"""A repository whose jobs have all there is to travel: warnings, related places, an error, comments, files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BROKEN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: %s}
spec:
  runtimeRef: {name: %s}
%s"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This repository's jobs, runtimes and policies; it is the working directory."""
    for name in ("jobs", "runtimes", "policies"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "trainc.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def broken(repository: Path) -> Path:
    """The same with jobs that are wrong in ways of their own, and a comment that silences."""
    team = repository / "jobs" / "team-broken"
    team.mkdir()
    (team / "field.yaml").write_text(
        BROKEN % ("field", "torch-distributed", "  trainer: {numNode: 2}\n"), encoding="utf-8"
    )
    (team / "none.yaml").write_text(BROKEN % ("none", "torch-distributde", ""), encoding="utf-8")
    ignored = "  # trainc: ignore TC412 told before\n  trainer: {image: example.com/a}\n"
    (team / "ignored.yaml").write_text(BROKEN % ("ignored", "torch-distributed", ignored), encoding="utf-8")
    return repository
