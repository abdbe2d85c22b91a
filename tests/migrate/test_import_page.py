"""docs/import.md: its tables say what becomes of each field."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from trainc import Source
from trainc.migrate import import_documents
from trainc.migrate.jobs import RunPolicy
from trainc.migrate.pods import PATCHABLE, PATCHABLE_OF_CONTAINERS

PAGE = (Path(__file__).parents[2] / "docs" / "import.md").read_text(encoding="utf-8")
ROW = re.compile(r"(?m)^\| `([A-Za-z.]+): (.+?)` \| .* \| (none|note|warning|error) \|$")
PODS = "{template: {spec: {containers: [{name: NAME, image: 'registry.example.com/a:1', command: [torchrun, a]}]}}}"
KINDS = {
    "PyTorchJob": ("v1", "pytorch", "{pytorchReplicaSpecs: {Master: PODS, Worker: PODS}}"),
    "TFJob": ("v1", "tensorflow", "{tfReplicaSpecs: {PS: PODS, Worker: PODS}}"),
    "MPIJob": ("v2beta1", "main", "{mpiReplicaSpecs: {Launcher: PODS, Worker: {replicas: 2, PODS}}}"),
    "Job": (
        "batch.volcano.sh/v1alpha1",
        "main",
        "{tasks: [{name: a, replicas: 2, template: {spec:"
        " {restartPolicy: Never, containers: [{name: NAME, image: a}]}}}]}",
    ),
    "TrainJob": (
        "trainer.kubeflow.org/v1alpha1",
        "",
        "{runtimeRef: {name: torch-distributed}, trainer: {image: 'registry.example.com/a:1'}}",
    ),
}


def rows() -> list[tuple[str, str, str, str]]:
    """Return kind, field, value and severity of each row."""
    parts = re.split(r"(?m)^## ", PAGE)
    titles = {"Fields of all kinds": "PyTorchJob", "PyTorchJob": "PyTorchJob", "TFJob": "TFJob", "MPIJob": "MPIJob"}
    titles |= {"Volcano Job": "Job", "TrainJobs of Trainer": "TrainJob"}
    return [
        (next(kind for title, kind in titles.items() if part.startswith(title)), *row)
        for part in parts
        for row in ROW.findall(part)
    ]


@pytest.mark.parametrize(("kind", "field", "value", "severity"), rows())
def test_a_row_says_what_becomes_of_a_field(kind: str, field: str, value: str, severity: str) -> None:
    version, name, spec = KINDS[kind]
    body = spec.replace("{replicas: 2, PODS}", PODS.replace("{template", "{replicas: 2, template")).replace(
        "PODS", PODS
    )
    data = YAML(typ="safe").load(body.replace("NAME", name))
    place = data
    *above, last = field.split(".")
    for step in above:
        place = place.setdefault(step, {})
    place[last] = YAML(typ="safe").load(value)
    if "minAvailable" in field:
        place[last] = 1
    if field == "trainer.numProcPerNode":
        place[last] = value.strip('"')
    api_version = version if "/" in version else f"kubeflow.org/{version}"
    document = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": data}
    found = import_documents([Source("old.yaml", json.dumps(document))])
    path = ("spec", *field.split("."))
    severities = {str(one.severity) for one in found.findings if one.path[: len(path)] == path}
    assert severities == ({severity} if severity != "none" else set())
    assert found.jobs == 1
    assert [one for one in found.findings if one.severity == "error" and severity != "error"] == []


def test_the_tables_have_every_field_of_the_run_policy() -> None:
    fields = {field.split(".")[1] for _, field, _, _ in rows() if field.startswith("runPolicy.")}
    assert fields == {*re.findall(r'case "(\w+)"', inspect.getsource(RunPolicy))}


def test_the_page_lists_what_a_patch_can_set() -> None:
    (text,) = re.findall(r"(?s)A runtime patch in the TrainJob has (.*?) of the container\.", PAGE)
    assert set(re.findall(r"`(\w+)`", text)) == {*PATCHABLE, *PATCHABLE_OF_CONTAINERS}
