"""What each command loads: the libraries that it needs and no other, and few modules of ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from syntax import ROOT

LIBRARIES = {
    "celpy",
    "click",
    "jinja2",
    "jsonschema",
    "kubeflow",
    "kubernetes",
    "lark",
    "mpi4py",
    "msgspec",
    "_ruamel_yaml",
}
START = {"click", "msgspec"}
READ = {*START, "_ruamel_yaml"}
COLD_BUILD = 215
"""Most modules of ours that a cold build of one job loads; 200 is the goal."""


class Case(NamedTuple):
    """A command, the libraries that it loads, and the most modules of ours."""

    command: str
    libraries: set[str]
    modules: int
    status: int = 0


CASES = (
    Case("--help", START, 30),
    Case("--version", START, 30),
    Case("explain TC101", START, 35),
    Case("explain trainjob.spec.trainer", START, 55),
    Case("schema trainjob", START, 45),
    Case("build --no-cache -q jobs/team-vision/mnist-cpu.yaml", READ, COLD_BUILD),
    Case("render --check --no-cache", READ | {"jinja2"}, 280),  # the scripts of Flux jobs are templates
    Case("render --root misfit --no-cache", READ | {"jsonschema"}, COLD_BUILD, status=1),  # words its errors
    Case("report -o -", READ | {"jinja2"}, 220),
    Case("cel 1", READ, 135),
    Case("cel --engine celpy 1", READ | {"celpy", "lark"}, 135),
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this repository's inputs and output, and a project whose trainc.yaml does not fit its schema."""
    root = tmp_path_factory.mktemp("startup")
    for name in ("jobs", "runtimes", "policies", "out"):
        shutil.copytree(ROOT.parent / name, root / name)
    for name in ("trainc.yaml", "images.lock.yaml"):
        shutil.copy(ROOT.parent / name, root)
    (root / "misfit" / "jobs").mkdir(parents=True)
    (root / "misfit" / "trainc.yaml").write_text("environment: {}\n", encoding="utf-8")
    return root


def loaded(words: str, root: Path, status: int = 0, **environment: str) -> set[str]:
    """Return the modules that a command has loaded at its end."""
    code = (
        "import json, sys\n"
        "from trainc.cli.root import trainc\n"
        "try:\n"
        f"    trainc({words.split()!r})\n"
        "except SystemExit as end:\n"
        f"    assert (end.code or 0) == {status}, end.code\n"
        "sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, env=surroundings, cwd=root)
    assert done.returncode == 0, done.stderr.decode()
    return set(json.loads(done.stderr.splitlines()[-1]))


def of_ours(modules: set[str]) -> int:
    return sum(name.split(".")[0] == "trainc" for name in modules)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command)
def test_a_command_loads_what_it_needs(case: Case, repository: Path) -> None:
    found = loaded(case.command, repository, case.status)
    assert found & LIBRARIES == case.libraries
    assert of_ours(found) <= case.modules


def test_a_build_whose_result_is_in_the_cache_loads_nothing_of_the_compiler(repository: Path, tmp_path: Path) -> None:
    command = "build -q jobs/team-vision/mnist-cpu.yaml"
    cold = loaded(command, repository, TRAINC_CACHE_DIR=str(tmp_path))
    warm = loaded(command, repository, TRAINC_CACHE_DIR=str(tmp_path))
    assert "trainc.pipeline.compile" in cold
    assert not {"trainc.pipeline.compile", "trainc.documents.load", "trainc.documents.emit"} & warm
    assert of_ours(warm) < of_ours(cold) / 2
