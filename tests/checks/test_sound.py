"""That a Job is told to be sound just where no check finds anything, whatever of it was left out of the comparison."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_cases import changed, fine, mixed_specs, single_specs

from effort import share
from trainc.basics.jsonvalues import JsonObject, paths
from trainc.checks.jobs import abridged, faults_of, is_sound
from trainc.kube.gotypes import decode

C = "template.spec.containers.0."
S = "template.spec."
METADATA: dict[str, Any] = {"labels": {"team": "a"}, "annotations": {"any.thing": "at all"}}
LEFT_OUT = (
    *(f"{C}{field}" for field in ("image", "command.0", "args.1", "env.0.name", "env.0.value")),
    *(f"{C}env.3.valueFrom.secretKeyRef.{field}" for field in ("name", "key")),
    f"{S}subdomain",
    *(f"{S}volumes.{at}" for at in ("2.persistentVolumeClaim.claimName", "3.configMap.name", "5.secret.secretName")),
    *("template.metadata.labels.team", "template.metadata.annotations.note"),
)
"""The places of texts that may not be compared."""

KEYS = ("template.metadata.labels", "template.metadata.annotations")
TEXTS = st.sampled_from(("", " ", "a", "a b", " a", "A", "a_b", "a.b", "=", "é", "\ud800", "-", "x" * 64, "x" * 300))


def made(spec: dict[str, Any], metadata: dict[str, Any] = METADATA) -> JsonObject:
    """Return a Job as the checks see it: typed, and with what JobSet adds to its pods left as it is."""
    typed = decode(spec, "v1.JobSpec")
    assert isinstance(typed, dict)
    return {"metadata": deepcopy(metadata), "spec": typed}


def full() -> dict[str, Any]:
    """Return the fine spec with something at every place of LEFT_OUT."""
    spec = fine()
    changed(spec, (f"{C}command", ["a"]))
    changed(spec, (f"{C}args", ["a", "b"]))
    changed(spec, (f"{C}env.+", {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "token", "key": "token"}}}))
    changed(spec, (f"{S}volumes.+", {"name": "keys", "secret": {"secretName": "keys"}}))
    return spec


def write(spec: dict[str, Any], place: str, text: str) -> None:
    """Put a text in place of the one at a dotted path."""
    *steps, last = (int(step) if step.isdigit() else step for step in place.split("."))
    at: Any = spec
    for step in steps:
        at = at[step]
    assert isinstance(at[last], str)
    at[last] = text


def agree(job: JsonObject) -> bool:
    """Assert that a Job is sound if and only if it has no problem; tell which."""
    found = faults_of(job)
    assert is_sound(job) == (not found), found
    assert faults_of(abridged(job)) == [] or found, "what is left out hides nothing, and makes nothing"
    return not found


def test_sound_are_those_without_problems() -> None:
    seen = [agree(made(spec)) for spec in (*single_specs(), *mixed_specs(share(400), 7))]
    assert seen.count(True) > 30
    assert seen.count(False) > 200


@given(st.lists(st.tuples(st.sampled_from(LEFT_OUT), TEXTS), max_size=3), st.dictionaries(TEXTS, TEXTS, max_size=2))
def test_texts_that_are_left_out(changes: list[tuple[str, str]], labels: dict[str, str]) -> None:
    spec = full()
    for place, text in changes:
        write(spec, place, text)
    agree(made(spec, {"labels": labels}))


@pytest.mark.parametrize("more", [{"value": "v"}, {"value": ""}, {"name": "="}])
@pytest.mark.parametrize("kinds", ["secretKeyRef", "configMapKeyRef", "fieldRef", "secretKeyRef configMapKeyRef", ""])
def test_variables_of_keys(kinds: str, more: dict[str, str]) -> None:
    spec = fine()
    source = {kind: {"name": "a", "key": "b", "fieldPath": "metadata.name"} for kind in kinds.split()}
    changed(spec, (f"{C}env.+", {"name": "TOKEN", "valueFrom": source, **more}))
    assert agree(made(spec)) is (len(source) == 1 and more == {"value": ""})


@given(st.sampled_from(KEYS), st.dictionaries(TEXTS, TEXTS, max_size=2))
def test_labels_and_annotations(at: str, values: dict[str, str]) -> None:
    spec = full()
    changed(spec, (at, values))
    agree(made(spec))


@given(st.data())
def test_any_scalar(data: st.DataObject) -> None:
    """Whatever stands at any place, whether its type is the field's or not."""
    job = made(full())
    path = data.draw(st.sampled_from([path for path in paths(job) if path]))
    owner: Any = job
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = data.draw(st.one_of(TEXTS, st.sampled_from((None, True, 0, -1, 1.5, [], {}, ["a"], {"a": "b"}))))
    try:
        found = faults_of(job)
    except Exception as error:  # noqa: BLE001 - of a type that no cluster lets pass
        with suppress(type(error)):
            assert not is_sound(job)
    else:
        assert not (is_sound(job) and found)


@pytest.mark.parametrize("size", [64 * 1024 - 40, 64 * 1024 + 40, 256 * 1024 - 40, 256 * 1024 + 40])
def test_long_annotations(size: int) -> None:
    spec = full()
    changed(spec, ("template.metadata.annotations", {"a": "x" * size}))
    assert agree(made(spec)) is (size < 256 * 1024)


def test_what_nobody_judges_is_not_compared() -> None:
    one, other = full(), full()
    for place in LEFT_OUT:
        write(other, place, "other")
    assert made(one) != made(other)
    assert abridged(made(one)) == abridged(made(other))


def test_what_is_nested_too_deeply_is_left_to_the_checks() -> None:
    job = made(full())
    deep: Any = []
    for _ in range(3000):
        deep = [deep]
    assert not is_sound({**job, "spec": {**job["spec"], "deep": deep}})  # type: ignore[dict-item]
