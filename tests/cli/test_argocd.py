"""`trainc argocd`, and the same objects as files of `trainc render`."""

from __future__ import annotations

from pathlib import Path

import yaml
from small import RUNTIME, Run, put, tree

CONFIG = """\
environments:
  prod:
    argocd: {repoURL: https://git.example.com/training.git}
  test:
    argocd: {repoURL: https://git.example.com/training.git, project: default}
"""
WRITING = "defaults:\n  argocd: {repoURL: https://git.example.com/training.git, write: deploy/argocd}\n" + (
    "environments: {prod: {}, test: {}}\n"
)
WRITTEN = [
    "deploy/argocd/applicationset-trainc-prod.yaml",
    "deploy/argocd/applicationset-trainc-test.yaml",
    "deploy/argocd/appproject-trainc-prod.yaml",
    "deploy/argocd/appproject-trainc-test.yaml",
    "deploy/argocd/argocd-cm/configmap-argocd-cm.yaml",
]


def names(text: str) -> list[str]:
    return [f"{data['kind']} {data['metadata']['name']}" for data in yaml.safe_load_all(text)]


def test_all_objects(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    before = tree(repository)
    result = run("argocd")
    assert (result.exit_code, result.stderr) == (0, "")
    assert names(result.stdout) == [
        "AppProject trainc-prod",
        "ApplicationSet trainc-prod",
        "ApplicationSet trainc-test",
        "ConfigMap argocd-cm",
    ]
    (project, *_) = yaml.safe_load_all(result.stdout)
    assert [item["namespace"] for item in project["spec"]["destinations"]] == ["a", "b"]
    assert project["spec"]["namespaceResourceWhitelist"] == [{"group": "jobset.x-k8s.io", "kind": "JobSet"}]
    assert tree(repository) == before


def test_a_project_allows_what_jobs_share(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: reader}\n"
    put(repository, "runtimes/plain.yaml", f"{RUNTIME}---\n{account}")
    (project, *_) = yaml.safe_load_all(run("argocd").stdout)
    kinds = [item["kind"] for item in project["spec"]["namespaceResourceWhitelist"]]
    assert kinds == ["ServiceAccount", "JobSet"]


def test_one_environment(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    assert names(run("argocd", "--env", "test").stdout) == ["ApplicationSet trainc-test", "ConfigMap argocd-cm"]
    result = run("argocd", "--env", "none")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "environment 'none' not found" in result.stderr


def test_a_part_alone(repository: Path, run: Run) -> None:
    assert names(run("argocd", "--health").stdout) == ["ConfigMap argocd-cm"]
    plugin = run("argocd", "--cmp")
    assert yaml.safe_load(plugin.stdout)["spec"]["generate"] == {"command": ["trainc", "cmp"]}
    assert run("argocd", "--cmp", "--health").exit_code == 2
    put(repository, "jobs/a/one.yaml", "not yaml: [")
    assert run("argocd", "--health").exit_code == 0, "jobs are not looked at"


def test_what_flux_syncs_is_not_argo_cds(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG + "    target: flux\n")
    assert names(run("argocd").stdout) == [
        "AppProject trainc-prod",
        "ApplicationSet trainc-prod",
        "ConfigMap argocd-cm",
    ]
    result = run("argocd", "--env", "test")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no selected environment has target: argocd (test)" in result.stderr


def test_render_writes_the_same(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    result = run("render")
    assert result.stderr == "out/ and deploy/argocd/: 11 created, 0 changed, 0 removed, 0 unchanged\n"
    files = {name: data for name, data in tree(repository).items() if name.startswith("deploy/")}
    assert sorted(files) == WRITTEN
    texts = [data.decode().partition("'make render'.\n")[2] for data in files.values()]
    assert sorted(texts) == sorted(run("argocd").stdout.split("---\n"))
    assert run("render", "--check").exit_code == 0
