"""A field of an earlier release of Trainer is unknown, and the finding says what replaces it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small import Run

REMOVED: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[1] / "schema/removed_fields.json").read_text(encoding="utf-8")
)
"""By release and kind; schema/removed_fields.py writes it from the CRDs."""

CASES = sorted({(kind, path) for kinds in REMOVED.values() for kind, paths in kinds.items() for path in paths})
BEFORE_2_0 = [("TrainJob", "spec.datasetConfig"), ("TrainJob", "spec.modelConfig")]
NEVER_RELEASED = [("TrainJob", "spec.trainer.resourcesPerNode.auto")]


def document(kind: str) -> dict[str, Any]:
    head = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {"name": "x"}}
    if kind == "TrainJob":
        return {**head, "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {}}}
    pod = {"containers": [{"name": "node", "image": "example.com/a:1"}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {**head, "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [job]}}}}


def put(value: Any, steps: list[str]) -> None:
    """Put the word auto at a path; a step [] is the first item."""
    step, *rest = steps
    if step == "[]":
        put(value[0], rest)
    elif rest:
        put(value.setdefault(step, {}), rest)
    else:
        value[step] = "auto"


@pytest.mark.parametrize(("kind", "path"), CASES + BEFORE_2_0 + NEVER_RELEASED)
def test_it_names_the_replacement(
    kind: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    data = document(kind)
    put(data["spec"], path.split(".")[1:])
    Path("x.json").write_text(json.dumps(data), encoding="utf-8")
    result = run("build", "x.json", "--format", "json")
    name = path.rpartition(".")[2]
    (finding,) = (each for each in json.loads(result.stderr) if each["path"] and each["path"][-1] == name)
    assert finding["severity"] == "error"
    assert finding["hint"].startswith(("removed in Trainer v2.", "write a number", "write resources below"))
