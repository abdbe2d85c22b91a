from __future__ import annotations

from pathlib import Path

import pytest
from small import Run, put


def test_errors_win_over_nothing_there(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "jobs/a/x.yaml", "kind: [\n")
    assert run("validate").exit_code == 1
    put(tmp_path, "trainc.yaml", "x: 1\n")
    (tmp_path / "jobs/a/x.yaml").unlink()
    assert run("validate").exit_code == 1


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
