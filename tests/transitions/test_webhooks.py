"""Our rules for updates against what the real webhooks said (tests/oracle/requests), to the letter."""

from __future__ import annotations

from itertools import product

import pytest

from oracle import goldens
from oracle.admission import request
from trainc.admission.update import jobset_changes, kueue_changes, refused_changes, trainjob_changes
from trainc.basics.jsonvalues import Json, JsonObject, dotted, get

WEBHOOKS = {"JobSet": (jobset_changes, "jobset-webhook"), "TrainJob": (trainjob_changes, "webhook")}
UPDATES = {
    name: asked for name, asked in goldens.requests() if "old" in asked and str(asked["new"]["kind"]) in WEBHOOKS
}


@pytest.mark.parametrize("name", UPDATES)
def test_update(name: str) -> None:
    asked, real = UPDATES[name], goldens.read(name)["request"]
    found, stage = WEBHOOKS[str(asked["new"]["kind"])]
    ours = [change.upstream for change in found(_stored(asked["new"]), _stored(asked["old"]))]
    if real["stage"] in (None, stage):  # else nobody asked the webhook
        assert ours == [error["message"] for error in real["errors"]]


def test_updates_reach_the_webhooks() -> None:
    stages = [goldens.read(name)["request"]["stage"] for name in UPDATES]
    assert stages.count("jobset-webhook") >= 5
    assert stages.count("webhook") >= 1
    assert stages.count(None) >= 9


def _stored(data: JsonObject) -> JsonObject:
    return request({"new": data}).stored


LABEL = "metadata.labels[kueue.x-k8s.io/{}]: Invalid value: {}".format
FIXED = "field is immutable"
CLASS = "WorkloadPriorityClass cannot be {} a{} workload".format


@pytest.mark.parametrize("key", ["queue-name", "prebuilt-workload-name", "max-exec-time-seconds", "priority-class"])
def test_changed_labels_of_kueue(key: str) -> None:
    """What Kueue v0.17.0 pkg/controller/jobframework/validation.go says about each label."""
    is_priority, is_time = key == "priority-class", key == "max-exec-time-seconds"
    for old, new in product((None, "", "a", "b"), repeat=2):
        for was, now in product((False, True), repeat=2):
            before, after = ({"kueue.x-k8s.io/" + key: value} if value is not None else {} for value in (old, new))
            first, second = ({**jobset(), "metadata": {"labels": labels}} for labels in (before, after))
            first, second = suspended(first) if was else first, suspended(second) if now else second
            found = [change.upstream for change in kueue_changes(second, first, waits=False)]
            in_queue = [change.upstream for change in kueue_changes(second, first, waits=True)]
            removed = is_priority and bool(old) and not new
            expected = [LABEL(key, '""') + ": " + CLASS("removed from", "")] if removed else []
            assert in_queue == expected
            is_allowed = (now and (was or not is_time)) or (is_priority and old) or (old or "") == (new or "")
            if not is_allowed:
                text = CLASS("added to", " non-suspended") if is_priority else FIXED
                expected = [LABEL(key, f'"{new or ""}"') + ": " + text]
            assert found == expected


def jobset(**pod: Json) -> JsonObject:
    template: JsonObject = {"metadata": pod.pop("metadata", {}), "spec": {"containers": [{"name": "c"}], **pod}}
    job: JsonObject = {"name": "node", "replicas": 1, "template": {"spec": {"template": template}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "j"},
        "spec": {"replicatedJobs": [job]},
    }


def suspended(data: JsonObject) -> JsonObject:
    spec = data["spec"]
    assert isinstance(spec, dict)
    return {**data, "spec": {**spec, "suspend": True}}


POD_CHANGES: dict[str, JsonObject] = {
    "labels": {"metadata": {"labels": {"a": "b"}}},
    "annotations": {"metadata": {"annotations": {"a": "b"}}},
    "nodeSelector": {"nodeSelector": {"a": "b"}},
    "tolerations": {"tolerations": [{"key": "a"}]},
    "schedulingGates": {"schedulingGates": [{"name": "a.b/c"}]},
}


@pytest.mark.parametrize("change", POD_CHANGES)
@pytest.mark.parametrize("turned", [False, True])
def test_what_may_change_while_a_jobset_is_suspended(change: str, turned: bool) -> None:
    one, other = jobset(), jobset(**POD_CHANGES[change])
    new, old = (one, other) if turned else (other, one)
    assert [found.path for found in jobset_changes(new, old)] == [("spec", "replicatedJobs")]
    assert not list(jobset_changes(suspended(new), old))
    assert not list(jobset_changes(new, suspended(old)))
    assert list(jobset_changes(suspended(jobset(hostNetwork=True)), old)), "anything else may not"


def test_quantities_are_compared_as_quantities() -> None:
    def limited(cpu: str) -> JsonObject:
        return jobset(containers=[{"name": "c", "resources": {"limits": {"cpu": cpu}}}])

    assert not list(jobset_changes(limited("1000m"), limited("1")))
    assert list(jobset_changes(limited("1001m"), limited("1")))


def test_what_is_empty_is_absent() -> None:
    assert not list(jobset_changes(jobset(nodeSelector={}, tolerations=[]), jobset()))


def test_another_order_of_jobs_is_a_change() -> None:
    def ordered(*names: str) -> JsonObject:
        data = jobset()
        jobs = [{**get(data, "spec", "replicatedJobs", 0), "name": name} for name in names]  # type: ignore[dict-item]
        return {**data, "spec": {"replicatedJobs": [*jobs]}}

    assert list(jobset_changes(ordered("a", "b"), ordered("b", "a")))
    assert not list(jobset_changes(ordered("a", "b"), ordered("a", "b")))


def test_secrets_do_not_get_into_the_webhooks_text() -> None:
    new = jobset(containers=[{"name": "c", "env": [{"name": "API_TOKEN", "value": "hunter2"}]}])
    (found,) = jobset_changes(new, jobset())
    assert '{"name":"API_TOKEN","value":"***"}' in found.upstream
    assert "hunter2" not in found.upstream
    assert get(new, "spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "env", 0) == {
        "name": "API_TOKEN",
        "value": "hunter2",
    }


def config_map(**content: Json) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **content}


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        ({"immutable": True, "data": {"a": "b"}}, []),
        ({"immutable": True, "data": {"a": "c"}}, ["data"]),
        ({"immutable": True}, ["data"]),
        ({"data": {"a": "b"}}, ["immutable"]),
        ({"immutable": False, "data": {"a": "b"}, "binaryData": {"x": "eA=="}}, ["immutable", "binaryData"]),
        ({"immutable": True, "data": {"a": "b"}, "binaryData": {}}, []),
    ],
)
def test_an_immutable_config_map(new: JsonObject, refused: list[str]) -> None:
    old: JsonObject = {"data": {"a": "b"}}
    found = [change.upstream for change in refused_changes(config_map(**new), config_map(immutable=True, **old))]
    assert found == [f"{name}: Forbidden: field is immutable when `immutable` is set" for name in refused]
    for own in ({}, {"immutable": False}):
        assert not list(refused_changes(config_map(**new), config_map(**own, **old))), "it may become immutable"


CLAIMS: tuple[tuple[JsonObject, JsonObject, list[str]], ...] = (
    ({"storageClassName": ""}, {}, ["spec.storageClassName"]),
    ({}, {"storageClassName": ""}, []),  # the class may be that of the cluster
    ({"selector": {}}, {}, ["spec.selector"]),
    ({}, {"selector": {}}, ["spec.selector"]),
    ({"volumeName": ""}, {}, []),
    ({}, {"dataSource": None}, []),
)
CLONE: JsonObject = {"kind": "PersistentVolumeClaim", "name": "a"}
FILLED: JsonObject = {"apiGroup": "example.com", "kind": "Dump", "name": "a"}
CLONED_TWICE: JsonObject = {"dataSource": CLONE, "dataSourceRef": {**CLONE, "namespace": "b"}}
SOURCES: tuple[tuple[JsonObject, JsonObject, list[str]], ...] = (
    ({}, {"dataSourceRef": CLONE}, ["spec.dataSourceRef"]),
    ({}, {"dataSource": CLONE}, ["spec.dataSource"]),
    ({"dataSource": CLONE}, {}, ["spec.dataSource"]),
    ({"dataSource": CLONE}, {"dataSourceRef": CLONE}, []),  # the server fills both fields
    ({"dataSource": CLONE}, {"dataSource": {**CLONE, "name": "b"}}, ["spec.dataSource"]),
    ({"dataSource": CLONE}, {"dataSource": {**CLONE, "apiGroup": ""}}, ["spec.dataSource"]),
    ({"dataSource": FILLED}, {}, []),  # the server has dropped it
    ({"dataSourceRef": FILLED}, {}, ["spec.dataSourceRef"]),
    ({"dataSourceRef": {**FILLED, "namespace": "b"}}, {}, []),
    ({"dataSourceRef": FILLED}, {"dataSourceRef": {**FILLED, "namespace": "b"}}, ["spec.dataSourceRef"]),
    ({"dataSource": CLONE}, CLONED_TWICE, ["spec.dataSourceRef"]),
    (CLONED_TWICE, CLONED_TWICE, ["spec.dataSourceRef"]),  # the server has dropped it, and drops it only once
)


@pytest.mark.parametrize(("old", "new", "refused"), (*CLAIMS, *SOURCES))
def test_a_claim(old: JsonObject, new: JsonObject, refused: list[str]) -> None:
    claim: JsonObject = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    found = [dotted(change.path) for change in refused_changes({**claim, "spec": new}, {**claim, "spec": old})]
    assert found == refused
