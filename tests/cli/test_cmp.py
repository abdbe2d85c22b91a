"""`trainc cmp` with the variables that Argo CD sets and in the folder where it runs plugins; also sessions/cmp."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from small import Process, Run, put, tree

from trainc.cli.root import trainc

BUILT_IN = {
    "ARGOCD_APP_NAME": "prod.a",
    "ARGOCD_APP_NAMESPACE": "a",
    "ARGOCD_APP_PROJECT_NAME": "trainc-prod",
    "ARGOCD_APP_REVISION": "0123456789abcdef0123456789abcdef01234567",
    "ARGOCD_APP_REVISION_SHORT": "0123456",
    "ARGOCD_APP_REVISION_SHORT_8": "01234567",
    "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/training.git",
    "ARGOCD_APP_SOURCE_TARGET_REVISION": "HEAD",
    "KUBE_VERSION": "1.34",
    "KUBE_API_VERSIONS": "v1,jobset.x-k8s.io/v1alpha2",
}
Plugin = Callable[..., str]


@pytest.fixture
def plugin(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Plugin:
    """Run the plugin for a source path of a clone; return what it prints."""

    def call(path: str, clone: Path = repository) -> str:
        monkeypatch.chdir(clone / path)
        result = CliRunner().invoke(trainc, ["cmp"], env={**BUILT_IN, "ARGOCD_APP_SOURCE_PATH": path})
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return call


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


def test_all_namespaces(plugin: Plugin) -> None:
    assert names(plugin(".")) == ["a/one", "a/two", "b/three"]
    assert names(plugin("jobs")) == ["a/one", "a/two", "b/three"]


def test_trainc_yaml_in_a_folder_of_the_clone(plugin: Plugin, tmp_path: Path) -> None:
    assert names(plugin("repository/jobs/a", clone=tmp_path)) == ["a/one", "a/two"]
    assert names(plugin("repository", clone=tmp_path)) == ["a/one", "a/two", "b/three"]


def test_nothing_above_the_clone_is_read(repository: Path, plugin: Plugin, tmp_path: Path) -> None:
    put(tmp_path, "trainc.yaml", "environments: {elsewhere: {queue: secret}}\n")
    (repository / "trainc.yaml").unlink()
    printed = plugin("jobs/a")
    assert names(printed) == ["a/one", "a/two"]
    assert "secret" not in printed
