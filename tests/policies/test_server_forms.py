"""Objects as policies see them, against what upstream's own code makes of them (tests/oracle/serverforms.py)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from test_created_pods import without

from oracle import celrunner, serverforms
from trainc.admission.companions import admit_object
from trainc.basics.jsonvalues import Path
from trainc.checks.server_forms import server_form
from trainc.findings import has_errors
from trainc.inputs.source import Document, Source
from trainc.schema.kinds import BUILT_IN
from trainc.upstream import TRAINER_API

CASES = serverforms.read()
BY_PLUGINS: dict[str, tuple[Path, ...]] = {
    "Pod": tuple(("spec", field) for field in ("tolerations", "serviceAccountName", "serviceAccount")),
    "PersistentVolumeClaim": (("metadata", "finalizers"),),
}
"""What admission plugins, which the oracle does not run, fill in."""


def form_of(given: dict[str, Any], *, created: bool = True) -> tuple[Any, tuple[Path, ...]]:
    document, findings = admit_object(Document(Source("a.yaml", ""), given), BUILT_IN)
    assert not has_errors(findings)
    return server_form(document.data, created=created)


@pytest.mark.parametrize("given, expected", CASES, ids=[given["metadata"]["name"] for given, _ in CASES])
def test_the_server_makes_the_same(given: dict[str, Any], expected: dict[str, Any]) -> None:
    before = json.dumps(given)
    data, unknown = form_of(given)
    ours, theirs = copy.deepcopy(data), copy.deepcopy(expected)
    for path in (*unknown, *BY_PLUGINS.get(given["kind"], ())):
        without(ours, path)
        without(theirs, path)
    assert ours == theirs
    assert json.dumps(given) == before


def test_what_only_a_cluster_knows() -> None:
    claim = next(given for given, _ in CASES if given["kind"] == "PersistentVolumeClaim")
    data, unknown = form_of(claim)
    assert data["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert unknown == (("spec", "storageClassName"),)
    data, unknown = form_of(claim, created=False)
    assert "status" not in data
    assert unknown == (("spec", "storageClassName"), ("spec", "volumeName"))


def test_the_time_of_a_runtime_patch() -> None:
    timed = {"manager": "example.com/b", "time": "2026-01-01T00:00:00Z"}
    spec = {"runtimePatches": [{"manager": "example.com/a"}, timed]}
    job: dict[str, Any] = {"apiVersion": TRAINER_API, "kind": "TrainJob", "metadata": {"name": "a"}, "spec": spec}
    assert server_form(job) == (job, (("spec", "runtimePatches", 0, "time"),))
    assert server_form(job, created=False) == (job, ())


def test_not_decodable() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"parallelism": "x"}}
    assert server_form(job) == (job, ())


@pytest.mark.go
def test_live() -> None:
    if reason := celrunner.missing():
        pytest.skip(reason)
    assert serverforms.answers([CASES[0][0]]) == [CASES[0][1]]
