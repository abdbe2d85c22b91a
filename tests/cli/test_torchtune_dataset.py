"""torchtune trains on the data set that is fetched, by the fix, where the TrainJob names none and the runtime does."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import Run

from builders import trainjob

RUNTIMES_OWN = (
    "dataset=torchtune.datasets.instruct_dataset",
    "dataset.source=parquet",
    "dataset.data_dir=/workspace/dataset/data",
)
JOB = trainjob(runtime="torchtune-llama3.2-1b", trainer="{command: [tune, run], args: [ARGUMENT]}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("argument", "fixes", "kept"),
    [
        ("batch_size=2", "[torchtune-dataset-args]", True),
        ("batch_size=2", "[]", False),
        ("dataset=mine", "[torchtune-dataset-args]", False),
        ("dataset=mine", "[]", False),
    ],
)
def test_settings_of_the_runtimes_data_set(argument: str, fixes: str, kept: bool, folder: Path, run: Run) -> None:
    (folder / "trainc.yaml").write_text(f"fixes: {fixes}\n")
    (folder / "job.yaml").write_text(JOB.replace("ARGUMENT", argument))
    result = run("build", "job.yaml")
    assert result.exit_code == 0
    assert [f"- {word}\n" in result.stdout for word in RUNTIMES_OWN] == [kept] * 3
    assert ("TC464" in result.stderr) == (argument == "batch_size=2" and not kept)


@pytest.mark.parametrize("fixes", ["[]", "recommended"])
def test_a_cached_data_set_which_the_fix_cannot_help(fixes: str, folder: Path, run: Run) -> None:
    (folder / "trainc.yaml").write_text(f"fixes: {fixes}\n")
    job = JOB.replace("ARGUMENT", "batch_size=2") + "  initializer: {dataset: {storageUri: cache://schema/table}}\n"
    (folder / "job.yaml").write_text(job)
    result = run("build", "job.yaml")
    assert result.exit_code == 0
    assert "warning[TC464]" in result.stderr
    assert "torchtune-dataset-args" not in result.stderr
    assert "hint: a dataset in the cache (cache://) has no path: use one that torchtune can read" in result.stderr
