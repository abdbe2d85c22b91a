"""Patches of an environment: what they make is what a cluster holds, and every field of it knows its patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc import Build, Options, Source, compile
from trainc.admission.jobset import default, overlay
from trainc.basics.jsonvalues import as_object, get
from trainc.gitops.patches import SPECS, go_encoded
from trainc.kube.gotypes import JOB_SET, decode
from trainc.plugins.model import Object
from trainc.project.config import parse
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
    - target: {kind: RoleBinding, name: train}
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
binaryData: {a: "YWJj\\nZGVm\\n"}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1024Gi}}}
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
    for name, runtime in RUNTIMES.items():
        text = (ROOT / "runtimes" / f"{runtime}.yaml").read_text(encoding="utf-8")
        more = COMPANIONS if runtime == "mpi-distributed" else ""
        found.append(Source(f"runtimes/{runtime}.yaml", text + more))
        found.append(Source(f"jobs/team-science/{name}.yaml", JOB.format(name=name, runtime=runtime)))
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
    assert of(build, "ServiceAccount", "train").data["secrets"] == [{"name": "token"}]
    assert of(build, "RoleBinding", "train").data["subjects"] == [
        {"kind": "ServiceAccount", "name": "other", "namespace": "science"},
        {"kind": "User", "name": "someone", **binding},
    ]


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
