"""How all pods of what is emitted are changed: as if each were put into its place, and nothing is made anew in vain."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, as_list, put
from trainc.gitops.pods import images, pod_specs, summarize, with_images, with_pods
from trainc.plugins.model import Object, Objects

CASES = Path(__file__).parents[1] / "oracle" / "cases"


@cache
def made() -> Objects:
    """Return objects of all kinds: those of the cases, with the Jobs that make keys."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(CASES.rglob("*.yaml"))[::5])
    return tuple(one for text in texts for one in compile([Source("a.yaml", text)], Options()).objects)


def pinned(image: str) -> str:
    return image if "@" in image else f"{image}@sha256:0"


def with_a_secret(spec: JsonObject) -> JsonObject:
    return {**spec, "imagePullSecrets": [*as_list(spec.get("imagePullSecrets")), {"name": "a"}]}


CHANGES = {
    "images": lambda spec: with_images(spec, pinned),
    "some images": lambda spec: with_images(spec, lambda image: pinned(image) if len(image) % 2 else image),
    "secret": with_a_secret,
    "equal": lambda spec: {**spec},
    "same": lambda spec: spec,
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_pod_is_changed_in_its_place(name: str) -> None:
    before, change = json.dumps([one.data for one in made()]), CHANGES[name]
    after = with_pods(made(), change)
    changed = 0
    for one, other in zip(made(), after, strict=True):
        wanted = one.data
        for path, spec in pod_specs(one.data):
            wanted = put(wanted, path, change(spec))
        assert json.dumps(other.data) == json.dumps(wanted)
        assert (other is one) == (wanted == one.data)
        changed += other is not one
    assert json.dumps([one.data for one in made()]) == before
    assert (after is made()) == (changed == 0) == (name in ("equal", "same"))
    kinds = {one.kind for one in made()}
    assert {"JobSet", "Job", "ConfigMap"} <= kinds


def test_images_are_named_once() -> None:
    for one in made():
        assert summarize(one).images == tuple(dict.fromkeys(image for _, image in images(one.data)))
    assert any(len(summarize(one).images) > 1 for one in made())


@pytest.mark.parametrize("owner", [(), ("template",), ("template", "spec", "template")])
@pytest.mark.parametrize(
    "name, mode, pod",
    [
        ("one", "Indexed", "one-a-0-0"),
        ("one", "NonIndexed", "one-a-0"),
        ("one-a-0-0-" + "x" * 48, "NonIndexed", "one-a-0-0"),  # Kubernetes shortens it
    ],
)
def test_the_first_pod_of_exclusive_placement(name: str, mode: str, pod: str, owner: tuple[str, ...]) -> None:
    job: JsonObject = {"name": "a", "template": {"spec": {"completionMode": mode}}}
    data: JsonObject = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name}}
    data["spec"] = {"replicatedJobs": [job]}
    where = (*(("spec", "replicatedJobs", 0) if owner else ()), *owner, "metadata", "annotations")
    assert "Pod" not in dict(summarize(Object(data)).created)
    created = summarize(Object(put(data, where, {"alpha.jobset.sigs.k8s.io/exclusive-topology": "rack"}))).created
    assert dict(created)["Pod"] == pod


CONTAINERS = st.lists(st.fixed_dictionaries({"image": st.sampled_from(("", "a", "b@c", None, 1))}), max_size=2)


@given(st.dictionaries(st.sampled_from(("containers", "initContainers", "volumes")), CONTAINERS | st.none()))
def test_images_that_are_no_text_stay(spec: JsonObject) -> None:
    job: JsonObject = {"kind": "Job", "spec": {"template": {"spec": spec}}}
    after = with_images(spec, pinned)
    assert [image for _, image in images({**job, "spec": {"template": {"spec": after}}})] == [
        pinned(image) for _, image in images(job)
    ]
    assert (after is spec) == (after == spec)
    assert with_pods((Object(job),), lambda given: given)[0].data is job
