"""Names that a job has from its old operator: labels, hosts, containers, and variables of the runtime."""

from __future__ import annotations

import pytest

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Json, get, objects
from trainc.findings import has_errors
from trainc.migrate import import_documents

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: mnist}}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        metadata: {{labels: {{pytorch-job-name: mnist}}}}
        spec:
          {pod}
          containers:
          - {{name: pytorch, image: "registry.example.com/a:1", command: [torchrun, train.py], {container}}}
"""
JOBSET = "jobset.sigs.k8s.io/jobset-name"


def pod_of(pod: str = "", container: str = "") -> Json:
    """Return the pod template of the JobSet of an imported job."""
    text = JOB.format(pod=pod or "{}", container=container).replace("          {}\n", "")
    result = import_documents([Source("old.yaml", text)])
    assert not has_errors(result.findings)
    (job,) = compile([Source(file.path, file.text) for file in result.files], Options()).jobs
    (jobset,) = [each.data for each in job.objects if each.data["kind"] == "JobSet"]
    (replicated,) = objects(get(jobset, "spec", "replicatedJobs"))
    return get(replicated, "template", "spec", "template")


def messages(pod: str = "", container: str = "") -> list[str]:
    text = JOB.format(pod=pod or "{}", container=container).replace("          {}\n", "")
    return [f"{one.severity}: {one.message}" for one in import_documents([Source("old.yaml", text)]).findings]


@pytest.mark.parametrize("label", ["training.kubeflow.org/job-name", "tf-job-name"])
def test_a_variable_with_the_name_of_the_job_keeps_it(label: str) -> None:
    field = f"metadata.labels['{label}']"
    found = pod_of(container=f'env: [{{name: JOB, valueFrom: {{fieldRef: {{fieldPath: "{field}"}}}}}}]')
    (job,) = [one for one in objects(get(found, "spec", "containers", 0, "env")) if one["name"] == "JOB"]
    assert get(job, "valueFrom", "fieldRef", "fieldPath") == f"metadata.labels['{JOBSET}']"


def test_a_label_of_the_user_stays() -> None:
    """No operator of today sets it, so what refers to it keeps it, too."""
    field = "metadata.labels['pytorch-job-name']"
    env = f'env: [{{name: GROUP, valueFrom: {{fieldRef: {{fieldPath: "{field}"}}}}}}]'
    spread = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}"
    found = pod_of(f"topologySpreadConstraints: [{{{spread}, matchLabelKeys: [pytorch-job-name]}}]", env)
    assert get(found, "metadata", "labels", "pytorch-job-name") == "mnist"
    assert get(found, "spec", "topologySpreadConstraints", 0, "matchLabelKeys") == ["pytorch-job-name"]
    (group,) = [one for one in objects(get(found, "spec", "containers", 0, "env")) if one["name"] == "GROUP"]
    assert get(group, "valueFrom", "fieldRef", "fieldPath") == field


@pytest.mark.parametrize(
    "label", ["scheduling.volcano.sh/queue-name", "volcano.sh/queue-name", "training.kubeflow.org/team"]
)
def test_a_label_or_annotation_that_the_user_sets_is_no_use_of_one(label: str) -> None:
    text = JOB.format(pod="{}", container="").replace("          {}\n", "").replace("{pytorch-job-name:", f"{{{label}:")
    for source in (text, text.replace("labels:", "annotations:")):
        assert not has_errors(import_documents([Source("old.yaml", source)]).findings)


def test_a_topology_spreads_the_pods_of_one_job() -> None:
    spread = "maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {a: b}}"
    found = pod_of(f"topologySpreadConstraints: [{{{spread}, matchLabelKeys: [training.kubeflow.org/job-name]}}]")
    assert get(found, "spec", "topologySpreadConstraints", 0, "matchLabelKeys") == [JOBSET]


def test_a_toleration_and_a_key_of_a_secret_stay() -> None:
    toleration = {"key": "mpi-job-name", "operator": "Exists"}
    secret = {"name": "s", "key": "mpi-job-name"}
    env = "env: [{name: S, valueFrom: {secretKeyRef: {name: s, key: mpi-job-name}}}]"
    found = pod_of("tolerations: [{key: mpi-job-name, operator: Exists}]", env)
    assert toleration in objects(get(found, "spec", "tolerations"))
    assert secret in [
        get(each, "valueFrom", "secretKeyRef") for each in objects(get(found, "spec", "containers", 0, "env"))
    ]


def test_a_reference_to_the_main_container_follows_it() -> None:
    reference = "resourceFieldRef: {containerName: pytorch, resource: limits.cpu}"
    volume = f"volumes: [{{name: cpu, downwardAPI: {{items: [{{path: cpu, {reference}}}]}}}}]"
    found = pod_of(volume)
    assert get(found, "spec", "volumes", 0, "downwardAPI", "items", 0, "resourceFieldRef", "containerName") == "node"


@pytest.mark.parametrize(
    "prefix",
    [
        "container.apparmor.security.beta.kubernetes.io/",
        "devices.nri.io/container.",
        "cpu-shared.crio.io/",
        "seccomp-profile.kubernetes.cri-o.io/",
        "io.kubernetes.cri-o.UnifiedCgroup.",
    ],
)
def test_an_annotation_of_the_main_container_follows_it(prefix: str) -> None:
    """Of a container that a pod lacks, the API server refuses an AppArmor profile; NRI and CRI-O ignore the others."""
    text = JOB.format(pod="{}", container="").replace("          {}\n", "")
    given = f"annotations: {{a: b, {prefix}pytorch: unconfined, {prefix}other: unconfined, {prefix}pytorch-2: c}}"
    result = import_documents([Source("old.yaml", text.replace("labels: {pytorch-job-name: mnist}", given))])
    assert given.replace(f"{prefix}pytorch:", f"{prefix}node:") in result.files[0].text


@pytest.mark.parametrize(
    "container",
    [
        "args: [sh, -c, kubectl get pods -l training.kubeflow.org/job-name=mnist]",
        "env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['volcano.sh/task-index']\"}}}]",
    ],
)
def test_a_label_that_no_pod_has_is_refused(container: str) -> None:
    assert any("error: the pods of a JobSet do not have the label" in one for one in messages(container=container))


@pytest.mark.parametrize(
    "selector",
    [
        "matchLabels: {training.kubeflow.org/job-name: other}",
        "matchExpressions: [{key: training.kubeflow.org/job-name, operator: In, values: [mnist, other]}]",
    ],
)
def test_a_selector_of_another_job_is_reported(selector: str) -> None:
    term = f"{{topologyKey: zone, labelSelector: {{{selector}}}}}"
    found = messages(f"affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}")
    assert "warning: other now selects the pods of JobSet other, not those of a job that an operator runs" in found
    assert sum("selects" in one for one in found) == 1


def test_a_rendezvous_at_an_old_host_is_refused() -> None:
    text = JOB.format(pod="{}", container="").replace("          {}\n", "")
    text = text.replace("spec:\n", "spec:\n  elasticPolicy: {rdzvHost: mnist-worker-0.default.svc}\n", 1)
    found = [one.message for one in import_documents([Source("old.yaml", text)]).findings]
    assert "host mnist-worker-0 does not exist: the pods of a JobSet have other names" in found


OTHER = """\
apiVersion: kubeflow.org/v1
kind: {kind}Job
metadata: {{name: a}}
spec:
  {field}ReplicaSpecs:
    {role}: &pods
      template:
        spec:
          containers:
          - {{name: {container}, image: "registry.example.com/a:1", env: [{{name: {variable}, value: x}}]}}
          - {{name: side, image: "registry.example.com/a:1", env: [{{name: {beside}, value: x}}]}}
"""


@pytest.mark.parametrize(
    ("kind", "field", "role", "container", "variable"),
    [
        ("XGBoost", "xgb", "Master", "xgboost", "JOBSET_NAME"),
        ("TF", "tf", "Worker", "tensorflow", "TF_INDEX"),
        ("JAX", "jax", "Worker", "jax", "JAX_PROCESS_ID"),
    ],
)
def test_a_variable_of_which_the_runtime_makes_others_is_refused(
    kind: str, field: str, role: str, container: str, variable: str
) -> None:
    text = OTHER.format(kind=kind, field=field, role=role, container=container, variable=variable, beside="A")
    text += "" if kind != "TF" else "    PS: *pods\n"
    found = [one.message for one in import_documents([Source("old.yaml", text)]).findings]
    assert f"the runtime makes other variables of {variable}, and sets it itself" in found


def test_a_sidecar_has_each_variable_once() -> None:
    text = OTHER.format(kind="XGBoost", field="xgb", role="Master", container="xgboost", variable="A", beside="RANK")
    result = import_documents([Source("old.yaml", text)])
    assert "RANK is left out: the operator replaces its value" in [one.message for one in result.findings]
    build = compile([Source(file.path, file.text) for file in result.files], Options())
    assert not has_errors(build.findings)


@pytest.mark.parametrize("workers", [0, 1])
def test_one_pod_of_xgboost_keeps_a_variable_of_workers(workers: int) -> None:
    text = OTHER.format(
        kind="XGBoost", field="xgb", role="Master", container="xgboost", variable="WORKER_PORT", beside="WORKER_ADDRS"
    )
    result = import_documents([Source("old.yaml", text + "    Worker: *pods\n" * workers)])
    assert not has_errors(result.findings)
    assert sum(file.text.count("value: x") for file in result.files) == (0 if workers else 2)


@pytest.mark.parametrize(
    "host", ["mnist-worker-$i", "mnist-worker-{0..3}.mnist", "mnist-worker-%d", "'mnist-worker-'", "mnist-worker-"]
)
def test_a_script_that_composes_an_old_host_is_reported(host: str) -> None:
    found = messages(container=f'args: ["ping {host}"]')
    assert "warning: no host begins with mnist-worker-: the pods of a JobSet have other names" in found
    assert not any("no host begins" in one for one in messages(container='args: ["mnist-worker-x my-mnist-worker-$i"]'))


def test_the_pod_group_of_a_job_that_only_names_a_scheduler_gets_the_queue_of_its_pods() -> None:
    text = JOB.format(pod="schedulerName: volcano", container="")
    text = text.replace(
        "labels: {pytorch-job-name: mnist}", "annotations: {scheduling.volcano.sh/queue-name: research}"
    )
    result = import_documents([Source("old.yaml", text)])
    (job,) = compile([Source(file.path, file.text) for file in result.files], Options()).jobs
    (queue,) = [get(each.data, "spec", "queue") for each in job.objects if each.data["kind"] == "PodGroup"]
    assert queue == "research"
    assert "the job is scheduled by podGroupPolicy.volcano: all pods start, or none" in [
        one.message for one in result.findings
    ]


def test_another_priority_class_of_the_pods_is_reported() -> None:
    policy = "spec:\n  runPolicy: {schedulingPolicy: {priorityClass: high}}\n"
    text = JOB.format(pod="priorityClassName: low", container="").replace("spec:\n", policy, 1)
    found = [one.message for one in import_documents([Source("old.yaml", text)]).findings]
    assert "the PodGroup gets the priority class of the pods, and those with low keep it" in found


@pytest.mark.parametrize("kind", ["PyTorchJob", "Job"])
def test_an_empty_scheduler_and_priority_class_of_the_pods_are_none(kind: str) -> None:
    text = JOB.format(pod="priorityClassName: ''\n          schedulerName: ''", container="")
    text = text.replace("spec:\n", "spec:\n  runPolicy: {schedulingPolicy: {priorityClass: high}}\n", 1)
    if kind == "Job":
        template = text.partition("template:\n")[2]
        text = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: mnist}\nspec:\n"
        text += f"  priorityClassName: high\n  tasks:\n  - replicas: 1\n    template:\n{template}"
    result = import_documents([Source("old.yaml", text)])
    assert "so the pods now have it" in " ".join(one.message for one in result.findings)
    (runtime,) = (file.text for file in result.files if file.path.startswith("runtimes/"))
    assert "priorityClassName: 'high'\n" in runtime
    assert "schedulerName: 'volcano'\n" in runtime


@pytest.mark.parametrize("kind", ["PyTorchJob", "Job"])
def test_annotations_that_only_a_pod_group_has_are_reported(kind: str) -> None:
    text = JOB.format(pod="schedulerName: volcano", container="")
    if kind == "Job":
        text = "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: mnist}\nspec:\n  tasks:\n"
        text += '  - {name: a, replicas: 1, template: {spec: {containers: [{name: a, image: "a:1"}]}}}\n'
    annotations = "volcano.sh/sla-waiting-time: 1h, volcano.sh/preemptable: 'true', note: x"
    text = text.replace("{name: mnist}", f"{{name: mnist, annotations: {{{annotations}}}}}", 1)
    found = [one.message for one in import_documents([Source("old.yaml", text)]).findings]
    message = "volcano.sh/sla-waiting-time has no effect: Trainer's PodGroup gets no annotations of the job"
    assert message in found
    assert sum("has no effect" in one for one in found) == (1 if kind == "Job" else 2)


def test_ports_without_names_stay_apart() -> None:
    ports = "ports: [{containerPort: 53, protocol: UDP}, {containerPort: 80}]"
    proxy = f'initContainers: [{{name: proxy, image: "a:1", restartPolicy: Always, {ports}}}]'
    found = pod_of(proxy, ports)
    for container in (get(found, "spec", "initContainers", 0), get(found, "spec", "containers", 0)):
        numbers = [(one["containerPort"], one["protocol"]) for one in objects(get(container, "ports"))]
        assert numbers[:2] == [(53, "UDP"), (80, "TCP")]


def test_the_role_of_a_worker_is_a_variable_of_v2beta1_only() -> None:
    text = "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: a}\nspec:\n  mpiReplicaSpecs:\n"
    for role in ("Launcher", "Worker"):
        container = '{name: a, image: "a:1", command: [a], env: [{name: K_MPI_JOB_ROLE, value: own}]}'
        text += f"    {role}: {{replicas: 1, template: {{spec: {{containers: [{container}]}}}}}}\n"
    result = import_documents([Source("old.yaml", text)])
    assert sum(file.text.count("value: own") for file in result.files) == 2
