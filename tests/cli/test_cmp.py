"""`trainc cmp` with the variables that Argo CD sets and in the folder where it runs plugins; also sessions/cmp."""

from __future__ import annotations

from pathlib import Path

import yaml
from small import Process, Run

from folders import put, tree

BUILT_IN = {
    "ARGOCD_APP_NAME": "prod.a",
    "ARGOCD_APP_NAMESPACE": "a",
    "ARGOCD_APP_PARAMETERS": "null",  # of an Application without any
    "ARGOCD_APP_PROJECT_NAME": "trainc-prod",
    "ARGOCD_APP_REVISION": "0123456789abcdef0123456789abcdef01234567",
    "ARGOCD_APP_REVISION_SHORT": "0123456",
    "ARGOCD_APP_REVISION_SHORT_8": "01234567",
    "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/training.git",
    "ARGOCD_APP_SOURCE_TARGET_REVISION": "HEAD",
    "KUBE_VERSION": "1.34",
    "KUBE_API_VERSIONS": "v1,jobset.x-k8s.io/v1alpha2",
}


def names(text: str | bytes) -> list[str]:
    return [f"{data['metadata']['namespace']}/{data['metadata']['name']}" for data in yaml.safe_load_all(text)]


def test_a_namespace(repository: Path, process: Process, run: Run) -> None:
    before = tree(repository)
    done = process("cmp", cwd=repository / "jobs/a", **BUILT_IN, ARGOCD_APP_SOURCE_PATH="jobs/a")
    assert (done.returncode, done.stderr) == (0, b"")
    assert names(done.stdout) == ["a/one", "a/two"]
    assert tree(repository) == before
    run("render")
    files = [(repository / f"out/prod/a/{name}/jobset-{name}.yaml").read_bytes() for name in ("one", "two")]
    assert done.stdout == b"---\n".join(files), "to the byte what render writes"


def test_each_folder_of_the_hydrator_has_a_job(repository: Path, process: Process, run: Run) -> None:
    # One that fails stops the hydration of all that share the branch: jobs/b is mapped to the namespace of jobs/a.
    options = "jobs: [a], namespaces: {b: a}, argocd: {repoURL: https://git.example.com/r.git, hydrator: {branch: h}}"
    put(repository, "trainc.yaml", f"environments: {{prod: {{{options}}}}}\n")
    made = next(each for each in yaml.safe_load_all(run("argocd").stdout) if each["kind"] == "ApplicationSet")
    found = [each["path"] for each in made["spec"]["generators"][0]["git"]["directories"]]
    for name in found:
        done = process("cmp", cwd=repository / name, **BUILT_IN, ARGOCD_APP_SOURCE_PATH=name)
        assert done.returncode == 0, done.stderr
    assert found == ["jobs/a"]


def test_parameters_that_are_nested_too_deep(repository: Path, process: Process) -> None:
    variables = {**BUILT_IN, "ARGOCD_APP_PARAMETERS": "[" * 100_000, "ARGOCD_APP_SOURCE_PATH": "jobs/a"}
    done = process("cmp", cwd=repository / "jobs/a", **variables)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Error: ARGOCD_APP_PARAMETERS is not JSON: maximum recursion depth exceeded" in done.stderr
