"""The walk that says only yes, and the passes behind it: where it does, they make the same, and find nothing."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from corpus import documents, jobsets, mutated, partly_lasting
from hypothesis import given, settings
from hypothesis import strategies as st
from schema_cases import ALL_KINDS, METADATA, Data, Objects, resource_of

from trainc.admit import crd, generated, rules
from trainc.admit.crd import TYPES, admit_document
from trainc.admit.generated import admit_jobset
from trainc.admit.jobsetdefaults import default
from trainc.kube.gotypes import JOB_SET, GoDecodeError, decode
from trainc.schema import Go, Resource, admission, fit, read, validate_object
from trainc.schema.metadata import OBJECT_META, read_metadata
from trainc.schema.metarules import object_meta_violations
from trainc.schema.plainmeta import is_plain
from trainc.source import Document, Source

seeds = st.integers(0, 2**32)


def by_passes(resource: Resource, data: Data) -> tuple[Data, bool]:
    """Return what read and validate_object make of data, and whether they have anything to say."""
    decoded = read(resource, data)
    if decoded.violations or decoded.dropped:
        return decoded.data, False
    return decoded.data, not validate_object(resource, decoded.data)


def read_twice(data: Data) -> Data:
    """Return a JobSet as its server stores it, by the passes."""
    kind = resource_of("JobSet")
    return read(kind, default(read(kind, data).data)).data


def same(one: Any, other: Any) -> bool:
    """Compare by types and order, too."""
    return json.dumps(one) == json.dumps(other)


def any_null(data: Any) -> bool:
    """Tell whether there is a null in data."""
    return data is None or any(
        map(any_null, data.values() if isinstance(data, dict) else data if isinstance(data, list) else ())
    )


GO_TYPES = {**TYPES, "JobSet": JOB_SET}


def is_readable(data: Data, struct: str) -> bool:
    """Tell whether Go can decode data."""
    try:
        decode(data, struct)
    except GoDecodeError:
        return False
    return True


def agree(resource: Resource, data: Data) -> bool:
    """Compare the two on one object; tell whether it fits."""
    before = json.dumps(data)
    fitted = fit(resource, data)
    if fitted is not None:
        stored, clean = by_passes(resource, data)
        assert clean
        assert same(fitted, stored)
    if (struct := GO_TYPES.get(resource.kind)) and (readable := fit(resource, data, Go(struct))) is not None:
        assert fitted is not None
        assert same(readable, fitted)
        assert is_readable(readable, struct)
    assert json.dumps(data) == before
    return fitted is not None


@pytest.mark.parametrize("kind", ALL_KINDS)
@given(seed=seeds)
@settings(max_examples=150, deadline=None)
def test_what_fits_is_what_the_passes_make_of_random_objects(kind: str, seed: int) -> None:
    agree(resource_of(kind), Objects(random.Random(seed)).make(kind))


@given(seed=seeds)
@settings(max_examples=300, deadline=None)
def test_what_fits_is_what_the_passes_make_of_changed_documents(seed: int) -> None:
    data = random.Random(seed).choice(documents())
    agree(resource_of(data["kind"]), mutated(data, seed))


def test_what_the_passes_find_nothing_in_fits() -> None:
    fitting = dict.fromkeys(ALL_KINDS, 0)
    for data in (*documents(), *jobsets()):
        resource = resource_of(data["kind"])
        fits, (_, clean) = agree(resource, data), by_passes(resource, data)
        fitting[data["kind"]] += fits
        if struct := GO_TYPES.get(resource.kind):
            assert (fit(resource, data, Go(struct)) is not None) == (fits and is_readable(data, struct))
        plain = is_plain(data.get("metadata"), namespaced=resource.namespaced) and "status" not in data
        assert fits == (clean and plain and not any_null(data)), data
    assert all(count > 10 for kind, count in fitting.items() if kind not in ("Thing", "TrainingRuntime")), fitting


@pytest.mark.parametrize("faithful", [True, False])
@given(seed=seeds)
@settings(max_examples=100, deadline=None)
def test_findings_are_those_of_the_passes(faithful: bool, seed: int) -> None:
    choice = random.Random(seed)
    given_data = choice.choice([data for data in documents() if data["kind"] in TYPES])
    data = {**mutated(given_data, seed), "kind": given_data["kind"]}
    document = Document(Source("a.yaml", ""), data)
    admitted = admit_document(document, "crd", "webhook", faithful=faithful)
    with pytest.MonkeyPatch.context() as patch:
        for module in (crd, admission):
            patch.setattr(module, "fit", lambda *_: None)
        patch.setattr(rules, "hold_on_create", lambda *_: False)
        slowly = admit_document(document, "crd", "webhook", faithful=faithful)
    assert same(admitted.document.data, slowly.document.data)
    assert [repr(found) for found in admitted.findings] == [repr(found) for found in slowly.findings]


def compare_jobset(data: Data) -> bool:
    """Compare a JobSet in one walk and in two readings; tell whether the walk was enough."""
    before = json.dumps(data)
    fitted = generated._fitted(data)
    if fitted is not None:
        try:
            stored = read_twice(data)
        except GoDecodeError as error:
            pytest.fail(f"Go cannot decode what fits: {error}")
        assert same(fitted, stored)
        assert validate_object(resource_of("JobSet"), stored) == ()
        assert same(admit_jobset(data, {})[0], stored)
    assert json.dumps(data) == before
    return fitted is not None


def test_jobsets_of_the_cases_take_one_walk() -> None:
    kind, fitting = resource_of("JobSet"), 0
    for data in jobsets():
        fits, (_, clean) = compare_jobset(data), by_passes(kind, read_twice(data))
        fitting += fits
        named = all(rule["name"] for rule in data["spec"].get("failurePolicy", {}).get("rules", ()))
        assert fits == (clean and named), data
    assert fitting > 200


@given(seed=seeds)
@settings(max_examples=500, deadline=None)
def test_changed_jobsets_are_stored_the_same(seed: int) -> None:
    compare_jobset(mutated(random.Random(seed).choice(jobsets()), seed))


@given(seed=seeds)
@settings(max_examples=150, deadline=None)
def test_random_jobsets_are_stored_the_same(seed: int) -> None:
    compare_jobset(Objects(random.Random(seed)).make("JobSet"))


@given(seed=seeds)
@settings(max_examples=500, deadline=None)
def test_of_parts_that_last_the_same_is_made(seed: int) -> None:
    data = partly_lasting(mutated(random.Random(seed).choice((*documents(), *jobsets())), seed), seed)
    resource = resource_of(data["kind"] if data.get("kind") in ALL_KINDS else "JobSet")
    before = agree(resource, data)
    assert agree(resource, data) == before
    assert agree(resource, copy.deepcopy(data)) == before
    if resource.kind == "JobSet":
        assert compare_jobset(data) == compare_jobset(data) == compare_jobset(copy.deepcopy(data))


PLAIN = {"name": "a-b.c", "namespace": "team-a", "labels": {"a/b": "c", "d": ""}, "annotations": {"E.f": "é", "g": ""}}


@pytest.mark.parametrize("namespaced", [True, False])
@given(metadata=st.sampled_from([{"name": "n", **given} for given in METADATA]) | st.just(PLAIN), seed=seeds)
@settings(max_examples=200, deadline=None)
def test_plain_metadata_is_good_metadata(namespaced: bool, metadata: Data, seed: int) -> None:
    for given_data in (metadata, mutated({**PLAIN, **metadata}, seed)):
        if not is_plain(given_data, namespaced=namespaced):
            continue
        resource = resource_of("TrainJob" if namespaced else "ClusterTrainingRuntime")
        assert decode(given_data, OBJECT_META) == given_data
        whole = {"metadata": given_data}
        assert read_metadata(resource, whole) == (whole, (), None)
        assert object_meta_violations(given_data, namespaced=namespaced) == ()


def test_metadata_of_the_usual_sort_is_plain() -> None:
    usual = {**PLAIN, "annotations": {"g": "any text", "trainc.dev/run": "2"}}
    assert is_plain(usual, namespaced=True)
    assert not is_plain(usual, namespaced=False)
    assert is_plain({"name": "n"}, namespaced=False)
    assert not is_plain({"name": "n", "labels": {}}, namespaced=True)
    assert not is_plain({}, namespaced=True)
