"""The walk that prunes, defaults and validates: case by case, and what holds of every object."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from corpus import documents, jobsets, mutated, partly_lasting
from hypothesis import example, given
from hypothesis import strategies as st
from schema_cases import ALL_KINDS, Data, Objects, resource_of

from trainc.admission.jobset import admit_jobset, default
from trainc.basics.jsonvalues import Path
from trainc.basics.memo import last
from trainc.kube.gotypes import GoDecodeError
from trainc.schema import Resource, Structural, admit, formats, parse, resource
from trainc.schema.kinds import BUILT_IN, Registry
from trainc.schema.walk import STORE, node_of
from trainc.schema.wording import UNKNOWN, Failures

TEXT: Any = {"type": "string"}


seeds = st.integers(0, 2**32)


def stored(schema: Structural, data: Data) -> tuple[Data, tuple[Path, ...]]:
    """Return a whole object as it is stored, and the paths of what was dropped."""
    faults = Failures()
    kept = node_of(schema, STORE, whole=True).visit(data, faults)
    return kept, tuple(fault.path for fault in faults if fault.keyword == UNKNOWN)


def schema_of(**properties: Any) -> Structural:
    return parse({"type": "object", "properties": properties})


@pytest.mark.parametrize(
    ("properties", "data", "kept", "dropped"),
    [
        ({"a": TEXT}, {"a": "x", "b": 1}, {"a": "x"}, [("b",)]),
        ({"a": TEXT}, {"a": {"b": 1, "c": {}}}, {"a": {}}, [("a", "b"), ("a", "c")]),
        ({"a": TEXT}, {"a": [{"b": 1}, 2, [{"c": 3}]]}, {"a": [{}, 2, [{}]]}, [("a", 0, "b"), ("a", 2, 0, "c")]),
        ({"a": {"type": "array", "items": {"type": "object"}}}, {"a": [{"b": 1}]}, {"a": [{}]}, [("a", 0, "b")]),
        (
            {"m": {"additionalProperties": TEXT}},
            {"m": {"x": "1", "y": {"z": 1}}},
            {"m": {"x": "1", "y": {}}},
            [("m", "y", "z")],
        ),
        ({"m": {"additionalProperties": True}}, {"m": {"x": {"y": 1}}}, {"m": {"x": {}}}, [("m", "x", "y")]),
        ({"a": {"x-kubernetes-preserve-unknown-fields": True}}, {"a": {"b": [{"c": 1}]}}, {"a": {"b": [{"c": 1}]}}, []),
        (
            {},
            {"metadata": {"anything": 1}, "kind": "K", "spec": 1},
            {"metadata": {"anything": 1}, "kind": "K"},
            [("spec",)],
        ),
    ],
)
def test_prune(properties: Any, data: Any, kept: Any, dropped: Any) -> None:
    assert stored(schema_of(**properties), data) == (kept, tuple(dropped))


def test_preserving_reaches_through_lists_but_not_into_known_fields() -> None:
    item = {"type": "object", "properties": {"a": {"type": "object"}}}
    schema = schema_of(l={"type": "array", "items": item, "x-kubernetes-preserve-unknown-fields": True})
    data = {"l": [{"a": {"gone": 1}, "b": {"kept": 1}}]}
    assert stored(schema, data) == ({"l": [{"a": {}, "b": {"kept": 1}}]}, (("l", 0, "a", "gone"),))
    assert data == {"l": [{"a": {"gone": 1}, "b": {"kept": 1}}]}


@pytest.mark.parametrize(
    ("properties", "data", "expected"),
    [
        ({"a": TEXT}, {"a": None}, {}),
        ({"a": {**TEXT, "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {**TEXT, "default": "d"}}, {"a": None}, {"a": "d"}),
        ({"a": {**TEXT, "default": "d", "nullable": True}}, {"a": None}, {"a": None}),
        ({"a": {**TEXT, "default": "d", "nullable": True}}, {}, {"a": "d"}),
        ({"a": {"type": "array", "items": TEXT}}, {"a": [None, "x"]}, {"a": [None, "x"]}),
        ({"a": {"type": "array", "items": {**TEXT, "default": "d"}}}, {"a": [None, "x"]}, {"a": ["d", "x"]}),
        ({"m": {"additionalProperties": TEXT}}, {"m": {"x": None}}, {"m": {}}),
        ({"m": {"additionalProperties": {**TEXT, "default": "d"}}}, {"m": {"x": None}}, {"m": {"x": "d"}}),
        ({"o": {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}}}, {}, {}),
        (
            {"o": {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}, "default": {}}},
            {},
            {"o": {"a": "d"}},
        ),
        ({"o": {"type": "object", "properties": {"a": {**TEXT, "default": "d"}}}}, {"o": {"a": ""}}, {"o": {"a": ""}}),
    ],
)
def test_nulls_and_defaults(properties: Any, data: Any, expected: Any) -> None:
    schema = schema_of(**properties)
    assert stored(schema, data)[0] == expected


def test_what_is_not_touched_is_the_argument_itself() -> None:
    schema = schema_of(a={"type": "object", "properties": {"b": TEXT}}, c={**TEXT, "default": "d"})
    data: Any = {"a": {"b": "x"}, "c": "y"}
    assert stored(schema, data)[0] is data
    partly: Any = {"a": {"b": "x"}, "z": 1}
    assert stored(schema, partly)[0]["a"] is partly["a"]


def trainjob(**more: Any) -> Any:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "j"},
        "spec": {"runtimeRef": {"name": "rt"}},
        **more,
    }


def test_a_status_is_not_stored_and_its_unknown_fields_are_told() -> None:
    admitted = admit(resource("TrainJob"), trainjob(status={"conditions": "x", "bogus": 1}))
    assert "status" not in admitted.data
    assert admitted.dropped == (("status", "bogus"),)
    assert admitted.violations == ()


def test_metadata_is_read_as_go_reads_it() -> None:
    metadata = {"name": "j", "labels": {"a": None}, "annotations": {}, "creationTimestamp": None, "lables": {}}
    admitted = admit(resource("TrainJob"), trainjob(metadata=metadata))
    assert admitted.data["metadata"] == {"name": "j", "labels": {"a": ""}}
    assert admitted.dropped == (("metadata", "lables"),)


def test_metadata_of_a_wrong_type_ends_admission() -> None:
    data = trainjob(metadata={"name": "j", "labels": {"a": 1}}, spec={})
    admitted = admit(resource("TrainJob"), data)
    assert admitted.data is data
    [violation] = admitted.violations
    assert violation.decode
    assert violation.path == ("metadata", "labels", "a")
    assert violation.upstream == "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"


def test_an_object_without_a_name() -> None:
    [violation, *_] = admit(resource("TrainJob"), trainjob(metadata={})).violations
    assert (violation.code, violation.path, violation.expected) == ("TC103", ("metadata",), "name")


@pytest.mark.parametrize(("keyword", "fails"), [("anyOf", False), ("oneOf", False), ("allOf", True), ("not", True)])
def test_an_alternative_that_takes_every_value_of_a_class_decides_only_any_of(keyword: str, fails: bool) -> None:
    alternatives = [{"type": "string"}, {"type": "string", "maxLength": 1}]
    schema = schema_of(a={**TEXT, keyword: alternatives[0] if keyword == "not" else alternatives})
    failures = Failures()
    node_of(schema, STORE).visit({"a": "xy"}, failures)
    assert bool(failures) is fails


def test_a_crd_does_not_replace_a_kind_of_kubernetes() -> None:
    own = resource_of("Thing")
    registry = Registry({("", "Pod"): (own,), ("example.com", "Thing"): (own,)})
    assert registry.served("example.com", "Thing") == (own,)
    assert registry.served("", "Pod") == BUILT_IN.served("", "Pod") != ()


def test_a_status_of_a_kind_of_kubernetes_may_lack_fields() -> None:
    [pod] = BUILT_IN.served("", "Pod")
    data: Data = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "a", "image": "i"}]},
    }
    assert admit(pod, {**data, "status": {"conditions": [{"type": "Ready"}]}}).violations == ()
    [violation] = admit(pod, {**data, "status": {"conditions": [{"type": 1}]}}).violations
    assert violation.path == ("status", "conditions", 0, "type")


def test_metadata_that_is_no_list_or_too_large() -> None:
    [violation] = admit(resource("TrainJob"), trainjob(metadata={"name": "j", "finalizers": "x"})).violations
    assert (violation.message, violation.expected) == ("metadata.finalizers must be a list", "a list")
    large = {"name": "j", "annotations": {"a": "x" * 300_000}}
    assert {found.upstream for found in admit(resource("TrainJob"), trainjob(metadata=large)).violations} == {
        "metadata.annotations: Too long: may not be more than 262144 bytes",
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the"
        " existing errors to complete validation",
    }


@pytest.mark.parametrize(("kind", "valid"), [("Namespace", False), ("ConfigMap", True)])
def test_a_namespace_is_named_by_a_label(kind: str, valid: bool) -> None:
    [of] = BUILT_IN.served("", kind)
    found = admit(of, {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a.b"}}).violations
    assert (found == ()) is valid


@pytest.mark.parametrize(
    ("text", "valid"), [("YWI=", True), ("YW\r\nI=", True), ("", True), ("\n", True), ("YWI", False)]
)
def test_bytes_of_a_secret_may_have_line_breaks(text: str, valid: bool) -> None:
    [secret] = BUILT_IN.served("", "Secret")
    data = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": text}}
    assert (admit(secret, data).violations == ()) is valid


def test_a_cluster_scoped_object_loses_its_namespace() -> None:
    data = {**trainjob(), "kind": "ClusterTrainingRuntime", "metadata": {"name": "rt", "namespace": "n"}, "spec": {}}
    assert admit(resource("ClusterTrainingRuntime"), data).data["metadata"] == {"name": "rt"}


def everything(resource: Any, data: Data) -> str:
    """Return what comes of admitting an object, as text."""
    before = json.dumps(data)
    found = admit(resource, data)
    assert json.dumps(data) == before, "the argument was changed"
    return json.dumps([found.data, found.dropped, [repr(violation) for violation in found.violations]])


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(seed=seeds)
def test_admission_is_idempotent(kind: str, seed: int) -> None:
    of = resource_of(kind)
    data = Objects(random.Random(seed)).make(kind)
    once = admit(of, data)
    if any(violation.decode for violation in once.violations):
        assert once.data is data
        return
    again = admit(of, once.data)
    assert again.data is once.data
    assert not again.dropped
    assert again.violations == once.violations


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(seed=seeds)
@example(seed=381945872)  # more than five owners of a TrainJob are controllers
def test_a_refused_document_has_a_violation_that_is_not_secondary(kind: str, seed: int) -> None:
    violations = admit(resource_of(kind), Objects(random.Random(seed)).make(kind)).violations
    assert not violations or not all(violation.secondary for violation in violations)
    assert all(violation.upstream and violation.message for violation in violations)


@given(seed=seeds)
def test_what_is_remembered_of_shared_parts_changes_nothing(seed: int) -> None:
    data = partly_lasting(mutated(random.Random(seed).choice((*documents(), *jobsets())), seed), seed)
    of = resource_of(data["kind"] if data.get("kind") in ALL_KINDS else "JobSet")
    alone = everything(of, copy.deepcopy(data))
    assert everything(of, data) == everything(of, data) == alone


def by_two_readings(data: Data) -> tuple[Data, bool]:
    """Return a JobSet as stored after the webhook has changed what the server has read, and whether it fits."""
    kind = resource("JobSet")
    left = admit(kind, default(admit(kind, data).data))
    return left.data, not left.violations


def compare_jobset(data: Data) -> None:
    try:
        expected, fits = by_two_readings(data)
    except GoDecodeError:
        return
    if fits:
        assert admit_jobset(data, {})[0] == expected


def test_the_webhook_of_jobset_takes_no_second_walk() -> None:
    for data in jobsets():
        compare_jobset(data)


@given(seed=seeds)
def test_changed_jobsets_are_stored_the_same(seed: int) -> None:
    compare_jobset(mutated(random.Random(seed).choice(jobsets()), seed))


def test_the_webhook_of_jobset_writes_what_go_writes() -> None:
    limits = {"cpu": "1000m", "memory": "0.5", "nvidia.com/gpu": 2, "a.b/c": None}
    container: Data = {"name": "node", "resources": {"limits": limits}, "ports": [{"containerPort": 80.0}]}
    volume: Data = {"name": "v", "emptyDir": {"sizeLimit": "0.5"}}
    pod: Data = {"containers": [container], "volumes": [volume], "restartPolicy": "", "tolerationz": 1}
    template = {"spec": {"template": {"metadata": {"labels": {"a": None}}, "spec": pod}, "parallelism": 2.0}}
    data: Data = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "j"},
        "spec": {"replicatedJobs": [{"name": "node", "replicas": 1, "template": template}]},
    }
    compare_jobset(data)
    [job] = admit_jobset(data, {})[0]["spec"]["replicatedJobs"]
    inner = job["template"]["spec"]
    stored = inner["template"]["spec"]["containers"][0]
    assert stored["resources"] == {"limits": {"cpu": "1", "memory": "500m", "nvidia.com/gpu": "2"}}
    assert stored["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert inner["template"]["spec"]["volumes"] == [{"name": "v", "emptyDir": {"sizeLimit": "500m"}}]
    assert (inner["parallelism"], "tolerationz" in inner["template"]["spec"]) == (2, False)


@pytest.mark.parametrize(
    "spec",
    [
        {"failurePolicy": {"rules": [{"name": {}}]}},
        {"replicatedJobs": [{"template": {"spec": {"template": {"spec": {"restartPolicy": {}}}}}}]},
        {"network": []},
    ],
)
def test_a_value_that_go_cannot_decode_gets_no_default(spec: Any) -> None:
    with pytest.raises(GoDecodeError):
        default({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "j"}, "spec": spec})


@given(seed=seeds)
@example(seed=6724)
def test_random_jobsets_are_stored_the_same(seed: int) -> None:
    compare_jobset(Objects(random.Random(seed)).make("JobSet"))


def test_a_nullable_item_has_no_default() -> None:
    schema = schema_of(a={"type": "array", "items": {**TEXT, "nullable": True, "default": "x"}})
    assert stored(schema, {"a": [None, "b"]}) == ({"a": [None, "b"]}, ())


def test_metadata_is_decoded_before_that_of_embedded_objects() -> None:
    embedded = {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    kind = Resource("example.com", "v1", "Thing", True, False, schema_of(e={"type": "object", **embedded}), "things")
    inner = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}}
    data = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "n", "labels": 1}, "e": inner}
    [violation] = admit(kind, data).violations
    assert (violation.code, violation.path) == ("TC108", ("metadata", "labels"))


@pytest.mark.parametrize(("field", "value", "path"), [("labels", 1, ("labels",)), ("creationTimestamp", "x", ())])
def test_metadata_that_cannot_be_decoded_has_one_code(field: str, value: object, path: Path) -> None:
    data = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "n", field: value}}
    [violation] = admit(resource("JobSet"), data).violations
    assert (violation.code, violation.path) == ("TC108", ("metadata", *path))


def test_what_is_wrong_in_a_shared_list_is_reported_each_time() -> None:
    """Objects share the parts of a runtime, and what is known about these."""
    kind = Resource("example.com", "v1", "Thing", True, False, schema_of(a={"type": "array", "items": TEXT}), "things")
    shared = last({"a": [1], "b": {}})
    for name in ("a", "b"):
        data: Any = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, **shared}
        assert [violation.path for violation in admit(kind, data).violations] == [("a", 0)]


def test_the_work_of_patterns_is_counted_for_each_object_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that objects share counts in each; what is too much once is so again."""
    items = {"type": "array", "items": {"type": "string", "pattern": "x+"}, "default": ["x" * 9] * 3}
    kind = Resource("example.com", "v1", "Thing", True, False, schema_of(a=items, b=items), "things")
    data: Any = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}}
    assert admit(kind, data).violations == ()
    work = formats.size_of("x+") * 9 * 6
    for most, codes in ((work - 1, [("TC012", "")]), (work, []), (work - 1, [("TC012", "")])):
        monkeypatch.setattr(formats, "MOST_WORK", most)
        assert [(each.code, each.upstream) for each in admit(kind, data).violations] == codes
