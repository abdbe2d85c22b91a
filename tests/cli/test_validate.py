from __future__ import annotations

import json
from pathlib import Path

import pytest
from small import RUNTIME, Run, job, put, tree


def test_all_is_well(repository: Path, run: Run) -> None:
    before = tree(repository)
    result = run("validate")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "3 TrainJobs are valid\n")
    assert tree(repository) == before


def test_findings_of_jobs_and_runtimes(repository: Path, run: Run) -> None:
    put(repository, "jobs/a/one.yaml", job("one", runtime="none"))
    put(repository, "runtimes/unused.yaml", RUNTIME.replace("name: plain", "name: unused") + "  extra: 1\n")
    result = run("validate")
    assert result.exit_code == 1
    heads = [line for line in result.stdout.splitlines() if "]: " in line]
    assert [head.partition("]")[0] for head in heads] == [
        "jobs/a/one.yaml:5:16: error[TC301",
        "runtimes/unused.yaml:20:3: error[TC101",
    ]
    assert result.stderr == "2 errors\n"


def test_some_paths(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    put(repository, "jobs/b/three.yaml", job("three", runtime="none"))
    put(repository, "elsewhere/x.yaml", job("x"))
    assert run("validate", "jobs/a").stderr == "2 TrainJobs are valid\n"
    assert run("validate", "jobs/a/one.yaml", "elsewhere").stderr == "2 TrainJobs are valid\n"
    assert run("validate", "jobs/b/three.yaml").exit_code == 1
    assert run("validate", "runtimes").stderr == "no TrainJob found; the other documents are valid\n"
    monkeypatch.chdir(repository / "jobs/a")
    assert run("validate", "one.yaml").stderr == "1 TrainJob is valid\n", "runtimes/ of the repository is known"
    assert run("validate", "none.yaml").exit_code == 2


def test_a_file_in_the_wrong_place(repository: Path, run: Run) -> None:
    put(repository, "jobs/x.yaml", job("x"))
    for args in ([], ["jobs"], ["jobs/x.yaml"]):
        result = run("validate", *args)
        assert result.exit_code == 1
        assert "jobs/x.yaml:1:1: error[TC011]: file in the wrong place" in result.stdout


def test_nothing_there(repository: Path, run: Run) -> None:
    for name in ("a/one", "a/two", "b/three"):
        (repository / f"jobs/{name}.yaml").unlink()
    result = run("validate")
    assert result.exit_code == 0
    assert "note[TC014]" in result.stdout
    put(repository, "empty.yaml", "# nothing\n")
    assert run("validate", "empty.yaml").exit_code == 2
    assert run("validate", "runtimes").exit_code == 0


def test_errors_win_over_nothing_there(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "jobs/a/x.yaml", "kind: [\n")
    assert run("validate").exit_code == 1
    put(tmp_path, "trainc.yaml", "x: 1\n")
    (tmp_path / "jobs/a/x.yaml").unlink()
    assert run("validate").exit_code == 1


def test_json(repository: Path, run: Run) -> None:
    result = run("validate", "--format", "json")
    assert json.loads(result.stdout) == []
    put(repository, "jobs/a/one.yaml", job("one", extra="  managedBy: kueue.x-k8s.io/multikueue\n"))
    put(repository, "jobs/a/two.yaml", job("two", runtime="none"))
    result = run("validate", "--format", "json")
    assert [(item["file"], item["severity"]) for item in json.loads(result.stdout)] == [
        ("jobs/a/one.yaml", "warning"),
        ("jobs/a/two.yaml", "error"),
    ]
    quiet = run("validate", "--format", "json", "-q")
    assert [item["file"] for item in json.loads(quiet.stdout)] == ["jobs/a/two.yaml"]
    assert run("validate", "--format", "xml").exit_code == 2


def test_jobs_of_other_operators_are_errors_wherever_they_are_given(repository: Path, run: Run) -> None:
    kinds = ["PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "JAXJob", "PaddleJob", "MXJob"]
    jobs = [("kubeflow.org/v1", kind) for kind in kinds]
    for version, kind in (*jobs, ("kubeflow.org/v2beta1", "MPIJob"), ("batch.volcano.sh/v1alpha1", "Job")):
        text = f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: old}}\nspec: {{}}\n"
        for name in ("old.yaml", "jobs/a/old.yaml", "runtimes/old.yaml"):
            path = put(repository, name, text)
            commands = [["validate", name], ["build", name]]
            for command in commands if name == "old.yaml" else [*commands, ["validate"], ["render"]]:
                result = run(*command)
                assert result.exit_code == 1
                assert result.output.count("]: ") == 1, "said once"
                assert (
                    f"{name}:2:1: error[TC019]: {kind} of {version.partition('/')[0]} is not compiled" in result.output
                )
                assert "= hint: replace it with a TrainJob " in result.output
            path.unlink()
