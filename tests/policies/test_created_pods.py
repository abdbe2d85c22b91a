"""The Jobs and pods to be, against those that upstream's own code makes (tests/oracle/childgoldens.py)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from oracle import celrunner, childgoldens
from trainc.basics.jsonvalues import Path
from trainc.checks.created_pods import (
    created_claims,
    created_objects,
    created_pod,
    created_service,
    ephemeral_claims,
    only_in_clusters,
)
from trainc.checks.server_forms import server_form
from trainc.kube.generated import JOB_UID
from trainc.kube.pods import default_pod

CASES = childgoldens.read()
BY_PLUGINS = ("tolerations", "serviceAccountName", "serviceAccount", "affinity")
"""What admission plugins and JobSet's webhook, which the oracle does not run, fill in of a pod's spec."""

PREFERRED = ("affinity", "podAffinity", "preferredDuringSchedulingIgnoredDuringExecution")


def without(value: Any, path: Path) -> None:
    first, *rest = path
    if isinstance(value, list):
        without(value[first], tuple(rest))  # type: ignore[call-overload]
    elif rest and first in value:
        without(value[first], tuple(rest))
    elif first in value:
        del value[first]


@pytest.mark.parametrize("jobset, expected", CASES, ids=[jobset["metadata"]["name"] for jobset, _ in CASES])
def test_controllers_make_the_same(jobset: dict[str, Any], expected: list[Any]) -> None:
    made = list(created_objects(jobset))
    assert [child.data["kind"] for child in made] == [one["kind"] for one in expected]
    for child, one in zip(made, expected, strict=True):
        ours, theirs = copy.deepcopy(child.data), copy.deepcopy(one)
        # The Jobs of the oracle have no owner: the controller sets it when it sends them.
        owners = theirs["metadata"].setdefault("ownerReferences", ours["metadata"]["ownerReferences"])
        assert owners[0]["kind"] == {"Job": "JobSet", "Pod": "Job"}[theirs["kind"]]
        for path in child.unknown:
            without(ours, path)
            without(theirs, path)
        theirs["metadata"].pop("uid", None)
        if theirs["kind"] == "Pod":
            for field in BY_PLUGINS:
                if field not in theirs["spec"] or field == "tolerations":
                    ours["spec"].pop(field, None)  # type: ignore[union-attr]
                    theirs["spec"].pop(field, None)
        assert ours == theirs


def test_places_in_the_jobset() -> None:
    jobset, _ = CASES[0]
    templates = [child.template for child in created_objects(jobset)]
    assert templates[:2] == [
        ("spec", "replicatedJobs", 0, "template"),
        ("spec", "replicatedJobs", 0, "template", "spec", "template"),
    ]
    assert len(templates) == 6, "one of four replicated jobs has no replica"


def test_without_pods() -> None:
    jobset = copy.deepcopy(CASES[1][0])
    jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] = 0
    assert [child.data["kind"] for child in created_objects(jobset)] == ["Job"]


def test_service() -> None:
    network: dict[str, Any] = {"enableDNSHostnames": True}
    jobset: dict[str, Any] = {"metadata": {"name": "one", "namespace": "team"}, "spec": {"network": network}}
    (child,) = created_service(jobset)
    assert child.data["metadata"]["name"] == "one"  # type: ignore[index, call-overload]
    assert child.data["spec"] == {
        "clusterIP": "None",
        "selector": {"jobset.sigs.k8s.io/jobset-name": "one"},
        "publishNotReadyAddresses": True,
    }
    network |= {"subdomain": "sub", "publishNotReadyAddresses": False}
    (child,) = created_service(jobset)
    assert child.data["metadata"]["name"] == "sub"  # type: ignore[index, call-overload]
    assert child.data["spec"]["publishNotReadyAddresses"] is False  # type: ignore[index, call-overload]
    network["enableDNSHostnames"] = False
    assert not list(created_service(jobset))


def test_claims() -> None:
    template = {"metadata": {"name": "data", "labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    policies = [{"templates": [template], "retentionPolicy": {"whenDeleted": when}} for when in ("Retain", "Delete")]
    jobset: Any = {"metadata": {"name": "one", "namespace": "team"}, "spec": {"volumeClaimPolicies": policies}}
    kept, owned = created_claims(jobset)
    assert kept.data["metadata"] == {
        "name": "data-one",
        "namespace": "team",
        "labels": {"a": "b", "jobset.sigs.k8s.io/jobset-name": "one"},
    }
    assert kept.data["spec"] == template["spec"]
    assert owned.template == ("spec", "volumeClaimPolicies", 1, "templates", 0)
    assert owned.unknown == (("metadata", "ownerReferences", 0, "uid"),)


def test_claims_of_ephemeral_volumes() -> None:
    jobset = copy.deepcopy(CASES[0][0])
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    volume = next(each for each in pod["spec"]["volumes"] if "ephemeral" in each)
    volume["ephemeral"]["volumeClaimTemplate"]["metadata"] = {"labels": {"a": "b"}, "annotations": {}}
    (claim,) = (claim for child in created_objects(jobset) for claim in ephemeral_claims(child))
    metadata: Any = claim.data["metadata"]
    assert metadata["namespace"] == "team"
    assert metadata["labels"] == {"a": "b"}
    assert metadata["ownerReferences"][0]["kind"] == "Pod"
    assert not {"name", "annotations"} & metadata.keys()
    assert claim.data["spec"]["volumeMode"] == "Filesystem"  # type: ignore[index, call-overload]
    assert claim.template[-3:] == (pod["spec"]["volumes"].index(volume), "ephemeral", "volumeClaimTemplate")
    assert ("metadata", "name") in claim.unknown


def test_what_admission_plugins_add() -> None:
    spec = default_pod({"containers": []})
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"
    assert [rule["key"] for rule in spec["tolerations"]] == [  # type: ignore[union-attr, index, call-overload]
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    tolerant = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    for given, count in ((tolerant, 2), ({"operator": "Exists"}, 1), ({**tolerant, "effect": "NoSchedule"}, 3)):
        assert len(default_pod({"tolerations": [given]})["tolerations"]) == count  # type: ignore[arg-type]


@pytest.mark.parametrize("at", ["template", "pod"])
def test_webhook_of_jobset_adds_affinities_for_exclusive_placement(at: str) -> None:
    """As setExclusiveAffinities of JobSet's pod_webhook.go has them, beside those of the pod."""
    jobset = copy.deepcopy(CASES[1][0])
    jobset["metadata"].pop("annotations", None)
    template = jobset["spec"]["replicatedJobs"][0]["template"]
    owner = template if at == "template" else template["spec"]["template"]
    owner["metadata"] = {"annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}}
    own = {"topologyKey": "zone"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    spec = template["spec"]["template"]["spec"]
    spec |= {"affinity": {"podAffinity": {required: [own]}}, "priority": 5}
    pod: Any = next(child.data for child in created_objects(jobset) if child.data["kind"] == "Pod")
    key, affinity = "jobset.sigs.k8s.io/job-key", pod["spec"]["affinity"]
    job = pod["metadata"]["labels"][key]
    (first, same), (others,) = (affinity[field][required] for field in ("podAffinity", "podAntiAffinity"))
    assert first["topologyKey"] == "zone"
    expected: Any = {"topologyKey": "rack", "namespaceSelector": {}}
    expressions: Any = [{"key": key, "operator": "In", "values": [job]}]
    assert same == {**expected, "labelSelector": {"matchExpressions": expressions}}
    expressions = [
        {"key": key, "operator": "Exists"},
        {"key": key, "operator": "NotIn", "values": [job]},
        {"key": "jobset.sigs.k8s.io/priority", "operator": "In", "values": ["5"]},
    ]
    assert others == {**expected, "labelSelector": {"matchExpressions": expressions}}
    del spec["priority"]
    unknown = next(child.unknown for child in created_objects(jobset) if child.data["kind"] == "Pod")
    path = ("spec", "affinity", "podAntiAffinity", required, 0, "labelSelector", "matchExpressions", 2, "values")
    assert path in unknown, "only the cluster knows the value of a priority class"


@pytest.mark.go
def test_live() -> None:
    if reason := celrunner.missing():
        pytest.skip(reason)
    assert childgoldens.answers([CASES[0][0]]) == [CASES[0][1]]


_PAGES = {"hugepages-2Mi": "2Mi"}


@pytest.mark.parametrize(
    "own, completed",
    [
        (None, None),
        ({"limits": {}}, {"limits": {}}),
        ({"limits": {"cpu": "4"}}, {"limits": {"cpu": "4", **_PAGES}, "requests": {"cpu": "1", **_PAGES}}),
        (
            {"limits": {"memory": "1Gi"}},
            {"limits": {"memory": "1Gi", **_PAGES}, "requests": {"cpu": "1", "memory": "1Gi", **_PAGES}},
        ),
        (
            {"limits": {"hugepages-2Mi": "4Mi"}},
            {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}},
        ),
        ({"requests": {"cpu": "2"}}, {"limits": _PAGES, "requests": {"cpu": "2", **_PAGES}}),
        ({"requests": _PAGES}, {"requests": _PAGES}),
    ],
)
def test_containers_add_to_the_resources_of_a_pod(own: Any, completed: Any) -> None:
    """Kubernetes 1.34 pkg/apis/core/v1/defaults.go: defaultPodRequests and defaultHugePagePodLimits."""
    container = {"name": "c", "resources": {"limits": {"cpu": "1", **_PAGES}}}
    assert default_pod({"containers": [container], "resources": own})["resources"] == completed


def test_what_a_pod_names_itself_is_known() -> None:
    """The plugin Priority of Kubernetes 1.34 refuses a pod with another priority or policy than its class has."""
    pod: Any = {"spec": {"containers": [], "priority": 5, "preemptionPolicy": "Never", "imagePullSecrets": []}}
    assert [path[1] for path in only_in_clusters(pod) if path[0] == "spec"] == ["priorityClassName", "imagePullSecrets"]


def test_uids_in_selectors_are_unknown() -> None:
    """The server copies the labels that matchLabelKeys names into the selector."""
    term = {"labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["controller-uid", "job-name"]}
    affinity = {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"podAffinityTerm": term}]}}
    spec = {"containers": [], "affinity": affinity, "topologySpreadConstraints": [term]}
    job: Any = {"metadata": {"name": "a"}, "spec": {"template": {"metadata": {}, "spec": spec}}}
    (pod,) = created_pod(server_form({"apiVersion": "batch/v1", "kind": "Job", **job}).data)
    assert [path[1:] for path in pod.unknown if path[-1] == "values"] == [
        (*PREFERRED, 0, "podAffinityTerm", "labelSelector", "matchExpressions", 0, "values"),
        ("topologySpreadConstraints", 0, "labelSelector", "matchExpressions", 0, "values"),
    ]


def test_values_beside_what_looks_like_a_uid_are_known() -> None:
    """Otherwise, a policy on them would be undecided."""
    row = {"key": "app", "operator": "In", "values": ["a", JOB_UID]}
    spec = {"containers": [], "topologySpreadConstraints": [{"labelSelector": {"matchExpressions": [row]}}]}
    job: Any = {"metadata": {"name": "a"}, "spec": {"template": {"metadata": {}, "spec": spec}}}
    (pod,) = created_pod(server_form({"apiVersion": "batch/v1", "kind": "Job", **job}).data)
    assert not [path for path in pod.unknown if path[-1] == "values"]
