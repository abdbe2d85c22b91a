"""`trainc flux`, and the same objects as files of `trainc render`."""

from __future__ import annotations

from pathlib import Path

import yaml
from small import Run, job, put, tree

CONFIG = "environments:\n  prod: {target: flux}\n  test: {}\n"
WRITING = "environments:\n  prod: {target: flux, flux: {write: deploy/flux}}\n"


def names(text: str) -> list[str]:
    return [f"{data['kind']} {data['metadata']['name']}" for data in yaml.safe_load_all(text)]


def test_a_kustomization_a_job(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    before = tree(repository)
    result = run("flux")
    assert (result.exit_code, result.stderr) == (0, "")
    assert names(result.stdout) == [f"Kustomization prod.{name}" for name in ("a.one", "a.two", "b.three")]
    assert tree(repository) == before


def test_where_flux_applies_nothing(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    result = run("flux", "--env", "test")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no selected environment has target: flux (test)" in result.stderr


def test_nothing_is_printed_after_an_error(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    result = run("flux")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "error[TC301]" in result.stderr


def test_render_writes_the_same_and_removes_what_is_gone(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    assert run("render").stderr == "out/ and deploy/flux/: 6 created, 0 changed, 0 removed, 0 unchanged\n"
    files = {name: data for name, data in tree(repository).items() if name.startswith("deploy/")}
    texts = [data.decode().partition("'make render'.\n")[2] for name, data in sorted(files.items())]
    assert texts == run("flux").stdout.split("---\n")
    (repository / "jobs/b/three.yaml").unlink()
    assert run("render", "--check").stdout == (
        "stale deploy/flux/kustomization-prod.b.three.yaml\nstale out/prod/b/three/jobset-three.yaml\n"
    )
    assert run("render").exit_code == 0
    assert not (repository / "deploy/flux/kustomization-prod.b.three.yaml").exists()
