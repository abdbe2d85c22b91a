"""`trainc argocd`, and the same objects as files of `trainc render`."""

from __future__ import annotations

from pathlib import Path

from small import Run

from folders import put, tree
from gitrepo import git, needs_git

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


@needs_git
def test_a_folder_of_the_repository_has_to_be_named(repository: Path, run: Run) -> None:
    git(repository.parent, "init", "-q")
    folder = repository.name
    put(repository, "trainc.yaml", WRITING)
    warning = f"warning[TC013]: trainc.yaml is in folder {folder} of the git repository"
    for command in (("render",), ("render", "--check"), ("argocd",)):
        result = run(*command)
        assert (warning in result.output, result.exit_code) == (True, 0), command
    put(repository, "trainc.yaml", f"folder: {folder}\n{WRITING}")
    result = run("render")
    assert "TC013" not in result.output
    text = (repository / "deploy/argocd/applicationset-trainc-prod.yaml").read_text(encoding="utf-8")
    assert f"path: {folder}/out/prod/*/*" in text
    put(repository, "trainc.yaml", f"folder: other\n{WRITING}")
    assert warning in run("render").output
    hidden = repository.rename(repository.with_name(".hidden"))
    put(hidden, "trainc.yaml", WRITING)
    assert "in folder .hidden of the git repository" in run("render", "--root", str(hidden)).output


def test_one_environment_has_the_whole_project_that_it_shares(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING.replace("write: deploy/argocd", "project: jobs"))
    everything = run("argocd").stdout
    assert everything.startswith("apiVersion: argoproj.io/v1alpha1\nkind: AppProject\n")
    assert everything.count("kind: ApplicationSet") == 2
    for environment in ("prod", "test"):
        found = run("argocd", "--env", environment).stdout
        assert found.split("---\n")[0] == everything.split("---\n")[0]
        assert found.count("kind: ApplicationSet") == 1
