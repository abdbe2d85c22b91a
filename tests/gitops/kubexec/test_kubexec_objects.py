"""What a job whose transport is kubexec gets: objects that a server takes as they are, rights that go no further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kubexecjob import ANNOTATED, build

from builders import of_kind, runtime, the, trainjob
from trainc import Build, Options, Source, compile
from trainc.admission.companions import admit_companions
from trainc.admission.fields import faults_in
from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects
from trainc.checks.created_pods import created_objects
from trainc.checks.pods import validate_pod, validate_pod_template
from trainc.data import load_text
from trainc.documents.emit import emit
from trainc.kube.pods import default_pod
from trainc.plugins.model import Object
from trainc.plugins.mpi.implementations import IMPLEMENTATIONS, PRRTE
from trainc.plugins.mpi.transport import runs_sshd
from trainc.plugins.origins import nearest
from trainc.schema import admit
from trainc.schema.kinds import split_version

HERE = Path(__file__).parent
SCRIPTS = ("kubexec.sh", "discover_hosts.sh")
JOBSET = "jobset.sigs.k8s.io/"
CASES: dict[str, dict[str, Any]] = {
    "openmpi": {},
    "mpich": {"implementation": "MPICH"},
    "intel": {"implementation": "Intel"},
    "launcher-is-a-node": {"as_node": True},
    "image": {"transport": {"image": "example.com/kubectl:1"}},
    "own-account": {"launcher": "serviceAccountName: mine", "options": {"serviceAccounts": ["mine"]}},
}


def pod_of(made: Build, name: str) -> JsonObject:
    jobs = objects(get(the(made, "JobSet"), "spec", "replicatedJobs"))
    (found,) = [job for job in jobs if job["name"] == name]
    return as_object(get(found, "template", "spec", "template", "spec"))


def variables(made: Build) -> dict[str, Json]:
    (container,) = objects(pod_of(made, "launcher")["containers"])
    return {str(one["name"]): one.get("value") for one in objects(container["env"])}


def codes(made: Build) -> list[str]:
    return sorted({finding.code for finding in made.findings})


def added(made: Build) -> list[Object]:
    """Return all but the JobSet."""
    return [one for one in made.objects if one.kind != "JobSet"]


@pytest.mark.parametrize("case", CASES)
def test_goldens(case: str, update: bool) -> None:
    found = "---\n".join(emit(one.data) for one in build(**CASES[case]).objects)
    for script in SCRIPTS:
        lines = load_text(f"scripts/{script}").splitlines(keepends=True)
        found = found.replace("".join(f"    {line}" if line.strip() else line for line in lines), "    (the script)\n")
    path = HERE / "goldens" / f"{case}.yaml"
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
    assert found.count("(the script)") == len(SCRIPTS)


@pytest.mark.parametrize("case", CASES)
def test_a_server_takes_them_and_adds_nothing(case: str) -> None:
    registry = admit_companions((), (), faithful=False).registry
    made = build(**CASES[case])
    kinds = ["ConfigMap", "Role", "RoleBinding", *(["ServiceAccount"] if case != "own-account" else [])]
    assert sorted(one.kind for one in added(made)) == kinds
    for one in added(made):
        resource = registry.find(*split_version(str(one.data["apiVersion"])), one.kind)
        assert resource is not None, one.kind
        admitted = admit(resource, one.data)
        assert (admitted.violations, admitted.dropped, admitted.data) == ((), (), one.data), one.kind
    for name in ("launcher", "node"):
        pod = default_pod(pod_of(made, name))
        template: JsonObject = {"spec": pod}
        assert faults_in(validate_pod, pod) == []
        assert faults_in(validate_pod_template, template) == []


@pytest.mark.parametrize("case", CASES)
def test_nothing_of_ssh_is_left(case: str) -> None:
    made = build(**CASES[case])
    text = "".join(emit(one.data) for one in made.objects if one.kind != "ConfigMap")
    for word in ("ssh-auth", "ssh-keys", "id_rsa", "ConnectionAttempts", "Secret", "/root/.ssh"):
        assert word not in text
    assert not set(codes(made)) & {"TC408", "TC451", "TC457", "TC458"}, "warnings of keys"


@pytest.mark.parametrize("field", ["serviceAccountName", "serviceAccount"])
def test_an_account_of_the_runtimes_own_is_bound(field: str) -> None:
    made = build(launcher=f"{field}: mine", options={"serviceAccounts": ["mine"]})
    assert of_kind(made, "ServiceAccount") == []
    assert get(the(made, "RoleBinding"), "subjects", 0, "name") == "mine"
    assert pod_of(made, "launcher")["serviceAccountName"] == "mine"
    assert pod_of(made, "launcher")["automountServiceAccountToken"] is True
    assert made.findings == ()


def test_an_unknown_account_of_the_runtimes_own() -> None:
    assert codes(build(launcher="serviceAccountName: nobody-makes-it")) == ["TC604"]


@pytest.mark.parametrize(("account", "found"), [("mine", ()), (None, ("TC623",))])
def test_an_account_that_a_patch_sets_is_bound(account: str | None, found: tuple[str, ...]) -> None:
    launcher: Json = {"name": "launcher", "template": {"spec": {"template": {"spec": {"serviceAccountName": account}}}}}
    patch: Json = {"target": {"kind": "JobSet"}, "patch": {"spec": {"replicatedJobs": [launcher]}}}
    made = build(options={"serviceAccounts": ["mine"], "patches": [patch]})
    assert get(the(made, "RoleBinding"), "subjects", 0, "name") == (account or "default")
    assert pod_of(made, "launcher").get("serviceAccountName") == account
    assert tuple(codes(made)) == found


def test_a_patch_leaves_the_rights_of_the_key_job() -> None:
    patch: Json = {"target": {"kind": "JobSet"}, "patch": {"metadata": {"labels": {"a": "b"}}}}
    keys = "volumes: [{name: keys, secret: {secretName: job-mpi-ssh-auth}}]"
    for options in ({}, {"patches": [patch]}):
        made = build(node=keys, options=options)
        subjects = {one.name: get(one.data, "subjects", 0, "name") for one in of_kind(made, "RoleBinding")}
        assert subjects == {name: name for name in ("job-mpi-kubexec", "job-mpi-ssh-keys")}


def test_nodes_with_the_launchers_account_get_no_token() -> None:
    shared = {"serviceAccounts": ["mine"]}
    made = build(node="serviceAccountName: mine", launcher="serviceAccountName: mine", options=shared)
    assert pod_of(made, "node")["automountServiceAccountToken"] is False
    assert made.findings == ()
    fields = "automountServiceAccountToken: true"
    other = build(node=fields, options=shared)
    assert pod_of(other, "node")["automountServiceAccountToken"] is True, "of another account"
    assert other.findings == ()


@pytest.mark.parametrize(
    ("annotation", "transport", "expected"),
    [
        ("", None, "ssh"),
        ("", "ssh", "ssh"),
        ("", "kubexec", "kubexec"),
        ("", {"mode": "kubexec"}, "kubexec"),
        ("", {"image": "example.com/kubectl:1"}, "ssh"),
        (ANNOTATED, None, "kubexec"),
        (ANNOTATED, "ssh", "kubexec"),
        (ANNOTATED.replace("kubexec", "ssh"), "kubexec", "ssh"),
    ],
)
def test_who_chooses(annotation: str, transport: JsonObject | str | None, expected: str) -> None:
    made = build(annotation=annotation, transport=transport)
    assert ("job-mpi-kubexec" in {one.name for one in made.objects}) == (expected == "kubexec")
    assert ("job-mpi-ssh-auth" in {one.name for one in made.objects}) == (expected == "ssh")


def test_faithful_knows_nothing_of_it() -> None:
    plain = build(annotation="", faithful=True)
    for one in (build(faithful=True), build(transport="kubexec", faithful=True), build(command="sshd", faithful=True)):
        assert [made.name for made in one.objects] == [made.name for made in plain.objects]
    assert [one.data for one in build(transport="kubexec", faithful=True).objects] == [
        one.data for one in plain.objects
    ]
    assert plain.objects


def test_jobs_without_mpi_are_left_alone() -> None:
    sources = [Source("rt.yaml", runtime(policy="{numNodes: 1}")), Source("job.yaml", trainjob())]
    made = [compile(sources, Options(config={"environments": {"prod": own}})) for own in ({}, {"transport": "kubexec"})]
    assert made[0].files == made[1].files
    assert made[0].files


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_variables_of_the_agent(name: str) -> None:
    found = variables(build(name))
    entry = IMPLEMENTATIONS[name]
    assert dict(entry.agent).items() <= found.items()
    assert "/etc/mpi/kubexec.sh" in dict(entry.agent).values()
    arguments = {key for key, value in (*entry.variables, *PRRTE) if value == "{ssh}"}
    assert not arguments & set(found), "arguments of ssh would stand before the host"
    assert "/etc/mpi/hostfile" in found.values()
    assert not set(dict(entry.agent)) & set(variables(build(name, annotation=""))), "with ssh"


@pytest.mark.parametrize(
    ("implementation", "variable"), [(name, key) for name, entry in IMPLEMENTATIONS.items() for key, _ in entry.agent]
)
def test_they_are_the_transports(implementation: str, variable: str) -> None:
    job = f", env: [{{name: {variable}, value: x}}]"
    made = build(implementation, job=job)
    assert [(one.code, one.found) for one in made.findings if one.severity == "error"] == [("TC401", variable)]
    assert "transport kubexec" in made.findings[0].message
    with_ssh = build(implementation, annotation="", job=job)
    assert "TC401" not in codes(with_ssh)


def test_the_table_has_the_labels_of_the_pods() -> None:
    """Labels as JobSet and the Job controller write them: created_pods.py, which is compared with their own code."""
    made = build(as_node=True, nodes=4)
    table = str(get(the(made, "ConfigMap"), "data", "hosts"))
    rows = [line.split(" ") for line in table.splitlines()]
    hosts = [line.split(" ")[0] for line in str(get(the(made, "ConfigMap"), "data", "hostfile")).splitlines()]
    assert [row[0] for row in rows] == hosts
    assert len(rows) == 4
    wanted = {tuple(row[1:4]): row[0] for row in rows}
    pods = [child.data for child in created_objects(the(made, "JobSet")) if child.data["kind"] == "Pod"]
    assert len(pods) == 2
    for one in pods:
        labels = as_object(get(one, "metadata", "labels"))
        key = (
            str(labels[f"{JOBSET}replicatedjob-name"]),
            str(labels[f"{JOBSET}job-index"]),
            str(labels["batch.kubernetes.io/job-completion-index"]),
        )
        assert wanted[key] == f"{get(one, 'spec', 'hostname')}.job"
        assert f"{labels[f'{JOBSET}jobset-name']}\n" == get(the(made, "ConfigMap"), "data", "jobset")
        assert f"{JOBSET}restart-attempt" in labels


def test_that_image_is_the_environments() -> None:
    options: JsonObject = {"registries": {"example.com/": "mirror.example.net/"}, "imagePullSecrets": ["pull"]}
    made = build(transport={"image": "example.com/kubectl:1"}, options=options)
    launcher = pod_of(made, "launcher")
    assert get(launcher, "initContainers", 0, "image") == "mirror.example.net/kubectl:1"
    assert launcher["imagePullSecrets"] == [{"name": "pull"}]


def test_where_fields_come_from() -> None:
    made = build(transport={"image": "example.com/kubectl:1"})
    (jobset,) = of_kind(made, "JobSet")
    pod = ("spec", "replicatedJobs", 1, "template", "spec", "template", "spec")
    origin = nearest(jobset.origins(), (*pod, "serviceAccountName"))
    assert origin is not None
    assert (origin.kind, origin.path) == ("plugin", ("metadata", "annotations", "trainc.dev/transport"))
    origin = nearest(jobset.origins(), (*pod, "initContainers", 0, "image"))
    assert origin is not None
    assert (origin.kind, origin.name) == ("environment", "transport")
    for kind in ("Role", "RoleBinding", "ServiceAccount"):
        (one,) = of_kind(made, kind)
        assert one.origins()[()].name == "kubexec"
    (one,) = of_kind(build(annotation="", transport="kubexec"), "Role")
    assert (one.origins()[()].kind, one.origins()[()].name) == ("environment", "transport")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["/usr/sbin/sshd", "-De"], True),
        (["sshd"], True),
        (["sh", "-c", "mkdir -p /run/sshd && exec /usr/sbin/sshd -De"], True),
        (["bash", "-c", "ssh-keygen -A; '/usr/sbin/sshd' -D &\nwait"], True),
        (["tini", "--", "/usr/sbin/sshd", "-D"], True),
        (["sleep", "infinity"], False),
        (["sh", "-c", "mkdir -p /run/sshd; sleep 1  # no sshd"], False),
        (["sh", "-c", "echo 'sshd is not here'"], False),
        (["sh", "-c", "if true; then sshd -D; fi"], True),
        (["dumb-init", "/opt/ssh/bin/sshd", "-D"], True),
        (["sshd-keygen"], False),
        (["pkill", "sshd"], False),
        (["sh", "-c", "install -d /run/sshd && echo sshd"], False),
        ([], False),
    ],
)
def test_who_runs_sshd(words: list[str], expected: bool) -> None:
    assert runs_sshd(tuple(words)) is expected
