"""What of an object in place is refused, field by field; beside it, what is not."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainc.changes import Effect, compare
from trainc.changes.trees import OWNED
from trainc.inputs.settings import read_settings

ROOT = Path(__file__).resolve().parents[2]
JOBSET = yaml.safe_load((ROOT / "out/prod/team-vision/mnist-cpu/jobset-mnist-cpu.yaml").read_text(encoding="utf-8"))
POD = ("spec", "replicatedJobs", 0, "template", "spec", "template")
PODS = "spec.replicatedJobs[node].template.spec.template"
IMMUTABLE = "field is immutable"
VALUE = "Value is immutable"
FROZEN = "field is immutable when `immutable` is set"

META = {"name": "x", "namespace": "a"}
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": META, "data": {"a": "1"}}
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": META, "type": "Opaque"}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": META,
    "spec": {"backoffLimit": 1, "completionMode": "NonIndexed", "template": {"spec": {"containers": []}}},
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "RoleBinding",
    "metadata": META,
    "roleRef": {"kind": "Role", "name": "r"},
    "subjects": [{"kind": "ServiceAccount", "name": "s"}],
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": META,
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
OF_CLAIM = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
KEPT = "update to {} is forbidden when status.currentVolumeAttributesClassName is not nil"
GOLD = {**CLAIM, "spec": {**CLAIM["spec"], "volumeAttributesClassName": "gold"}}  # type: ignore[dict-item]
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def changed(data: dict[str, Any], *edits: tuple[tuple[str | int, ...], Any]) -> dict[str, Any]:
    """Return a copy with values put at paths; None takes away."""
    copy = deepcopy(data)
    for path, value in edits:
        place: Any = copy
        for step in path[:-1]:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if value is None:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return copy


def difference(old: dict[str, Any], new: dict[str, Any]) -> tuple[Effect, list[tuple[str, str]]]:
    name = f"out/prod/a/x/{old['kind'].lower()}-x.yaml"
    before, after = ({name: OWNED + b"x\n" + yaml.safe_dump(data).encode()} for data in (old, new))
    found = compare(before, after)
    assert found.findings == ()
    (job,) = found.jobs
    return job.effect, [(refusal.field, refusal.message) for refusal in job.refusals]


@pytest.mark.parametrize(
    ("edit", "field", "message"),
    [
        ((("spec", "successPolicy", "operator"), "Any"), "spec.successPolicy.operator", VALUE),
        ((("spec", "startupPolicy", "startupPolicyOrder"), "InOrder"), "spec.startupPolicy.startupPolicyOrder", VALUE),
        ((("spec", "network", "enableDNSHostnames"), False), "spec.network.enableDNSHostnames", VALUE),
        ((("spec", "replicatedJobs", 0, "replicas"), 2), "spec.replicatedJobs[node].replicas", IMMUTABLE),
        (((*POD, "metadata", "labels"), {"a": "b"}), f"{PODS}.metadata.labels", IMMUTABLE),
        (((*POD, "spec", "nodeSelector"), {"a": "b"}), f"{PODS}.spec.nodeSelector", IMMUTABLE),
        ((("spec", "managedBy"), "example.com/x"), "spec.managedBy", IMMUTABLE),
    ],
)
def test_of_a_jobset_is_refused(edit: tuple[tuple[str | int, ...], Any], field: str, message: str) -> None:
    assert difference(JOBSET, changed(JOBSET, edit)) == (Effect.REFUSED, [(field, message)])


@pytest.mark.parametrize(
    "edit",
    [
        (("metadata", "labels"), {"a": "b"}),
        (("metadata", "annotations"), {"a": "b"}),
        (("spec", "suspend"), True),
        (("spec", "ttlSecondsAfterFinished"), 60),
        (("spec", "coordinator"), {"replicatedJob": "node"}),
        (("spec", "failurePolicy"), {"maxRestarts": 3, "restartStrategy": "Recreate"}),
    ],
)
def test_of_a_jobset_is_updated_in_place(edit: tuple[tuple[str | int, ...], Any]) -> None:
    assert difference(JOBSET, changed(JOBSET, edit)) == (Effect.UPDATED, [])


def test_a_failure_policy_may_come_but_not_change() -> None:
    old = changed(JOBSET, (("spec", "failurePolicy"), {"maxRestarts": 3, "restartStrategy": "Recreate"}))
    effect, refused = difference(old, changed(old, (("spec", "failurePolicy", "maxRestarts"), 4)))
    assert (effect, refused) == (Effect.REFUSED, [("spec.failurePolicy.maxRestarts", VALUE)])


def test_pods_of_a_suspended_jobset_may_be_placed() -> None:
    old = changed(JOBSET, (("spec", "suspend"), True))
    placed = changed(old, ((*POD, "spec", "nodeSelector"), {"a": "b"}), ((*POD, "metadata", "labels"), {"c": "d"}))
    assert difference(old, placed) == (Effect.UPDATED, [])
    image = (*POD, "spec", "containers", 0, "image")
    assert difference(old, changed(old, (image, "x:2")))[0] is Effect.REFUSED


@pytest.mark.parametrize(
    ("old", "edit", "refused"),
    [
        (CONFIG_MAP, (("data", "a"), "2"), []),
        (CONFIG_MAP | {"immutable": True}, (("data", "a"), "2"), [("data", FROZEN)]),
        (CONFIG_MAP | {"immutable": True}, (("immutable",), None), [("immutable", FROZEN)]),
        (CONFIG_MAP | {"immutable": True}, (("metadata", "labels"), {"a": "b"}), []),
        (SECRET, (("type",), "kubernetes.io/tls"), [("type", IMMUTABLE)]),
        (SECRET, (("metadata", "labels"), {"a": "b"}), []),
        (JOB, (("spec", "template", "spec", "containers"), [{"name": "a"}]), [("spec.template", IMMUTABLE)]),
        (JOB, (("spec", "completionMode"), "Indexed"), [("spec.completionMode", IMMUTABLE)]),
        (JOB, (("spec", "backoffLimit"), 2), []),
        (BINDING, (("roleRef", "name"), "s"), [("roleRef", "cannot change roleRef")]),
        (BINDING, (("subjects", 0, "name"), "t"), []),
        (CLAIM, (("spec", "resources", "requests", "storage"), "2Gi"), []),
        (CLAIM, (("spec", "resources", "requests", "storage"), "1024Mi"), []),
        (CLAIM, (("spec", "resources", "requests"), None), []),
        (CLAIM, (("spec", "resources", "requests", "storage"), "much"), []),
        (
            CLAIM,
            (("spec", "resources", "requests", "storage"), "512Mi"),
            [("spec.resources.requests.storage", "field can not be less than status.capacity")],
        ),
        (CLAIM, (("spec", "resources", "requests", "cpu"), "1"), [("spec.resources.requests.cpu", OF_CLAIM)]),
        (CLAIM, (("spec", "volumeAttributesClassName"), "gold"), []),
        (GOLD, (("spec", "volumeAttributesClassName"), "silver"), []),
        (GOLD, (("spec", "volumeAttributesClassName"), None), [("spec.volumeAttributesClassName", KEPT.format("nil"))]),
        (
            GOLD,
            (("spec", "volumeAttributesClassName"), ""),
            [("spec.volumeAttributesClassName", KEPT.format("empty string"))],
        ),
        (CLAIM, (("metadata", "annotations"), {OLD_CLASS: "a"}), [(f"metadata.annotations.{OLD_CLASS}", IMMUTABLE)]),
    ],
)
def test_of_other_objects(
    old: dict[str, Any], edit: tuple[tuple[str | int, ...], Any], refused: list[tuple[str, str]]
) -> None:
    assert difference(old, changed(old, edit)) == (Effect.REFUSED if refused else Effect.UPDATED, refused)


def test_a_claim_keeps_its_access_modes() -> None:
    effect, ((field, message),) = difference(CLAIM, changed(CLAIM, (("spec", "accessModes"), ["ReadWriteMany"])))
    assert (effect, field) == (Effect.REFUSED, "spec.accessModes")
    assert message.startswith("spec is immutable after creation")


def test_the_class_of_a_claim_moves_from_its_annotation_to_its_field() -> None:
    old = changed(CLAIM, (("metadata", "annotations"), {OLD_CLASS: "fast"}))
    field = (("spec", "storageClassName"), "fast")
    assert difference(old, changed(CLAIM, field))[0] is Effect.UPDATED
    assert difference(old, changed(CLAIM, (field[0], "slow")))[0] is Effect.REFUSED


def test_another_name_kind_or_namespace_is_another_object() -> None:
    frozen = CONFIG_MAP | {"immutable": True}
    assert difference(frozen, changed(frozen, (("metadata", "name"), "z"), (("data", "a"), "2")))[1] == []
    assert difference(frozen, changed(frozen, (("metadata", "namespace"), "b"), (("data", "a"), "2")))[1] == []
    assert difference(CONFIG_MAP, SECRET)[1] == []


def test_an_object_that_no_cluster_holds_is_a_finding_on_its_side() -> None:
    broken = changed(JOBSET, (("spec", "replicatedJobs"), "none"))
    name = "out/prod/a/x/jobset-x.yaml"
    good, bad = ({name: OWNED + b"x\n" + yaml.safe_dump(data).encode()} for data in (JOBSET, broken))
    there, back = compare(good, bad), compare(bad, good)
    assert [(finding.code, finding.severity) for finding in there.findings] == [("TC904", "error")]
    assert [(finding.code, finding.severity) for finding in back.findings] == [("TC904", "note")]
    assert "not compared before the change" in back.findings[0].message


@pytest.mark.parametrize("tool", ["argocd", "flux"])
def test_nobody_is_told_to_delete_a_claim_or_to_change_the_job_of_shared_objects(tool: str) -> None:
    smaller = changed(CLAIM, (("spec", "resources", "requests", "storage"), "512Mi"))
    sizes = {"persistentvolumeclaim-x": (CLAIM, smaller)}
    settings = {"prod": read_settings({"environments": {"prod": {"target": tool}}}, "prod")}
    bound = {"rolebinding-x": (BINDING, changed(BINDING, (("roleRef", "name"), "s")))}
    for pairs, words in (
        (sizes, ["Revert the change to the claim"]),
        (bound, ["Give the object another name, or delete"]),
        (sizes | bound, ["Give the object another name, or delete", "Revert the change to the claim"]),
    ):
        before, after = (
            {
                f"out/prod/a/0-shared/{name}.yaml": OWNED + b"x\n" + yaml.safe_dump(pair[side]).encode()
                for name, pair in pairs.items()
            }
            for side in (0, 1)
        )
        (job,) = compare(before, after, settings).jobs
        assert job.cluster[0].endswith(" until the change is reverted.")
        advice = [line for line in job.cluster if line.startswith(("Give", "Revert"))]
        assert [line[: len(word)] for line, word in zip(advice, words, strict=True)] == words


def test_a_secret_in_place_of_the_one_that_the_operator_stored() -> None:
    external = {
        "apiVersion": "external-secrets.io/v1",
        "kind": "ExternalSecret",
        "metadata": {"name": "keys", "namespace": "a"},
        "spec": {"target": {"name": "keys", "template": {"type": "kubernetes.io/ssh-auth"}}},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "a"}, "type": "Opaque"}
    start = OWNED + b"jobs/a/train.yaml\n"
    before = {"out/prod/a/train/externalsecret-keys.yaml": start + yaml.safe_dump(external).encode()}
    after = {"out/prod/a/train/secret-keys.yaml": start + yaml.safe_dump(secret).encode()}
    (job,) = compare(before, after).jobs
    assert [(each.kind, each.name, each.field) for each in job.refusals] == [("Secret", "keys", "type")]
    assert job.effect.value == "refused"
    before = {"out/prod/a/train/externalsecret-keys.yaml": start + b"x: [\n"}
    assert [each.code for each in compare(before, after).findings] == ["TC904"]
