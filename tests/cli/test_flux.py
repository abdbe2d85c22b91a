"""`trainc flux`, and the same objects as files of `trainc render`."""

from __future__ import annotations

import os
from pathlib import Path

from small import Run

from folders import put, tree
from gitrepo import commit, needs_git

WRITING = "environments:\n  prod: {target: flux, flux: {write: deploy/flux}}\n"


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


def test_the_folder_stays_without_jobs(repository: Path, run: Run) -> None:
    """Flux prunes nothing if the folder of a Kustomization is missing, and git has no empty folders."""
    put(repository, "trainc.yaml", WRITING)
    assert run("render").exit_code == 0
    put(repository, "trainc.yaml", WRITING.replace("{target", "{jobs: ['!*'], target"))
    assert run("render").exit_code == 0
    assert [name for name in tree(repository) if name.startswith("deploy/")] == ["deploy/flux/no-jobs.txt"]
    assert run("render", "--check").exit_code == 0
    put(repository, "trainc.yaml", WRITING)
    assert run("render").exit_code == 0
    assert not (repository / "deploy/flux/no-jobs.txt").exists()


@needs_git
def test_a_long_name_that_is_not_utf_8_has_a_difference(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    commit(repository)
    folder = repository / "out/prod/a" / os.fsdecode(60 * b"a" + b"\xff")
    folder.mkdir(parents=True)
    (folder / "x.yaml").write_text("{}")
    for command in (("diff", "--base", "HEAD"), ("validate",)):
        done = run(*command)
        assert (done.exit_code, "error[TC902]" in done.output) == (1, False)
