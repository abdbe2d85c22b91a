"""Fields as people write them, and objects before them."""

from __future__ import annotations

import pytest
from everything import built
from hypothesis import given
from hypothesis import strategies as st

from trainc.basics.jsonvalues import JsonObject, Path, dotted, get, paths
from trainc.provenance.explain import Miss, Unknown, choose, find

DATA: JsonObject = {
    "metadata": {"labels": {"a.b/c": "1", "a": "2"}, "name": "j"},
    "spec": {
        "jobs": [{"name": "one", "env": [{"name": "X", "value": "x"}]}, {"name": "two", "env": [{"name": "X"}]}],
        "args": ["p", "q"],
        "none": {},
    },
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [()]),
        ("metadata.name", [("metadata", "name")]),
        ("metadata.labels.a.b/c", [("metadata", "labels", "a.b/c")]),
        ("metadata.labels['a.b/c']", [("metadata", "labels", "a.b/c")]),
        ('metadata.labels["a"]', [("metadata", "labels", "a")]),
        ("metadata.labels.a", [("metadata", "labels", "a")]),
        ("spec.jobs[1].name", [("spec", "jobs", 1, "name")]),
        ("spec.jobs[name=two].name", [("spec", "jobs", 1, "name")]),
        ("spec.jobs[two]", [("spec", "jobs", 1)]),
        ("spec.jobs[*].name", [("spec", "jobs", 0, "name"), ("spec", "jobs", 1, "name")]),
        ("spec.args[1]", [("spec", "args", 1)]),
        ("env[name=X]", [("spec", "jobs", 0, "env", 0), ("spec", "jobs", 1, "env", 0)]),
        ("env[X].value", [("spec", "jobs", 0, "env", 0, "value")]),
        ("args", [("spec", "args")]),
        ("none", [("spec", "none")]),
    ],
)
def test_a_field(text: str, found: list[Path]) -> None:
    assert find(DATA, text) == tuple(found)


@pytest.mark.parametrize(
    ("text", "miss"),
    [
        ("spec.jobz", Miss(("spec",), "jobz", ("jobs", "args", "none"))),
        ("spec.jobs[3]", Miss(("spec", "jobs"), "[3]", ("[name=one]", "[name=two]"))),
        ("spec.jobs[name=thre]", Miss(("spec", "jobs"), "[name=thre]", ("[name=one]", "[name=two]"))),
        ("spec.jobs.name", Miss(("spec", "jobs"), "name", ("[name=one]", "[name=two]"))),
        ("spec.args[0].x", Miss(("spec", "args", 0), "x", ())),
        ("spec.args[99999999999999999999999]", Miss(("spec", "args"), "[99999999999999999999999]", ("[0]", "[1]"))),
        ("spec.none.x", Miss(("spec", "none"), "x", ())),
        ("metadata.labels['b']", Miss(("metadata", "labels"), "b", ("a.b/c", "a"))),
    ],
)
def test_a_field_that_is_not_there(text: str, miss: Miss) -> None:
    assert find(DATA, text) == miss


def test_a_field_that_is_nowhere_knows_all_names() -> None:
    found = find(DATA, "valeu")
    assert isinstance(found, Miss)
    assert {"metadata", "spec", "value", "env"} <= set(found.known)


@given(st.text(alphabet="abc.[]='\"*012/spec:jo", max_size=24))
def test_no_text_is_too_odd(text: str) -> None:
    found = find(DATA, text)
    assert isinstance(found, Miss) or found


def test_every_path_is_found_as_findings_show_it() -> None:
    for one in built().objects:
        for path in paths(one.data):
            assert find(one.data, dotted(path)) == (path,)
            assert get(one.data, *path) is not None


@pytest.mark.parametrize(
    ("text", "kinds", "rest"),
    [
        ("spec.network", ["JobSet"], "spec.network"),
        ("podgroup:spec", ["PodGroup"], "spec"),
        ("PodGroup.scheduling.x-k8s.io/j:spec", ["PodGroup"], "spec"),
        ("configmap/j-mpi-hostfile:data", ["ConfigMap"], "data"),
        ("configmap/j-mpi-hostfile", ["ConfigMap"], ""),
        ("configmap/j-mpi-ssh-keys:data", ["ConfigMap"], "data"),
        ("configmap:", ["ConfigMap", "ConfigMap"], ""),
        ("metadata.labels.a/b", ["JobSet"], "metadata.labels.a/b"),
    ],
)
def test_an_object(text: str, kinds: list[str], rest: str) -> None:
    found = choose(built().jobs[0].objects, text)
    assert not isinstance(found, Unknown)
    assert ([made.kind for made in found[0]], found[1]) == (kinds, rest)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("podgruop:spec", "no object 'podgruop'", "podgroup/j"),
        ("podgroup.example.com:spec", "no object", "podgroup/j"),
        ("configmap:data", "several objects", "select one"),
        ("configmap/j-mpi-hostfil:data", "no object", "did you mean 'configmap/j-mpi-hostfile'?"),
    ],
)
def test_an_object_that_is_not_there(text: str, message: str, hint: str) -> None:
    found = choose(built().jobs[0].objects, text)
    assert isinstance(found, Unknown)
    assert message in found.message
    assert found.hint is not None
    assert hint in found.hint
