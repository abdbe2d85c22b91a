"""`trainc argocd`, and the same objects as files of `trainc render`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from small import RUNTIME, Run, job, put, tree

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


def test_nothing_is_printed_after_an_error(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", CONFIG)
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    for command in (["argocd"], ["argocd", "--env", "test"]):
        result = run(*command)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "jobs/a/one.yaml:5:16: error[TC301]" in result.stderr


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ("environments: {prod: {}}\n", "trainc.yaml:1:16"),
        ("environments:\n  prod:\n    argocd: {revision: main}\n", "trainc.yaml:3:5"),
        ("defaults:\n  argocd: {revision: main}\nenvironments: {prod: {}}\n", "trainc.yaml:2:3"),
    ],
)
def test_without_a_repository(repository: Path, run: Run, config: str, place: str) -> None:
    put(repository, "trainc.yaml", config)
    result = run("argocd")
    assert (result.exit_code, result.stdout) == (1, "")
    assert (
        f"{place}: error[TC013]: environment prod has no argocd.repoURL, which Argo CD's objects require"
        in result.stderr
    )


def test_without_trainc_yaml(repository: Path, run: Run) -> None:
    (repository / "trainc.yaml").unlink()
    result = run("argocd", "--format", "json")
    assert (result.exit_code, result.stdout) == (1, "")
    (finding,) = json.loads(result.stderr)
    assert (finding["code"], finding["file"]) == ("TC013", "trainc.yaml")


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


def test_render_keeps_them_in_step(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    run("render")
    (repository / "jobs/b/three.yaml").unlink()
    put(repository, "deploy/argocd/mine.yaml", "kind: Mine\n")
    result = run("render", "--check")
    assert (result.exit_code, result.stdout) == (
        3,
        "changed deploy/argocd/appproject-trainc-prod.yaml\nchanged deploy/argocd/appproject-trainc-test.yaml\n"
        "stale out/prod/b/three/jobset-three.yaml\nstale out/test/b/three/jobset-three.yaml\n",
    )
    assert result.stderr == "out/ and deploy/argocd/ are stale; run trainc render: 0 created, 2 changed, 2 removed\n"
    put(repository, "trainc.yaml", WRITING.replace(", test: {}", ""))
    assert run("render").exit_code == 0
    assert sorted(name for name in tree(repository) if name.startswith("deploy/")) == [
        "deploy/argocd/applicationset-trainc-prod.yaml",
        "deploy/argocd/appproject-trainc-prod.yaml",
        "deploy/argocd/argocd-cm/configmap-argocd-cm.yaml",
        "deploy/argocd/mine.yaml",
    ]


def test_part_of_the_jobs_decides_nothing_there(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    for command in (["render", "jobs/a"], ["render", "--env", "prod"], ["render", "jobs/a/one.yaml"]):
        assert run(*command).exit_code == 0
        assert not (repository / "deploy").exists()


def test_a_file_of_somebody_else_stays(repository: Path, run: Run) -> None:
    put(repository, "trainc.yaml", WRITING)
    put(repository, WRITTEN[0], "kind: Mine\n")
    before = tree(repository)
    result = run("render")
    assert result.exit_code == 1
    assert f"{WRITTEN[0]}:1:1: error[TC901]: not generated by trainc" in result.stdout
    assert tree(repository) == before
