"""What is added to an MPI job so that it gets its keys: objects that a server takes as they are, and changes not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpijob import build

from builders import of_kind, policy, the
from trainc import Build, Options, Source, compile
from trainc.admission.companions import admit_companions
from trainc.admission.fields import faults_in
from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects
from trainc.checks.jobs import validate_job_spec
from trainc.checks.pods import validate_pod, validate_pod_template
from trainc.data import load_text
from trainc.documents.emit import emit
from trainc.gitops import naming
from trainc.gitops.base import jobset_of
from trainc.gitops.keys import launcher_of
from trainc.inputs import source
from trainc.kube.names import is_dns1123_label
from trainc.kube.pods import default_job
from trainc.plugins.model import Object
from trainc.plugins.origins import nearest
from trainc.schema import admit
from trainc.schema.kinds import split_version

HERE = Path(__file__).parent
CRDS = Source("external-secrets.yaml", (HERE / "external-secrets.yaml").read_text(encoding="utf-8"))
SCRIPT = load_text("scripts/mpi_ssh_keys.py")
MODES: dict[str, JsonObject | str | None] = {
    "job": None,
    "image": {"mode": "job", "image": "example.com/ssh:1"},
    "external-secrets": "external-secrets",
    "skip-dry-run": {"mode": "external-secrets", "skipDryRunOnMissingResource": True},
    "existing": {"mode": "existing", "secret": "mpi-keys"},
}


def pod_of(job: JsonObject) -> JsonObject:
    return as_object(get(job, "spec", "template", "spec"))


def added(made: Build) -> list[Object]:
    """Return what faithful output has not."""
    known = {(one.kind, one.name) for one in build(faithful=True).objects}
    return [one for one in made.objects if (one.kind, one.name) not in known]


def volumes(made: Build) -> list[Json]:
    """Return the Secret of the keys' volume in every pod of the JobSet."""
    jobs = objects(get(the(made, "JobSet"), "spec", "replicatedJobs"))
    found = [v for job in jobs for v in objects(get(job, "template", "spec", "template", "spec", "volumes"))]
    return [volume["secret"] for volume in found if volume["name"] == "mpi-ssh-auth"]


@pytest.mark.parametrize("mode", MODES)
def test_goldens(mode: str, update: bool) -> None:
    made = build(MODES[mode])
    found = "---\n".join(emit(one.data) for one in (*added(made), *of_kind(made, "JobSet")))
    indented = "".join(f"    {line}" if line.strip() else line for line in SCRIPT.splitlines(keepends=True))
    found = found.replace(indented, "    (the script)\n")
    path = HERE / "goldens" / f"{mode}.yaml"
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", MODES)
def test_a_server_takes_them_and_adds_nothing(mode: str) -> None:
    registry = admit_companions((), (CRDS,), faithful=False).registry
    assert admit_companions((), (CRDS,), faithful=False).findings == ()
    for one in added(build(MODES[mode])):
        resource = registry.find(*split_version(str(one.data["apiVersion"])), one.kind)
        assert resource is not None, one.kind
        admitted = admit(resource, one.data)
        assert (admitted.violations, admitted.dropped, admitted.data) == ((), (), one.data), one.kind


def test_a_wrong_shape_is_seen_by_the_crds() -> None:
    registry = admit_companions((), (CRDS,), faithful=False).registry
    found = the(build("external-secrets"), "ExternalSecret")
    spec = as_object(found["spec"])
    resource = registry.find("external-secrets.io", "v1", "ExternalSecret")
    assert resource is not None
    assert admit(resource, {**found, "spec": {**spec, "refreshPolicy": "Once"}}).violations
    assert admit(resource, {**found, "spec": {**spec, "refreshOnce": True}}).dropped
    without: JsonObject = {key: value for key, value in spec.items() if key != "refreshInterval"}
    assert admit(resource, {**found, "spec": without}).data != {**found, "spec": without}, "its default"


@pytest.mark.parametrize("mode", ["job", "image"])
def test_the_job_can_have_pods(mode: str) -> None:
    job = the(build(MODES[mode]), "Job")
    spec = as_object(default_job(job)["spec"])
    assert faults_in(validate_job_spec, spec) == []
    template = as_object(spec["template"])
    assert faults_in(validate_pod_template, template) == []
    assert faults_in(validate_pod, as_object(template["spec"])) == []
    broken: JsonObject = {**template, "spec": {**pod_of(job), "containers": []}}
    assert faults_in(validate_pod_template, broken)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fixes", [(), ("ssh-known-hosts", "ssh-key-mode")])
def test_pods_wait_for_every_key_that_they_mount(mode: str, fixes: tuple[str, ...]) -> None:
    made = build(MODES[mode], fixes=fixes)
    found = volumes(made)
    assert len(found) == 2
    for secret in found:
        assert get(secret, "optional") in (None, False)
        keys = {item["key"] for item in objects(get(secret, "items"))}
        assert keys <= {"ssh-privatekey", "ssh-publickey", "known_hosts"}
        assert ("known_hosts" in keys) is bool(fixes)
        for external in of_kind(made, "ExternalSecret"):
            assert keys <= as_object(get(external.data, "spec", "target", "template", "data")).keys()
        if of_kind(made, "Job"):
            assert all(repr(key).replace("'", '"') in SCRIPT for key in keys)


def test_keys_that_exist_are_mounted() -> None:
    made = build(MODES["existing"])
    assert added(made) == []
    assert {get(secret, "secretName") for secret in volumes(made)} == {"mpi-keys"}
    assert {get(s, "secretName") for s in volumes(build({"mode": "existing", "secret": "job-mpi-ssh-auth"}))} == {
        "job-mpi-ssh-auth"
    }
    jobset = jobset_of(made.objects)
    assert jobset is not None
    launcher = launcher_of(jobset.data, "mpi-keys")
    assert launcher is not None
    place: source.Path = (*launcher.container_path[:-2], "volumes", 0, "secret", "secretName")
    assert get(jobset.data, *place) == "mpi-keys"
    origin = nearest(jobset.origins(), place)
    assert origin is not None
    assert (origin.kind, origin.name) == ("environment", "sshKeys")


def test_a_secret_of_the_cluster_is_enough() -> None:
    secret = Source("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: job-mpi-ssh-auth, namespace: team}\n")
    assert added(build(beside=(secret,))) == []
    elsewhere = Source("s.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: job-mpi-ssh-auth, namespace: other}\n")
    assert of_kind(build(beside=(elsewhere,)), "Job")
    both = build(MODES["existing"], beside=(secret,))
    assert {get(found, "secretName") for found in volumes(both)} == {"mpi-keys"}, "what trainc.yaml says counts"


def test_faithful_and_other_jobs_have_none() -> None:
    assert {one.kind for one in build(faithful=True).objects} == {"JobSet", "ConfigMap"}
    torch = "kind: TrainJob\napiVersion: trainer.kubeflow.org/v1alpha1\nmetadata: {name: j}\n"
    made = compile([Source("j.yaml", f"{torch}spec: {{runtimeRef: {{name: torch-distributed}}}}\n")], Options())
    assert {one.kind for one in made.objects} == {"JobSet"}


def test_default_output_does_not_say_that_the_secret_must_exist() -> None:
    said = {mode: [f.code for f in build(MODES[mode]).findings if f.code == "TC408"] for mode in MODES}
    assert said == {mode: [] for mode in MODES}
    assert "TC408" in {f.code for f in build(faithful=True).findings}


@pytest.mark.parametrize(
    ("pod", "container", "keys", "user"),
    [
        ("", "", None, 65534),
        ("securityContext: {runAsUser: 1000}", "", None, 1000),
        ("securityContext: {runAsUser: 1000}", ", securityContext: {runAsUser: 2000}", None, 2000),
        ("securityContext: {runAsUser: 0}", "", None, 65534),
        ("securityContext: {runAsUser: 1000}", ", securityContext: {runAsUser: 0}", None, 65534),
        ("securityContext: {runAsUser: 1000}", "", MODES["image"], 65534),
    ],
)
def test_the_user(pod: str, container: str, keys: JsonObject | str | None, user: int) -> None:
    found = get(pod_of(the(build(keys, pod=pod, container=container), "Job")), "securityContext")
    assert (get(found, "runAsUser"), get(found, "runAsGroup")) == (user, user)


def test_what_the_launcher_needs_to_get_a_node_and_its_image() -> None:
    pod = """imagePullSecrets: [{name: pull}]
                tolerations: [{key: gpu, operator: Exists}]
                nodeSelector: {kubernetes.io/arch: arm64, pool: gpu}"""
    found = pod_of(the(build(pod=pod), "Job"))
    assert found["imagePullSecrets"] == [{"name": "pull"}]
    assert found["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert found["nodeSelector"] == {"kubernetes.io/arch": "arm64"}
    other = pod_of(the(build(MODES["image"], pod=pod), "Job"))
    assert "nodeSelector" not in other


def test_the_image_and_where_it_comes_from() -> None:
    place: source.Path = ("spec", "template", "spec", "containers", 0, "image")
    cases: list[tuple[Build, str, str, str | None]] = [
        (build(), "example.com/launcher:1", "input", "runtimes/rt.yaml"),
        (build(job=", image: 'example.com/own:2'"), "example.com/own:2", "input", "jobs/team/job.yaml"),
        (build(MODES["image"]), "example.com/ssh:1", "environment", None),
    ]
    for made, image, kind, file in cases:
        (job,) = of_kind(made, "Job")
        assert get(job.data, *place) == image
        origin = nearest(job.origins(), place)
        assert origin is not None
        assert (origin.kind, origin.document and origin.document.source.name) == (kind, file)


def test_a_policy_is_asked_about_the_job_and_answers_at_the_line_of_the_image() -> None:
    rule = "object.spec.template.spec.containers.all(c, c.image.startsWith('other'))"
    given = Source("policies/p.yaml", policy("registry", rule, resource="batch/jobs"))
    made = build(job=", image: 'example.com/own:2'", beside=(given,))
    (found,) = [finding for finding in made.findings if finding.code == "TC501"]
    assert found.document is not None
    assert found.document.source.name == "jobs/team/job.yaml"


def names(made: Build) -> dict[str, str]:
    return {one.kind: one.name for one in made.objects if one.stem is not None}


def test_names_tell_the_content() -> None:
    plain = build()
    first = names(plain)
    assert set(first) == {"ConfigMap", "Job"}
    assert all(re.fullmatch(r"job-mpi-ssh-keys-[0-9a-f]{8}", name) for name in first.values())
    assert get(pod_of(the(plain, "Job")), "volumes", 0, "configMap", "name") == first["ConfigMap"]
    assert names(build(job=", numProcPerNode: 3")) == first, "the hostfile is not theirs"
    other = names(build(job=", image: 'example.com/own:2'"))
    assert other["ConfigMap"] == first["ConfigMap"]
    assert other["Job"] != first["Job"]


def test_names_tell_what_the_environment_changes() -> None:
    """Jobs cannot be changed, so what later passes do to their pods has to be in the hash."""
    options: list[JsonObject] = [
        {},
        {"imagePullSecrets": ["pull"]},
        {"registries": {"example.com": "mirror.example.com"}},
        {"patches": [{"target": {"kind": "Job", "name": "job-mpi-ssh-keys"}, "patch": {"spec": {"backoffLimit": 9}}}]},
    ]
    jobs = [the(build(options=each), "Job") for each in options]
    assert len({str(get(job, "metadata", "name")) for job in jobs}) == len(options)
    assert get(pod_of(jobs[1]), "imagePullSecrets") == [{"name": "pull"}]
    assert get(pod_of(jobs[2]), "containers", 0, "image") == "mirror.example.com/launcher:1"
    assert get(jobs[3], "spec", "backoffLimit") == 9


LABELS = st.from_regex(r"[a-z]([-a-z0-9]{0,60}[a-z0-9])?", fullmatch=True)
DATA = st.dictionaries(st.sampled_from("abc"), st.text(max_size=3), max_size=3)


@given(LABELS, DATA, DATA)
def test_sealed_names(name: str, one: dict[str, str], other: dict[str, str]) -> None:
    def sealed(data: Any) -> str:
        given = Object({"kind": "ConfigMap", "metadata": {"name": name}, "data": data}, stem=name)
        (found,) = naming.with_hashes(None, (given,))  # type: ignore[arg-type]  # the model is not looked at
        assert found.stem == name
        assert found.data["data"] == data
        return found.name

    assert not is_dns1123_label(sealed(one))
    assert sealed(one) == sealed(dict(reversed(one.items())))
    assert (sealed(one) == sealed(other)) is (one == other)


def test_a_long_name_is_cut_off() -> None:
    name = "a-job-whose-name-is-rather-long-for-all-that"
    job = names(build(name=name))["Job"]
    assert len(job) == 63
    assert job.startswith(name)


def test_the_job_runs_as_the_patched_launcher() -> None:
    pod: JsonObject = {
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"runAsUser": 1234},
        "nodeSelector": {"kubernetes.io/arch": "arm64", "pool": "gpu"},
        "containers": [{"name": "node", "image": "example.com/patched:1"}],
    }
    launcher: Json = {"name": "launcher", "template": {"spec": {"template": {"spec": pod}}}}
    patches: list[Json] = [
        {"target": {"kind": "Job"}, "patch": {"spec": {"template": {"spec": {"priorityClassName": "low"}}}}},
        {"target": {"kind": "JobSet"}, "patch": {"spec": {"replicatedJobs": [launcher]}}},
    ]
    options: JsonObject = {"patches": patches, "registries": {"example.com": "mirror.example.net"}}
    for keys, image in ((None, "example.com/patched:1"), (MODES["image"], "mirror.example.net/ssh:1")):
        made = build(keys, pod="imagePullSecrets: [{name: own}]", options={**options, "imagePullSecrets": ["pull"]})
        found = pod_of(the(made, "Job"))
        assert get(found, "containers", 0, "image") == image
        assert found["tolerations"] == pod["tolerations"]
        assert found["imagePullSecrets"] == [{"name": "own"}, {"name": "pull"}]
        assert found["priorityClassName"] == "low"
        own = keys is None
        assert get(found, "securityContext", "runAsUser") == (1234 if own else 65534)
        assert found.get("nodeSelector") == ({"kubernetes.io/arch": "arm64"} if own else None)
        (job,) = of_kind(made, "Job")
        origin = nearest(job.origins(), ("spec", "template", "spec", "tolerations", 0, "operator"))
        assert origin is not None
        assert origin.name == "patches"


def test_a_launcher_without_containers_is_an_error() -> None:
    pod: JsonObject = {"containers": [{"$patch": "delete", "name": "node"}]}
    launcher: Json = {"name": "launcher", "template": {"spec": {"template": {"spec": pod}}}}
    patch: Json = {"target": {"kind": "JobSet"}, "patch": {"spec": {"replicatedJobs": [launcher]}}}
    assert {one.code for one in build(options={"patches": [patch]}).findings if one.severity == "error"} == {"TC805"}


@pytest.mark.parametrize("mode", ["job", "existing"])
@pytest.mark.parametrize(
    ("runtime", "patched", "set_mode", "expected"),
    [
        ({}, {"runAsUser": 1000}, None, 0o640),
        ({}, {"fsGroup": 1000}, None, 0o640),
        ({}, {"runAsGroup": 1000}, None, 0o600),
        ({"runAsUser": 1000}, {"runAsUser": 0}, None, 0o600),
        ({}, {"runAsUser": 1000}, 0o444, 0o444),
    ],
)
def test_the_key_has_the_mode_for_a_patched_user(
    mode: str, runtime: JsonObject, patched: JsonObject, set_mode: int | None, expected: int
) -> None:
    item: JsonObject = {"key": "ssh-privatekey", "path": "id_rsa", "mode": set_mode}
    volume: JsonObject = {"name": "mpi-ssh-auth", "secret": {"items": [item]}}
    pod: JsonObject = {"securityContext": patched, **({} if set_mode is None else {"volumes": [volume]})}
    launcher: Json = {"name": "launcher", "template": {"spec": {"template": {"spec": pod}}}}
    options: JsonObject = {
        "patches": [{"target": {"kind": "JobSet"}, "patch": {"spec": {"replicatedJobs": [launcher]}}}]
    }
    text = f"securityContext: {json.dumps(runtime)}"
    of_node, of_launcher = volumes(build(MODES[mode], fixes=("ssh-key-mode",), pod=text, options=options))
    assert get(of_node, "items", 0, "mode") == 0o600, "not patched"
    assert get(of_launcher, "items", 0, "mode") == expected
