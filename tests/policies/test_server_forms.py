"""Objects as policies see them, against what upstream's own code makes of them (tests/oracle/serverforms.py)."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from test_created_pods import without

from oracle import celrunner, serverforms
from trainc.admission.companions import admit_object
from trainc.basics.jsonvalues import JsonObject, Path, get
from trainc.checks.server_forms import server_form
from trainc.findings import has_errors
from trainc.inputs.source import Document, Source
from trainc.kube.generated import JOB_UID
from trainc.schema.kinds import BUILT_IN
from trainc.upstream import TRAINER_API

CASES = serverforms.read()
UID = ("metadata", "uid")
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


def test_a_pod_whose_requests_cannot_be_added_up() -> None:
    containers = [{"name": cpu, "resources": {"requests": {"cpu": cpu}}} for cpu in ("1e999999", "1")]
    spec = {"resources": {"limits": {"cpu": "1"}}, "containers": containers}
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    assert server_form(pod).data == pod


def test_what_only_a_cluster_knows() -> None:
    claim = next(given for given, _ in CASES if given["kind"] == "PersistentVolumeClaim")
    data, unknown = form_of(claim)
    assert data["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    assert unknown == (("spec", "storageClassName"),)
    data, unknown = form_of(claim, created=False)
    assert "status" not in data
    assert unknown == (("spec", "storageClassName"), ("spec", "volumeName"))


def test_no_default_class_beside_the_old_annotation() -> None:
    # Kubernetes v1.34.4 pkg/apis/core/helper, PersistentVolumeClaimHasClass: also if it is empty.
    claim = next(given for given, _ in CASES if given["kind"] == "PersistentVolumeClaim")
    metadata = {**claim["metadata"], "annotations": {"volume.beta.kubernetes.io/storage-class": ""}}
    assert form_of({**claim, "metadata": metadata})[1] == ()


def test_the_time_of_a_runtime_patch() -> None:
    timed = {"manager": "example.com/b", "time": "2026-01-01T00:00:00Z"}
    spec = {"runtimePatches": [{"manager": "example.com/a"}, timed]}
    job: dict[str, Any] = {"apiVersion": TRAINER_API, "kind": "TrainJob", "metadata": {"name": "a"}, "spec": spec}
    assert server_form(job) == (job, (("spec", "runtimePatches", 0, "time"),))
    assert server_form(job, created=False) == (job, ())


def test_a_stored_job_has_the_uid_that_is_given() -> None:
    metadata = {"name": "a", "uid": "1d7e3a95-0b4c-4f62-8a5e-9c1f6b20d847"}
    spec = {"template": {"spec": {"containers": [], "restartPolicy": "Never"}}}
    job: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    data, unknown = server_form(job, created=False)
    uids = get(data, *UID), get(data, "spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid")
    assert uids == (metadata["uid"], metadata["uid"]) and unknown == ()
    data, unknown = server_form(job)
    assert get(data, *UID) == JOB_UID and UID in unknown


def test_not_decodable() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": {"parallelism": "x"}}
    assert server_form(job) == (job, ())


@pytest.mark.go
def test_live() -> None:
    if reason := celrunner.missing():
        pytest.skip(reason)
    assert serverforms.answers([CASES[0][0]]) == [CASES[0][1]]
