"""What the simulator makes of JobSets, against upstream's own code and against trainc's word for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from simulator.errors import Unsupported
from simulator.expansion import claims, jobs, replicas
from simulator.fields import check
from simulator.manifests import read
from simulator.objects import identity
from simulator.pods import admit, pod

from trainc.checks.created_pods import created_objects
from trainc.kube.generated import JOB_UID, JOBSET_UID

ROOT = Path(__file__).resolve().parents[2]
CHILDREN = [json.loads(line) for line in (ROOT / "tests/oracle/policies/children.jsonl").read_text().splitlines()]
GOLDENS = [each for each in CHILDREN if each["jobset"]["metadata"]["name"] not in ("dropped", "prepared")]
"""Without the JobSets with fields that the API server drops or changes, which the simulated node refuses or leaves."""
JOBSETS = sorted((ROOT / "out").rglob("jobset-*.yaml"))


def expanded(jobset: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the first Job and pod of every replicated job, pods by their generateName."""
    found = {}
    for replicated in jobset["spec"]["replicatedJobs"]:
        for job in jobs(jobset, replicated)[:1]:
            found["Job", job["metadata"]["name"]] = job
            index = 0 if job["spec"].get("completionMode") == "Indexed" else None
            made = pod({**job, "metadata": {**job["metadata"], "uid": JOB_UID}}, index)
            del made["status"]
            found["Pod", made["metadata"].pop("generateName")] = made
    return found


def missing(mine: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield where something of mine is otherwise, or is not, in theirs, which has defaults besides."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for name, value in mine.items():
            if value not in ({}, [], None, ""):
                yield from missing(value, theirs.get(name), f"{path}.{name}")
    elif path.endswith(".tolerations"):  # admission adds two
        yield from missing(mine, theirs[: len(mine)], f"{path}[:]")
    elif isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        for index, (one, other) in enumerate(zip(mine, theirs, strict=True)):
            yield from missing(one, other, f"{path}[{index}]")
    elif mine != theirs:
        yield f"{path}: {mine!r} is not {theirs!r}"


def compare(jobset: dict[str, Any], theirs: list[dict[str, Any]], uid: str) -> None:
    mine = expanded({**jobset, "metadata": {**jobset["metadata"], "uid": uid}})
    names = {(each["kind"], each["metadata"].get("generateName") or each["metadata"]["name"]) for each in theirs}
    assert set(mine) == names
    for child in theirs:
        key = (child["kind"], child["metadata"].get("generateName") or child["metadata"]["name"])
        own, metadata = mine[key], child["metadata"]
        for field in ("labels", "annotations"):  # these exactly: a selector or a fieldRef may ask for any
            wanted = {name: value for name, value in (metadata.get(field) or {}).items() if value not in (uid, JOB_UID)}
            wanted.pop("batch.kubernetes.io/job-index-failure-count", None)  # of backoffLimitPerIndex, which is refused
            got = {name: value for name, value in own["metadata"][field].items() if value not in (uid, JOB_UID)}
            assert got == wanted, (key, field)
        assert [*missing(own["spec"], child["spec"])] == [], key


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda golden: str(golden["jobset"]["metadata"]["name"]))
def test_as_upstream(golden: dict[str, Any]) -> None:
    compare(golden["jobset"], golden["children"], "")


@pytest.mark.parametrize("file", JOBSETS, ids=lambda file: file.parent.name)
def test_as_trainc_says(file: Path) -> None:
    (jobset,) = read([file])
    compare(jobset, [dict(child.data) for child in created_objects(jobset)], JOBSET_UID)


def test_claims_and_volumes() -> None:
    mount = [{"name": "w", "mountPath": "/w"}]
    template = {"spec": {"template": {"spec": {"containers": [{"name": "c", "volumeMounts": mount}]}}}}
    jobset = {
        "metadata": {"name": "j", "namespace": "n", "uid": "u"},
        "spec": {
            "volumeClaimPolicies": [{"templates": [{"metadata": {"name": "w"}, "spec": {"a": 1}}]}],
            "replicatedJobs": [{"name": "r", "template": template}],
        },
    }
    (claim,) = claims(jobset)
    assert identity(claim) == ("PersistentVolumeClaim", "n", "w-j")
    (job,) = jobs(jobset, jobset["spec"]["replicatedJobs"][0])
    volumes = job["spec"]["template"]["spec"]["volumes"]
    assert volumes == [{"name": "w", "persistentVolumeClaim": {"claimName": "w-j"}}]
    assert replicas({}) == 1


def test_service_accounts() -> None:
    found = {"metadata": {"name": "p", "namespace": "n"}, "spec": {"serviceAccountName": "s"}}
    with pytest.raises(Exception, match='error looking up service account n/s: serviceaccount "s" not found'):
        admit(found, {})
    assert admit({**found, "spec": {}}, {"default": {}})["spec"] == {"serviceAccountName": "default"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"spec": {"network": {"ipFamily": 1}}}, "spec.network.ipFamily"),
        ({"spec": {"failurePolicy": {"restartStrategy": "InPlaceRestart"}}}, "restartStrategy: InPlaceRestart"),
        ({"spec": {"replicatedJobs": [{"template": {"spec": {"backoffLimitPerIndex": 1}}}]}}, "backoffLimitPerIndex"),
        ({"status": {}}, "status"),
        ({"kind": "Kustomization"}, "knows nothing of jobset.x-k8s.io/v1alpha2 Kustomization"),
    ],
)
def test_nothing_is_passed_over(change: dict[str, Any], named: str) -> None:
    good = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"}, "spec": {}}
    check(good)
    with pytest.raises(Unsupported, match=named):
        check({**good, **change})
