"""Git repositories for tests; nothing of the machine's configuration or of a repository around them counts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(root: Path, *args: str) -> str:
    """Run git in a folder and return what it prints."""
    somebody = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environment = {**os.environ, **somebody, **nowhere}
    return subprocess.run(
        ["git", *args], cwd=root, check=True, env=environment, capture_output=True, text=True
    ).stdout.strip()


def commit(root: Path) -> str:
    """Commit all files below root, in a repository that is made if need be, and return the commit's hash."""
    if not (root / ".git").exists():
        git(root, "init", "-q", "-b", "main")
    git(root, "add", "-f", ".")
    git(root, "-c", "maintenance.auto=false", "commit", "-q", "--allow-empty", "-m", "a commit")
    return git(root, "rev-parse", "HEAD")
