"""`trainc argocd`, and the same objects as files of `trainc render`."""

from __future__ import annotations

from pathlib import Path

from small import Run

from folders import put, tree

WRITING = "defaults:\n  argocd: {repoURL: https://git.example.com/training.git, write: deploy/argocd}\n" + (
    "environments: {prod: {}, test: {destination: {name: spare}}}\n"
)
WRITTEN = [
    "deploy/argocd/applicationset-trainc-prod.yaml",
    "deploy/argocd/applicationset-trainc-test.yaml",
    "deploy/argocd/appproject-trainc-prod.yaml",
    "deploy/argocd/appproject-trainc-test.yaml",
    "deploy/argocd/argocd-cm/configmap-argocd-cm.yaml",
]


def test_render_writes_the_same(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    result = run("render")
    assert result.stderr == "out/ and deploy/argocd/: 11 created, 0 changed, 0 removed, 0 unchanged\n"
    files = {name: data for name, data in tree(repository).items() if name.startswith("deploy/")}
    assert sorted(files) == WRITTEN
    texts = [data.decode().partition("'make render'.\n")[2] for data in files.values()]
    assert sorted(texts) == sorted(run("argocd").stdout.split("---\n"))
    assert run("render", "--check").exit_code == 0
