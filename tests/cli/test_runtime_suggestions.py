"""What ``trainc build`` suggests for a runtime that is not found."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import Run

from builders import trainjob

JOB = trainjob(runtime="NAME")


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        ("torch-distribted", "torch-distributed"),
        ("Torch_Distributed", "torch-distributed"),
        ("pytorch-distributed", "torch-distributed"),
        ("deepspeed-distributd", "deepspeed-distributed"),
        ("torchtune-llama3.2-7b", "torchtune-llama3.2-3b"),
        ("flux-distributed", None),
        ("mpi-distributed", None),
        ("plain-distributed", None),
        ("horovod-distributed", None),
    ],
)
def test_a_suggestion_is_of_the_same_framework(
    name: str, suggested: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB.replace("NAME", name))
    result = run("build", "job.yaml")
    assert result.exit_code == 1
    if suggested is None:
        assert "did you mean" not in result.stderr
    else:
        assert f"did you mean '{suggested}'?" in result.stderr
