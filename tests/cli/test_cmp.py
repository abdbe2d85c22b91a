"""`trainc cmp` as a process, with the variables that Argo CD sets and in the folder where it runs plugins."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from small import RUNTIME, Process, Run, job, put, tree

Done = subprocess.CompletedProcess[bytes]

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


@pytest.fixture
def plugin(repository: Path, process: Process):
    """Run the plugin for a source path, with parameters, as Argo CD does."""

    def call(path: str, *parameters: dict[str, object], clone: Path = repository, **variables: str) -> Done:
        given = {"ARGOCD_APP_PARAMETERS": json.dumps(list(parameters))} if parameters else {}
        return process("cmp", cwd=clone / path, **BUILT_IN, **given, **{"ARGOCD_APP_SOURCE_PATH": path, **variables})

    return call


def text(name: str, value: str) -> dict[str, object]:
    return {"name": name, "string": value}


def names(done: Done) -> list[str]:
    assert done.returncode == 0, done.stderr.decode()
    return [f"{data['metadata']['namespace']}/{data['metadata']['name']}" for data in yaml.safe_load_all(done.stdout)]


def test_a_namespace(repository: Path, plugin, run: Run) -> None:
    before = tree(repository)
    done = plugin("jobs/a")
    assert names(done) == ["a/one", "a/two"]
    assert done.stderr == b""
    assert tree(repository) == before
    run("render")
    files = [(repository / f"out/prod/a/{name}/jobset-{name}.yaml").read_bytes() for name in ("one", "two")]
    assert done.stdout == b"---\n".join(files), "to the byte what render writes"


def test_all_namespaces(plugin) -> None:
    assert names(plugin(".")) == ["a/one", "a/two", "b/three"]
    assert names(plugin("jobs")) == ["a/one", "a/two", "b/three"]


def test_one_job(plugin) -> None:
    assert names(plugin("jobs/a", text("job", "two"))) == ["a/two"]
    assert names(plugin("jobs/a", ARGOCD_ENV_TRAINC_JOB="one")) == ["a/one"]
    assert names(plugin("jobs/a", text("job", "two"), ARGOCD_ENV_TRAINC_JOB="one")) == ["a/two"], "parameters win"


def test_environments(repository: Path, plugin) -> None:
    put(repository, "trainc.yaml", "environments:\n  prod: {}\n  test: {queue: small}\n")
    done = plugin("jobs/a")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"parameter 'env' is required: trainc.yaml has prod, test" in done.stderr
    for done in (plugin("jobs/a", text("env", "test")), plugin("jobs/a", ARGOCD_ENV_TRAINC_ENV="test")):
        found = list(yaml.safe_load_all(done.stdout))
        assert [data["metadata"]["labels"] for data in found] == [{"kueue.x-k8s.io/queue-name": "small"}] * 2
    done = plugin("jobs/a", text("env", "none"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"environment 'none' not found in trainc.yaml (prod, test)" in done.stderr


def test_trainc_yaml_in_a_folder_of_the_clone(repository: Path, plugin, tmp_path: Path) -> None:
    assert names(plugin("repository/jobs/a", clone=tmp_path)) == ["a/one", "a/two"]
    assert names(plugin("repository", clone=tmp_path)) == ["a/one", "a/two", "b/three"]


def test_nothing_above_the_clone_is_looked_at(repository: Path, plugin, tmp_path: Path) -> None:
    put(tmp_path, "trainc.yaml", "environments: {elsewhere: {queue: secret}}\n")
    (repository / "trainc.yaml").unlink()
    done = plugin("jobs/a")
    assert names(done) == ["a/one", "a/two"]
    assert b"secret" not in done.stdout


@pytest.mark.parametrize(
    ("path", "parameters", "message"),
    [
        ("jobs/a", [text("job", "none")], b"jobs/a:1:1: error[TC014]: no job none here for environment prod"),
        ("jobs/empty", [], b"jobs/empty:1:1: error[TC014]: no TrainJob here for environment prod"),
        ("runtimes", [], b"the Application's path runtimes is neither jobs/<namespace> nor the folder of trainc.yaml"),
        ("jobs/a", [text("enviroment", "prod")], b"unknown parameter 'enviroment': expected env or job"),
        ("jobs/a", [{"name": "job", "array": ["one"]}], b"parameter 'job' is not a string"),
        ("jobs/a", [{"name": "job"}], b"parameter 'job' is not a string"),
        ("jobs/a", [{"map": {}}], b"unknown parameter None"),
    ],
)
def test_blank_output_never_succeeds(
    repository: Path, plugin, path: str, parameters: list[dict[str, object]], message: bytes
) -> None:
    (repository / "jobs/empty").mkdir()
    done = plugin(path, *parameters)
    assert done.returncode == 2
    assert done.stdout == b""
    assert message in done.stderr


def test_an_environment_that_has_none_of_the_jobs(repository: Path, plugin) -> None:
    put(repository, "trainc.yaml", "environments: {prod: {jobs: [b]}}\n")
    done = plugin("jobs/a")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"jobs/a:1:1: error[TC014]: no TrainJob here for environment prod" in done.stderr


def test_what_jobs_share(repository: Path, plugin) -> None:
    account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: reader}\n"
    put(repository, "runtimes/plain.yaml", f"{RUNTIME}---\n{account}")
    assert names(plugin("jobs/a")) == ["a/reader", "a/one", "a/two"]
    assert names(plugin("jobs/a", text("job", "0-shared"))) == ["a/reader"]
    assert names(plugin("jobs/a", text("job", "one"))) == ["a/one"]


def test_a_namespace_of_another_name(repository: Path, plugin) -> None:
    put(repository, "trainc.yaml", "environments: {prod: {namespaces: {a: alpha}}}\n")
    assert names(plugin("jobs/a")) == ["alpha/one", "alpha/two"]
    assert names(plugin("jobs/a", text("job", "one"))) == ["alpha/one"]


@pytest.mark.parametrize("variable", ["nonsense", '"job"', "[1]", "{}"])
def test_parameters_that_are_none(plugin, variable: str) -> None:
    done = plugin("jobs/a", ARGOCD_APP_PARAMETERS=variable)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"ARGOCD_APP_PARAMETERS" in done.stderr or b"unknown parameter" in done.stderr


def test_an_error_prints_no_object(repository: Path, plugin) -> None:
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    done = plugin("jobs/a")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"jobs/a/one.yaml:5:16: error[TC301]" in done.stderr
    assert names(plugin("jobs/b")) == ["b/three"], "another namespace does not suffer"


def test_findings_go_to_standard_error(repository: Path, plugin) -> None:
    put(repository, "jobs/a/one.yaml", job("one").replace("trainer: {}", "trainer: {image: example.com/x}"))
    done = plugin("jobs/a")
    assert names(done) == ["a/one", "a/two"]
    assert b"warning[TC412]" in done.stderr


def test_outside_of_argo_cd(repository: Path, process: Process) -> None:
    done = process("cmp", cwd=repository)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"ARGOCD_APP_SOURCE_PATH is not set" in done.stderr
    for path in ("jobs/b", "../repository", "x/jobs/a"):
        done = process("cmp", cwd=repository / "jobs/a", ARGOCD_APP_SOURCE_PATH=path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"is not the folder" in done.stderr
