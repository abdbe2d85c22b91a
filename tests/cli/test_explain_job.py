"""`trainc explain NAMESPACE/JOB` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from small import Run, job, put


@pytest.mark.parametrize(
    ("policy", "variable"), [("torch: {}", "PET_NNODES"), ("jax: {}", "JAX_NUM_PROCESSES")], ids=["torch", "jax"]
)
@pytest.mark.parametrize("field", ["{}", "env[name={}]"])
def test_the_variable_of_the_number_of_nodes(
    repository: Path, run: Run, policy: str, variable: str, field: str
) -> None:
    runtime = (repository / "runtimes/plain.yaml").read_text()
    put(
        repository,
        "runtimes/plain.yaml",
        runtime.replace("spec:\n", f"spec:\n  mlPolicy: {{numNodes: 3, {policy}}}\n", 1),
    )
    put(repository, "jobs/a/one.yaml", job("one").replace("trainer: {}", "trainer:\n    numNodes: 2"))
    put(repository, "jobs/a/two.yaml", job("two").replace("trainer: {}", "trainer: {numProcPerNode: 1}"))

    def lines(name: str) -> list[list[str]]:
        return [line.split() for line in run("explain", name, field.format(variable)).stdout.splitlines()]

    assert lines("a/one")[-1] == ["value:", '"2"', "trainjob", "one", "jobs/a/one.yaml:7"]
    assert lines("a/two")[-1] == ["value:", '"3"', "runtime", "plain", "runtimes/plain.yaml:6"]
    assert lines("a/two")[-2][:3] == ["-", "name:", variable]
