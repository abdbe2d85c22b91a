"""Patches of an environment: what they make is what a cluster holds, and every field of it knows its patch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import role, runtime, trainjob
from trainc import Build, Options, Source, compile
from trainc.admission.jobset import default, overlay
from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects, put
from trainc.gitops.patches import SPECS, go_encoded
from trainc.gitops.pods import images
from trainc.inputs.imagelock import FILE, Lock
from trainc.kube.gotypes import JOB_SET, decode
from trainc.plugins.model import Object
from trainc.project.config import lock_text, parse, parse_lock
from trainc.schema import admit, resource
from trainc.schema.kinds import BUILT_IN, split_version

ROOT = Path(__file__).parents[2]

CONFIG = """
defaults:
  imagePullSecrets: [registry]
  registries: {docker.io: mirror.example.com/hub}
environments:
  plain: {}
  patched:
    fixes: recommended
    queue: research
    transport: {image: "docker.io/alpine/kubectl:1.34.1"}
    namespaces: {team-science: science}
    patches:
    - target: {kind: JobSet}
      patch:
        metadata: {labels: {cost-center: "12"}}
        spec:
          failurePolicy: {maxRestarts: 1}
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    initContainers: [{name: warm, image: "busybox:1"}]
                    containers:
                    - name: node
                      ports: [{containerPort: 9000}]
                      env: [{name: SHM, valueFrom: {resourceFieldRef: {resource: limits.memory}}}]
                      resources: {requests: {cpu: 1000m, memory: 2048Mi}, limits: {memory: 2048Mi}}
                    volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 1024Mi}}]
    - target: {kind: Job, name: '*-mpi-ssh-keys'}
      patch:
        spec: {template: {spec: {containers: [{name: ssh-keys, resources: {limits: {cpu: 1000m}}}]}}}
    - target: {kind: '*'}
      patch: {metadata: {annotations: {}, labels: {trainer.example.com/none: null}}}
    - target: {kind: PersistentVolumeClaim, namespace: science}
      patch: {spec: {storageClassName: fast, resources: {requests: {storage: 2048Gi}}}}
    - target: {kind: ServiceAccount, name: train}
      patch: {metadata: {annotations: {iam.example.com/role: train}}, secrets: [{name: token, namespace: other}]}
    - target: {kind: RoleBinding, name: '*'}
      patch: {subjects: [{kind: ServiceAccount, name: other}, {kind: User, name: someone}]}
  vault:
    naming: content
    target: flux
    sshKeys: external-secrets
    patches:
    - target: {kind: JobSet}
      patch: {spec: {replicatedJobs: [{name: node, template: {spec: {activeDeadlineSeconds: 60}}}]}}
"""

COMPANIONS = """
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: train}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: train}
roleRef: {kind: Role, name: train}
subjects: [{kind: ServiceAccount, name: train}, {kind: Group, name: all}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: wrapped}
data: {}
binaryData: {a: "YWJj\\nZGVm\\n"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1024Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: small}
spec: {accessModes: [ReadWriteMany], volumeName: "", resources: {requests: {storage: 500u}, limits: {storage: 1.5m}}}
"""

JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {name}}}
spec:
  runtimeRef: {{name: {runtime}}}
  trainer: {{numNodes: 2, command: [train], image: "registry.example.com/a:1"}}
"""

RUNTIMES = {
    "gang": "torch-coscheduling",
    "ice": "mpi-distributed-kubexec",
    "net": "torch-distributed",
    "sea": "mpi-distributed",
    "tree": "xgboost-distributed",
    "volcano": "torch-volcano",
}
"""Jobs, and their runtimes in runtimes/."""


def sources() -> list[Source]:
    found = []
    for name, used in RUNTIMES.items():
        text = (ROOT / "runtimes" / f"{used}.yaml").read_text(encoding="utf-8")
        more = COMPANIONS if used == "mpi-distributed" else ""
        found.append(Source(f"runtimes/{used}.yaml", text + more))
        found.append(Source(f"jobs/team-science/{name}.yaml", JOB.format(name=name, runtime=used)))
    return found


def built(environment: str) -> Build:
    config, findings = parse(Source("trainc.yaml", CONFIG))
    assert findings == ()
    options = Options(environment=environment, config=config.data, config_document=config.document)
    build = compile(sources(), options)
    assert [finding for finding in build.findings if finding.severity == "error" or finding.code == "TC606"] == []
    assert len(build.jobs) == len(RUNTIMES)
    return build


def is_stored(made: Object) -> bool:
    """Tell whether a server has nothing to add to an object, to drop from it or to spell otherwise."""
    if made.kind == "JobSet":
        kind = resource("JobSet")
        stored = admit(kind, made.data)
        assert (stored.data, stored.dropped, stored.violations) == (made.data, (), ())
        assert default(made.data) == made.data
        typed = {key: value for key, value in as_object(decode(made.data, JOB_SET)).items() if key != "status"}
        assert overlay(made.data, typed) == made.data
        return True
    assert go_encoded(made.data) == made.data
    group, version = split_version(str(made.data["apiVersion"]))
    known = BUILT_IN.find(group, version, made.kind)
    if known is None:
        return False
    admitted = admit(known, made.data)
    assert (admitted.data, admitted.dropped, admitted.violations) == (made.data, (), ())
    return True


@pytest.mark.parametrize("environment", ["plain", "patched", "vault"])
def test_a_server_has_nothing_to_add(environment: str) -> None:
    made = built(environment).objects
    names = [(one.data["apiVersion"], one.kind, get(one.data, "metadata", "namespace"), one.name) for one in made]
    assert len(names) == len(set(names)), "two objects of one name"
    assert {namespace for _, _, namespace, _ in names} == {"science" if environment == "patched" else "team-science"}
    unknown = {str(one.data["apiVersion"]).partition("/")[0] for one in made if not is_stored(one)}
    assert unknown <= {"external-secrets.io", "generators.external-secrets.io", "scheduling.volcano.sh"}
    wanted = {"JobSet", "ConfigMap", "PodGroup", "ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim"}
    assert wanted <= {one.kind for one in made}
    assert all(get(one.data, "metadata", key) != {} for one in made for key in ("labels", "annotations"))
    assert not any("data" in one.data or "stringData" in one.data for one in made if one.kind == "Secret")


def of(build: Build, kind: str, name: str) -> Object:
    (found,) = (one for one in build.objects if (one.kind, one.plain) == (kind, name))
    return found


def test_quantities_of_a_patch_are_canonical() -> None:
    build = built("patched")
    pod = get(of(build, "JobSet", "net").data, "spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
    assert get(pod, "containers", 0, "resources") == {
        "limits": {"memory": "2Gi"},
        "requests": {"cpu": "1", "memory": "2Gi"},
    }
    assert get(pod, "volumes", 0, "emptyDir", "sizeLimit") == "1Gi"
    assert get(pod, "initContainers", 0, "resources") == {}
    job = of(build, "Job", "sea-mpi-ssh-keys").data
    assert get(job, "spec", "template", "spec", "containers", 0, "resources", "limits", "cpu") == "1"
    assert SPECS.keys() == {"JobSet", "Job", "PersistentVolumeClaim"}


def test_companions_are_patched_and_know_it() -> None:
    build = built("patched")
    claim = of(build, "PersistentVolumeClaim", "data")
    assert get(claim.data, "spec", "storageClassName") == "fast"
    assert get(claim.data, "spec", "resources", "requests", "storage") == "2Ti"
    origins = claim.origins()
    cause = origins["spec", "resources", "requests", "storage"]
    assert (cause.kind, cause.path[-4:]) == ("environment", ("spec", "resources", "requests", "storage"))
    assert origins["spec", "accessModes"].kind == "input"
    account = of(build, "ServiceAccount", "train")
    assert get(account.data, "metadata", "annotations") == {"iam.example.com/role": "train"}
    assert get(of(built("plain"), "PersistentVolumeClaim", "data").data, "spec", "storageClassName") is None


def test_companions_are_as_the_server_stores_them() -> None:
    build, binding = built("patched"), {"apiGroup": "rbac.authorization.k8s.io"}
    assert of(build, "ConfigMap", "wrapped").data["binaryData"] == {"a": "YWJjZGVm"}
    assert "data" not in of(build, "ConfigMap", "wrapped").data
    small = of(built("plain"), "PersistentVolumeClaim", "small").data
    assert "volumeName" not in as_object(small["spec"])
    assert get(small, "spec", "resources") == {"requests": {"storage": "1m"}, "limits": {"storage": "2m"}}
    assert of(build, "ServiceAccount", "train").data["secrets"] == [{"name": "token"}]
    for name in ("train", "sea-mpi-ssh-keys"):
        assert of(build, "RoleBinding", name).data["subjects"] == [
            {"kind": "ServiceAccount", "name": "other", "namespace": "science"},
            {"kind": "User", "name": "someone", **binding},
        ]


def _with_patch(kind: str, patch: Json) -> Build:
    """Compile a job of a runtime with companions, and a patch of one of them."""
    group = "rbac.authorization.k8s.io"
    account: JsonObject = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "train"}}
    rights: JsonObject = {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "train"}, "rules": []}
    binding: JsonObject = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "train"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "train"},
    }
    texts = [runtime(), *map(json.dumps, (account, rights, binding))]
    sources = (Source("job.yaml", trainjob()), Source("rt.yaml", "\n---\n".join(texts)))
    config: JsonObject = {"environments": {"prod": {"patches": [{"target": {"kind": kind}, "patch": patch}]}}}
    return compile(sources, Options(config=config))


@pytest.mark.parametrize(
    ("kind", "patch", "expected"),
    [
        ("ServiceAccount", {"imagePullSecrets": [None]}, {"imagePullSecrets": [{}]}),
        (
            "Role",
            {"rules": [{"apiGroups": [None], "resources": ["pods"], "verbs": ["get"], "resourceNames": None}]},
            {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
        ),
    ],
)
def test_null_in_a_list_is_what_a_server_stores(kind: str, patch: Json, expected: JsonObject) -> None:
    build = _with_patch(kind, patch)
    assert build.files
    patched = of(build, kind, "train").data
    assert {key: patched[key] for key in expected} == expected


@pytest.mark.parametrize("patch", [{"extra": [None]}, {"spec": {"accessModes": {"a": None}, "volumeName": [None]}}])
def test_null_is_nothing_in_a_claim_that_a_server_refuses(patch: JsonObject) -> None:
    claim: JsonObject = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
    claim["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    sources = (Source("job.yaml", trainjob()), Source("rt.yaml", f"{runtime()}\n---\n{json.dumps(claim)}"))
    patches: list[Json] = [{"target": {"kind": "PersistentVolumeClaim"}, "patch": patch}]
    config: JsonObject = {"severities": {"TC605": "warning"}, "environments": {"prod": {"patches": patches}}}
    build = compile(sources, Options(config=config))
    assert {each.code for each in build.findings} >= {"TC605"}
    assert len(build.files) == 2


def test_a_patch_that_removes_a_required_field_is_refused() -> None:
    found = [f for f in _with_patch("RoleBinding", {"roleRef": None}).findings if f.code == "TC605"]
    assert [f.message for f in found] == ["RoleBinding train: roleRef is missing"]


def test_a_field_knows_the_item_of_a_patch_that_it_came_from() -> None:
    jobset = of(built("patched"), "JobSet", "net")
    pod = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
    containers = jobset.data
    for step in (*pod, "containers"):
        containers = containers[step]  # type: ignore[index,call-overload,assignment]
    ports = [port["containerPort"] for port in containers[0]["ports"]]  # type: ignore[index,call-overload]
    cause = jobset.origins()[*pod, "containers", 0, "ports", ports.index(9000), "containerPort"]
    assert cause.path[-5:] == ("containers", 0, "ports", 0, "containerPort")
    assert cause.path[:4] == ("environments", "patched", "patches", 0)


def patched(patch: JsonObject, job: str, text: str, lock: Lock | None = None) -> Build:
    """Return the build of a job with a patch of its JobSet."""
    patches: list[Json] = [{"target": {"kind": "JobSet"}, "patch": patch}]
    options = Options(config={"environments": {"prod": {"patches": patches}}}, lock=lock or Lock())
    return compile([Source("runtimes/rt.yaml", text), Source("jobs/team/job.yaml", job)], options)


JOBS = ("spec", "replicatedJobs")
ADDED: JsonObject = {"name": "more", "template": {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}}
IMAGE = "example.com/img:1"
PINNED = f"{IMAGE}@sha256:{'1' * 64}"


def test_a_deadline_binds_what_patches_leave() -> None:
    job = trainjob(more="  activeDeadlineSeconds: 60\n")
    restarting = runtime(role(trainer=True), policy="{torch: {}}", spec="failurePolicy: {maxRestarts: 3}")
    never: JsonObject = {"spec": {"failurePolicy": {"maxRestarts": 0}}}
    (jobset,) = patched(never, job, restarting).objects
    assert get(jobset.data, "spec", "replicatedJobs", 0, "template", "spec", "activeDeadlineSeconds") == 60
    again: JsonObject = {"spec": {"failurePolicy": {"maxRestarts": 2}}}
    assert [each.code for each in patched(again, job, restarting).findings if each.severity == "error"] == ["TC312"]
    added = put(ADDED, ("template", "spec", "template", "spec", "containers", 0, "image"), IMAGE)
    (jobset,) = patched({"spec": {"replicatedJobs": [added]}}, job, runtime(role(trainer=True))).objects
    assert [get(each, "template", "spec", "activeDeadlineSeconds") for each in objects(get(jobset.data, *JOBS))] == [
        60,
        60,
    ]


def test_replicated_jobs_keep_their_order() -> None:
    """They may start in it. A patch that lists them in another one does not change it, as in runtimePatches."""
    in_order = "startupPolicy: {startupPolicyOrder: InOrder}"
    several = runtime(role(name="first"), role(trainer=True), role(name="last"), spec=in_order)
    changed: JsonObject = {"template": {"spec": {"backoffLimit": 1}}}
    added = put(ADDED, ("template", "spec", "template", "spec", "containers", 0, "image"), IMAGE)

    def order(jobs: list[Json], **more: Json) -> list[Json]:
        build = patched({"spec": {"replicatedJobs": jobs, **more}}, trainjob(), several)
        assert [each for each in build.findings if each.severity == "error"] == []
        return [each["name"] for each in objects(get(build.objects[0].data, *JOBS))]

    reverse: list[Json] = [{"name": name, **changed} for name in ("last", "node", "first")]
    assert order(reverse) == ["first", "node", "last"]
    assert order([added, *reverse]) == ["more", "first", "node", "last"]
    assert order([*reverse, added]) == ["first", "node", "last", "more"]
    assert order(reverse, **{"$retainKeys": ["replicatedJobs"]}) == ["first", "node", "last"]
    assert order(reverse, **{"$setElementOrder/replicatedJobs": [*reverse]}) == ["last", "node", "first"]
    assert order([added, {"$patch": "replace"}]) == ["more"]


def test_an_image_of_a_patch_is_pinned() -> None:
    lock, findings = parse_lock(Source(FILE, lock_text({IMAGE: PINNED.partition("@")[2]})))
    assert findings == ()
    added = put(ADDED, ("template", "spec", "template", "spec", "containers", 0, "image"), IMAGE)
    build = patched({"spec": {"replicatedJobs": [added]}}, trainjob(), runtime(role(trainer=True)), lock)
    (jobset,) = build.objects
    assert [image for _, image in images(jobset.data)] == [PINNED, PINNED]
    assert [each.code for each in build.findings if each.code == "TC702"] == []


def test_the_queue_of_a_trainjob_replaces_the_runtimes_and_a_patch_both() -> None:
    label = "kueue.x-k8s.io/queue-name"
    text = runtime(role(trainer=True), template=f"{{labels: {{{label}: of-runtime}}}}")
    own = trainjob(metadata=f", labels: {{{label}: of-job}}")
    for job, patch, queue in (
        (trainjob(), {}, "of-runtime"),
        (own, {}, "of-job"),
        (own, {"metadata": {"labels": {label: "of-patch"}}}, "of-patch"),
        (own, {"metadata": {"labels": {label: None}}}, None),
    ):
        (jobset,) = patched(patch, job, text).objects
        assert get(jobset.data, "metadata", "labels", label) == queue
