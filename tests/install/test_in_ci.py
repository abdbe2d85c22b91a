"""The action and the hooks install trainc from this tree, as GitHub and pre-commit do."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml
from test_install import JOB
from wheels import call

from folders import put
from gitrepo import commit
from trainc import __version__

pytestmark = pytest.mark.install


def test_the_action_installs_its_own_commit_with_tested_dependencies(source: Path, tmp_path: Path) -> None:
    action = yaml.safe_load((source / "action.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in action["runs"]["steps"] if step.get("id") == "install")
    variables = {"RUNNER_TEMP": tmp_path, "GITHUB_ACTION_PATH": source, "VERSION": ""}
    variables |= {"GITHUB_PATH": tmp_path / "path", "GITHUB_ENV": tmp_path / "env"}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    printed = call(*script, cwd=tmp_path, **{name: str(value) for name, value in variables.items()})
    assert printed.startswith(f"trainc {__version__} (")
    folder = Path((tmp_path / "path").read_text(encoding="utf-8").strip())
    frozen = call(folder / "pip", "freeze", cwd=tmp_path)
    assert (tmp_path / "env").read_text(encoding="utf-8") == f"TRAINC_CACHE_DIR={folder.parent.parent / 'cache'}\n"
    lock = (source / "runtime.lock").read_text(encoding="utf-8")
    pins = [line.split("==") for line in frozen.splitlines() if "==" in line]
    assert len(pins) > 10
    for name, version in pins:
        normalized = re.sub(r"[-_.]+", "-", name).lower()
        assert f"\n{normalized}=={version} " in lock, name


def test_pre_commit_runs_the_hooks(source: Path, tmp_path: Path) -> None:
    commit(source)
    repository = tmp_path / "repository"
    put(repository, "trainc.yaml", "environments: {prod: {}}\n")
    put(repository, "jobs/team-a/first.yaml", JOB)
    commit(repository)
    try_repo = [sys.executable, "-m", "pre_commit", "try-repo", source]
    home = {"PRE_COMMIT_HOME": str(tmp_path / "home")}
    with pytest.raises(
        AssertionError, match=r"(?s)trainc-render.*not added to git:\nout/prod/team-a/first/jobset-first"
    ):
        call(*try_repo, "trainc-render", "--all-files", cwd=repository, **home)
    commit(repository)
    assert "Passed" in call(*try_repo, "trainc-check", "--all-files", cwd=repository, **home)
