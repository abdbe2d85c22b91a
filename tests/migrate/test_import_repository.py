"""The path of a team with jobs of other operators: a new repository, all jobs imported, rendered and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from effort import THOROUGH
from importcases import CLASSES, jobs_to_import
from trainc.basics.jsonvalues import put
from trainc.cli.root import trainc
from trainc.documents.emit import emit
from trainc.pipeline.runtimes import builtin_object


def run(*arguments: str) -> str:
    result = CliRunner().invoke(trainc, arguments, prog_name="trainc")
    assert result.exit_code == 0, result.output
    return result.output


def test_a_repository_of_v1_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "--yes", "--policies")
    jobs = jobs_to_import()
    if not THOROUGH:
        jobs = sorted(jobs, key=lambda path: path.stat().st_size)[:10]
    assert len(jobs) >= 10
    for path in jobs:
        copy = tmp_path / "old" / path.name
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(path.read_bytes())
    assert "wrote " in run("import", "--write", "old")
    assert len(list((tmp_path / "jobs").glob("*/*.yaml"))) >= len(jobs)
    with next((tmp_path / "runtimes").glob("*.yaml")).open("a", encoding="utf-8") as runtime:
        runtime.write(f"---\n{CLASSES}")
    run("render")
    run("render", "--check")
    run("policy", "test")
    assert "nothing to write" in run("import", "--write", "old")
    assert "nothing to import" in run("import", "--write", "jobs", "runtimes")


def test_an_edited_file_is_not_counted_as_a_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "--yes")
    job = {"runtimeRef": {"name": "torch-distributed"}, "podSpecOverrides": [{"targetJobs": [{"name": "node"}]}]}
    old = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "a"}, "spec": job}
    (tmp_path / "old.yaml").write_text(emit(old), encoding="utf-8")
    assert run("import", "--write", "old.yaml").endswith("\nwrote 1 edited file\n")


def test_a_file_that_may_not_be_edited_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with fix and rerun; the other files stay, too."""
    monkeypatch.chdir(tmp_path)
    run("init", "--yes")
    text = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: NAME, namespace: a}\n"
        "spec: {runtimeRef: {name: torch-distributed}, trainer: {image: docker.io/a/b:1, numProcPerNode: auto}}\n"
    )
    first, path = (tmp_path / name for name in ("jobs/a/one.yaml", "jobs/a/two.yaml"))
    first.parent.mkdir(parents=True)
    first.write_text(text.replace("NAME", "one"))
    path.write_text(text.replace("NAME", "two"))
    path.chmod(0o444)
    result = CliRunner().invoke(trainc, ["import", "--write", "jobs"], prog_name="trainc")
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)
    assert "jobs/a/two.yaml: read-only file" in result.output
    assert all("numProcPerNode: auto" in each.read_text() for each in (first, path))


@pytest.mark.parametrize("folder", ["runtimes", "jobs/a", "policies"])
def test_a_builtin_runtime_that_the_project_replaces_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", "--yes")
    old = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: old, namespace: a}
spec:
  pytorchReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: pytorch, image: "example.com/img:1", command: [python, a.py]}]}}}
"""
    (tmp_path / "old.yaml").write_text(old, encoding="utf-8")
    assert "0 new runtimes" in run("import", "old.yaml")
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    replica = ("spec", "template", "spec", "replicatedJobs", 0, "template", "metadata", "labels", "example.com/x")
    runtime = emit(put(builtin_object("torch-distributed"), replica, "y"))
    (tmp_path / folder / "own.yaml").write_text(runtime, encoding="utf-8")
    assert "1 new runtime;" in run("import", "old.yaml")


def test_nothing_at_all_is_no_success() -> None:
    result = CliRunner().invoke(trainc, ["import", "-"], input="# a chart that is off\n", prog_name="trainc")
    assert (result.exit_code, "error[TC014]: no document found" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("kind: PyTorchJob\nspec: {a: b\n", "TC002"),
        ("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {generateName: a-}\n", "TC006"),
    ],
)
def test_the_only_document_is_reported_if_it_cannot_be_read(text: str, code: str) -> None:
    result = CliRunner().invoke(trainc, ["import", "-"], input=text, prog_name="trainc")
    assert (result.exit_code, f"error[{code}]" in result.output, "TC014" in result.output) == (1, True, False)


def test_files_of_other_programs_are_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [old.yaml]\n"
    job = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec:\n  pytorchReplicaSpecs:\n"
    job += "    Worker: {template: {spec: {containers: [{name: pytorch, image: example.com/img}]}}}\n"
    files = {"old.yaml": job, "kustomization.yaml": kustomization, "values.yaml": "image: {tag: x}\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = run("import", *files)
    assert "kustomization.yaml:1:1: note[TC006]: metadata.name is missing" in found
    assert "values.yaml:1:1: note[TC006]: apiVersion, kind, metadata.name are missing" in found
    assert found.count("hint: only Kubernetes objects are imported") == 2
