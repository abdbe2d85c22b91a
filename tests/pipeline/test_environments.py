"""What an environment of trainc.yaml changes: jobs, namespaces, images, runtimes, patches."""

from __future__ import annotations

from typing import Any

import pytest

import builders
from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject, get
from trainc.gitops.images import rewritten
from trainc.plugins.model import Object

CLUSTER = "ClusterTrainingRuntime"


PULLS = 'imagePullSecrets: [{name: own}]\n                initContainers: [{name: first, image: "busybox:1.36"}]'


def runtime(name: str = "r", *, kind: str = CLUSTER, namespace: str = "", image: str = "ghcr.io/a/b:1") -> Source:
    metadata = f", namespace: {namespace}" if namespace else ""
    node = builders.role(trainer=True, pod=PULLS, image=image)
    text = builders.runtime(node, name=name, kind=kind, metadata=metadata, policy="{numNodes: 1}")
    return Source(f"runtimes/{name}{namespace}.yaml", text)


def job(place: str, name: str = "j", ref: str = "r", kind: str = CLUSTER) -> Source:
    return Source(f"jobs/{place}/{name}.yaml", builders.trainjob(name, runtime=f"{ref}, kind: {kind}"))


def build(options: JsonObject, *sources: Source) -> Build:
    return compile(sources, Options(config={"environments": {"prod": options}}))


def jobset(found: Build) -> Object:
    (made,) = [made for made in found.objects if made.kind == "JobSet"]
    return made


def pod(made: Object) -> Any:
    return get(made.data, "spec", "replicatedJobs", 0, "template", "spec", "template", "spec")


def test_the_jobs_of_an_environment() -> None:
    found = build({"jobs": ["a/*", "!a/old"]}, runtime(), job("a"), job("a", "old"), job("b"))
    assert list(found.files) == ["out/prod/a/j/jobset-j.yaml"]
    assert [document.source.name for document in found.excluded] == ["jobs/a/old.yaml", "jobs/b/j.yaml"]


def test_a_namespace_of_another_name() -> None:
    found = build({"namespaces": {"a": "prod-a"}}, runtime(), job("a"), job("b"))
    assert sorted(found.files) == ["out/prod/b/j/jobset-j.yaml", "out/prod/prod-a/j/jobset-j.yaml"]
    assert [get(made.data, "metadata", "namespace") for made in found.objects] == ["b", "prod-a"]
    assert b"jobs/a/j.yaml" in found.files["out/prod/prod-a/j/jobset-j.yaml"], "the sources keep their names"


def test_runtimes_are_found_by_the_namespace_of_the_inputs() -> None:
    options: JsonObject = {"namespaces": {"a": "shared", "b": "shared"}}
    own = [runtime("r", kind="TrainingRuntime", namespace=place, image=f"ghcr.io/{place}:1") for place in "ab"]
    found = build(options, *own, job("a", "one", kind="TrainingRuntime"), job("b", "two", kind="TrainingRuntime"))
    assert found.findings == ()
    assert [pod(made)["containers"][0]["image"] for made in found.objects] == ["ghcr.io/a:1", "ghcr.io/b:1"]


def test_two_jobs_that_meet() -> None:
    found = build({"namespaces": {"a": "b"}}, runtime(), job("a"), job("b"))
    assert [(finding.code, finding.document.source.name) for finding in found.findings] == [("TC602", "jobs/b/j.yaml")]
    assert found.files == {}


def test_two_jobs_that_need_one_child_job() -> None:
    runtimes = [
        Source(f"runtimes/{name}.yaml", builders.runtime(builders.role(name), name=name)) for name in ("node", "b-node")
    ]
    sources = *runtimes, job("a", "j", "b-node"), job("a", "j-b", "node")
    message = "another job of environment prod has the same Job a/j-b-node-0"
    for faithful, severity in ((False, "error"), (True, "warning")):
        found = compile(sources, Options(faithful=faithful)).findings
        assert [(one.severity, one.message) for one in found if one.code == "TC602"] == [(severity, message)]


def test_another_runtime() -> None:
    options: JsonObject = {"runtimes": {"r": "s"}}
    found = build(options, runtime(), runtime("s", image="ghcr.io/other:2"), job("a"))
    assert pod(jobset(found))["containers"][0]["image"] == "ghcr.io/other:2"
    assert b"runtimes/s.yaml" in found.files["out/prod/a/j/jobset-j.yaml"]
    (missing,) = build(options, runtime(), job("a")).findings
    assert missing.code == "TC301"
    assert "'s' not found (the environment replaces 'r' with it)" in missing.message


def test_torchtune_trains_the_model_of_the_other_runtime() -> None:
    llama, qwen = "torchtune-llama3.2-1b", "torchtune-qwen2.5-1.5b"
    commands = []
    for name, options in ((qwen, {}), (llama, {"runtimes": {llama: qwen}})):
        text = builders.trainjob(runtime=name, trainer="{command: [tune, run]}")
        made = jobset(build(options, Source("j.yaml", text)))  # type: ignore[arg-type]
        jobs: Any = get(made.data, "spec", "replicatedJobs")
        (node,) = [job for job in jobs if job["name"] == "node"]
        commands.append(node["template"]["spec"]["template"]["spec"]["containers"][0]["command"])
    assert any(word.startswith("qwen2_5/1.5B") for word in commands[0])
    assert commands[0] == commands[1]


def test_pull_secrets_and_registries_reach_every_container() -> None:
    options: JsonObject = {
        "imagePullSecrets": ["pull", "own"],
        "registries": {"ghcr.io/a": "mirror.example.com/x", "docker.io": "mirror.example.com/hub"},
    }
    spec = pod(jobset(build(options, runtime(), job("a"))))
    assert spec["imagePullSecrets"] == [{"name": "own"}, {"name": "pull"}]
    assert spec["containers"][0]["image"] == "mirror.example.com/x/b:1"
    assert spec["initContainers"][0]["image"] == "mirror.example.com/hub/library/busybox:1.36"


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("python", "m/library/python"),
        ("python:3.12@sha256:ab", "m/library/python:3.12@sha256:ab"),
        ("pytorch/pytorch:2", "m/pytorch/pytorch:2"),
        ("docker.io/library/python", "m/library/python"),
        ("localhost/x", "localhost/x"),
        ("localhost:5000/x", "localhost:5000/x"),
        ("ghcr.io/a/b", "g/b"),
        ("ghcr.io/a:1", "g:1"),
        ("ghcr.io/ab/c", "ghcr.io/ab/c"),
        ("quay.io/org/x:1", "q/x:1"),
    ],
)
def test_how_an_image_is_rewritten(image: str, expected: str) -> None:
    registries = {"docker.io": "m", "ghcr.io/a": "g", "quay.io/": "wrong/", "quay.io/org/": "q/"}
    assert rewritten(image, registries) == expected


def test_patches_merge_by_key_in_order() -> None:
    containers = [{"name": "node", "env": [{"name": "A", "value": "1"}]}]
    template = {"spec": {"template": {"spec": {"containers": containers, "nodeSelector": {"pool": "gpu"}}}}}
    options: JsonObject = {
        "patches": [
            {
                "target": {"kind": "JobSet", "namespace": "a"},
                "patch": {
                    "metadata": {"labels": {"tier": "1", "gone": "x"}},
                    "spec": {"replicatedJobs": [{"name": "node", "template": template}]},
                },
            },
            {"target": {"kind": "Job*"}, "patch": {"metadata": {"labels": {"tier": "2", "gone": None}}}},
        ]
    }
    found = build(options, runtime(), job("a"), job("b"))
    patched, other = found.objects
    assert found.findings == ()
    assert get(patched.data, "metadata", "labels") == {"tier": "2"}
    assert get(other.data, "metadata", "labels") == {"tier": "2"}
    (container,) = pod(patched)["containers"]
    assert container["env"] == [{"name": "A", "value": "1"}]
    assert container["image"] == "ghcr.io/a/b:1"
    assert pod(patched)["nodeSelector"] == {"pool": "gpu"}
    assert "env" not in pod(other)["containers"][0]


def test_what_a_patch_adds_gets_its_defaults() -> None:
    ports: JsonObject = {"name": "node", "ports": [{"containerPort": 80, "name": "web"}]}
    template = {"spec": {"template": {"spec": {"containers": [ports, {"name": "side", "image": "s:1"}]}}}}
    patch: JsonObject = {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}
    found = build({"patches": [{"target": {"kind": "JobSet"}, "patch": patch}]}, runtime(), job("a"))
    assert found.findings == ()
    made = {container["name"]: container for container in pod(jobset(found))["containers"]}
    assert made["side"]["image"] == "s:1"
    assert {"containerPort": 80, "name": "web", "protocol": "TCP"} in made["node"]["ports"]


def test_origins_of_what_the_environment_brings() -> None:
    options: JsonObject = {
        "imagePullSecrets": ["pull"],
        "registries": {"ghcr.io": "m"},
        "queue": "fast",
        "patches": [{"target": {"kind": "JobSet"}, "patch": {"spec": {"network": {"subdomain": "s"}}}}],
    }
    made = jobset(build(options, runtime(), job("a")))
    origins = made.origins()
    place = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
    assert origins[(*place, "imagePullSecrets", 1, "name")].name == "imagePullSecrets"
    assert origins[(*place, "containers", 0, "image")].name == "registries"
    assert origins[("spec", "network", "subdomain")].name == "patches"
    assert origins[("metadata", "labels", "kueue.x-k8s.io/queue-name")].name == "queue"
    kinds = {origins[path].kind for path in origins if path[-1:] in (("subdomain",), ("image",))}
    assert "environment" in kinds


def test_faithful_output_knows_no_environment() -> None:
    config: JsonObject = {"environments": {"prod": {"namespaces": {"a": "x"}, "queue": "q", "jobs": ["none"]}}}
    found = compile([runtime(), job("a")], Options(faithful=True, config=config))
    (made,) = found.objects
    assert get(made.data, "metadata") == {"name": "j", "namespace": "a"}
