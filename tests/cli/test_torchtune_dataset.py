"""torchtune trains on the data set that is fetched, by the fix, whether TrainJob or runtime names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import Run

OWN = ("dataset=torchtune.datasets.instruct_dataset", "dataset.source=parquet")
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec:
  runtimeRef: {name: torchtune-llama3.2-1b}
  trainer: {command: [tune, run], ARGS}
"""


@pytest.mark.parametrize(
    ("args", "fixed", "kept"),
    [
        ("args: [batch_size=2]", True, True),
        ("args: [batch_size=2]", False, False),
        ("args: [dataset=mine]", True, False),
    ],
)
def test_settings_of_the_runtimes_data_set(
    args: str, fixed: bool, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trainc.yaml").write_text(f"fixes: [{'torchtune-dataset-args' if fixed else ''}]\n")
    Path("job.yaml").write_text(JOB.replace("ARGS", args))
    result = run("build", "job.yaml")
    assert result.exit_code == 0
    for word in (*OWN, "dataset.data_dir=/workspace/dataset/data"):
        assert (f"- {word}\n" in result.stdout) == kept
    assert ("TC464" in result.stderr) == (not fixed)
