"""The package as a stranger gets it: wheel and sdist, built from a copy of the tree, and installed outside of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from wheels import BUILD, ROOT, Distributions, call


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the files that git has or would have, as far as a build and the users' hooks need them."""
    folder = tmp_path_factory.mktemp("copy")
    probe = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder / "probe", "setuptools"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0 and not os.environ.get("CI"):
        pytest.skip("pip finds no packages here, and a build needs the build backend")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"], cwd=ROOT, check=True, stdout=-1
    ).stdout
    source = folder / "source"
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file() and (name.startswith(("compiler/", "docs/")) or "/" not in name):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    return source


@pytest.fixture(scope="session")
def distributions(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Build wheel and sdist as a release does, from the files that git has or would have.

    TRAINC_DIST names a folder with those of a release, which are then tested.
    """
    folder = tmp_path_factory.mktemp("build")
    released = os.environ.get("TRAINC_DIST")
    if not released:
        call(*BUILD, "--outdir", folder / "dist", source, cwd=folder)
    call(*BUILD, "--wheel", "--outdir", folder / "direct", source, cwd=folder)
    dist = Path(released).resolve() if released else folder / "dist"
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    (direct,) = (folder / "direct").glob("*.whl")
    return Distributions(wheel, sdist, direct)


@pytest.fixture(scope="session")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel, with its dependencies as in a release, into a new environment; return its bin/."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "env", with_pip=True)
    pip = (folder / "env/bin/python", "-m", "pip", "--disable-pip-version-check")
    call(*pip, "install", "--quiet", "--require-hashes", "--requirement", ROOT / "runtime.lock", cwd=folder)
    call(*pip, "install", "--quiet", "--no-deps", "--no-index", distributions.wheel, cwd=folder)
    call(*pip, "check", cwd=folder)
    return folder / "env" / "bin"
