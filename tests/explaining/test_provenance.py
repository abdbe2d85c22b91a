"""Every field of every object has an origin, and those that people ask for have the right one."""

from __future__ import annotations

from pathlib import Path

import pytest
from everything import DIGEST, TEXTS, built, made, options, row

from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import paths
from trainc.plugins.model import Object
from trainc.project.config import parse, parse_lock
from trainc.project.read import read_config, read_lock, read_tree
from trainc.provenance.explain import Provenance, table

ROOT = Path(__file__).parents[2]
LAUNCHER = "spec.replicatedJobs[launcher].template.spec"
NODE = "spec.replicatedJobs[node].template.spec"
POD = "template.spec"
MADE_BY_JOB = "j-mpi-ssh-keys"

CASES: list[tuple[str, str, str, str, str]] = [
    # object, field, origin, file, how the line there begins
    ("JobSet", "metadata.name", "trainjob j", "jobs/team/j.yaml", "name: j"),
    ("JobSet", "metadata.namespace", "environment namespaces", "trainc.yaml", "namespaces: {team: production}"),
    ("JobSet", "metadata.labels.from", "patch example.com/placement", "jobs/team/j.yaml", "labels: {from: patch}"),
    ("JobSet", "metadata.labels['kueue.x-k8s.io/queue-name']", "environment queue", "trainc.yaml", "queue: spare"),
    ("JobSet", "metadata.annotations.example.com/site", "environment patches", "trainc.yaml", "annotations:"),
    ("JobSet", "spec.network.publishNotReadyAddresses", "runtime rt", "runtimes/rt.yaml", "network:"),
    ("JobSet", "spec.network.enableDNSHostnames", "default JobSet webhook", "", ""),
    ("JobSet", "spec.successPolicy.operator", "default JobSet webhook", "", ""),
    ("JobSet", "spec.replicatedJobs[node].replicas", "default ClusterTrainingRuntime CRD", "", ""),
    ("JobSet", f"{NODE}.parallelism", "trainjob j", "jobs/team/j.yaml", "numNodes: 3"),
    ("JobSet", f"{NODE}.{POD}.nodeSelector.pool", "patch example.com/placement", "jobs/team/j.yaml", "nodeSelector:"),
    ("JobSet", f"{NODE}.{POD}.imagePullSecrets[0].name", "environment imagePullSecrets", "trainc.yaml", "imagePull"),
    ("JobSet", f"{NODE}.{POD}.containers[node].command[0]", "runtime rt", "runtimes/rt.yaml", "command: [sshd]"),
    ("JobSet", f"{NODE}.{POD}.containers[node].image", "environment registries", "trainc.yaml", "ghcr.io: mirror"),
    ("JobSet", f"{LAUNCHER}.{POD}.containers[node].command[0]", "trainjob j", "jobs/team/j.yaml", "command: [mpirun]"),
    (
        "JobSet",
        f"{LAUNCHER}.{POD}.containers[node].env[USER_VARIABLE].value",
        "trainjob j",
        "jobs/team/j.yaml",
        "value",
    ),
    ("JobSet", f"{LAUNCHER}.{POD}.containers[node].resources.requests.cpu", "trainjob j", "jobs/team/j.yaml", "cpu: 2"),
    (
        "JobSet",
        f"{LAUNCHER}.{POD}.containers[node].env[OMPI_MCA_orte_default_hostfile].value",
        "plugin MPI",
        "runtimes/rt.yaml",
        "mpi:",
    ),
    (
        "JobSet",
        f"{LAUNCHER}.{POD}.containers[node].env[PRTE_MCA_prte_default_hostfile].value",
        "fix openmpi5-variables",
        "trainc.yaml",
        "fixes:",
    ),
    ("JobSet", f"{LAUNCHER}.{POD}.restartPolicy", "default JobSet webhook", "", ""),
    ("ConfigMap j-mpi-hostfile", "data.hostfile", "plugin MPI", "jobs/team/j.yaml", "numNodes: 3"),
    ("ConfigMap j-mpi-hostfile", "immutable", "plugin immutable_configmaps", "", ""),
    ("PodGroup", "spec.minMember", "plugin CoScheduling", "jobs/team/j.yaml", "numNodes: 3"),
    ("PodGroup", "spec.scheduleTimeoutSeconds", "runtime rt", "runtimes/rt.yaml", "scheduleTimeoutSeconds: 90"),
    ("Secret", "type", "plugin sshKeys", "runtimes/rt.yaml", "mpi:"),
    ("Job", "spec.template.spec.containers[0].image", "environment registries", "trainc.yaml", "ghcr.io: mirror"),
    ("Job", "metadata.name", "plugin hash_suffix", "", ""),
    ("PersistentVolumeClaim", "spec.accessModes[0]", "companion PersistentVolumeClaim data", "runtimes/rt.yaml", "acc"),
    ("PersistentVolumeClaim", "spec.volumeMode", "default API server", "", ""),
    ("PersistentVolumeClaim", "metadata.namespace", "environment namespaces", "trainc.yaml", "namespaces:"),
    (
        "PersistentVolumeClaim",
        "metadata.annotations['argocd.argoproj.io/sync-options']",
        "plugin companions",
        "",
        "",
    ),
]


@pytest.mark.parametrize(("kind", "field", "origin", "file", "line"), CASES, ids=[f"{c[0]}:{c[1]}" for c in CASES])
def test_a_field_comes_from(kind: str, field: str, origin: str, file: str, line: str) -> None:
    found = row(*kind.split()[:1], field, *kind.split()[1:]).origins[0]
    assert (found.label, found.file or "") == (origin, file)
    if file:
        assert found.line is not None
        assert TEXTS[file].splitlines()[found.line - 1].strip().startswith(line)


def test_what_an_image_was_before() -> None:
    found = row("JobSet", f"{NODE}.{POD}.containers[node].image")
    assert found.value == f"mirror.example.com/ghcr/team/mpi:1@{DIGEST}"
    assert [(each.kind, each.position) for each in found.origins] == [
        ("environment", "trainc.yaml:6"),
        ("lock", "images.lock.yaml:2"),
        ("runtime", "runtimes/rt.yaml:38"),
    ]


def test_what_a_label_was_before_its_patch() -> None:
    kinds = [(each.kind, each.file) for each in row("JobSet", "metadata.labels.from").origins]
    assert kinds == [("patch", "jobs/team/j.yaml"), ("runtime", "runtimes/rt.yaml")]


def test_what_looks_secret_is_masked() -> None:
    found = row("JobSet", "env[name=API_TOKEN].value")
    assert (found.value, found.origins[0].kind) == ("***", "trainjob")
    assert found.origins[0].line == 14


def test_the_namespace_of_a_folder() -> None:
    plain = compile(
        [source for name in ("runtimes", "jobs") for source in read_tree(ROOT, name).sources],
        Options(),
    )
    job = next(job for job in plain.jobs if job.objects)
    (found,) = table(job.objects[0], [("metadata", "namespace")], Options()).rows
    assert found.origins == (Provenance("folder", job.namespace, f"jobs/{job.namespace}"),)


def test_labels_and_annotations_of_the_second_patch() -> None:
    build, options = repository()
    (jobset,) = (
        each
        for job in build.jobs
        for each in job.objects
        if job.name == "roberta-two-managers" and each.kind == "JobSet"
    )
    paths = [("metadata", "labels", f"example.com/{name}") for name in ("cost-center", "team")]
    rows = table(jobset, [*paths, ("metadata", "annotations", "example.com/contact")], options).rows
    assert [(row.origins[0].name, row.origins[0].line) for row in rows] == [
        ("platform.example.com/placement", 33),
        ("nlp.example.com/team", 59),
        ("nlp.example.com/team", 61),
    ]


def repository() -> tuple[Build, Options]:
    config, findings = parse(read_config(ROOT).sources[0])
    locked = read_lock(ROOT).sources
    lock, more = parse_lock(locked[0] if locked else None)
    assert (findings, more) == ((), ())
    options = Options(
        environment=config.environments[0], config=config.data, config_document=config.document, lock=lock
    )
    sources = [source for name in ("jobs", "runtimes", "policies") for source in read_tree(ROOT, name).sources]
    return compile(sources, options), options


KINDS = frozenset(
    ("trainjob", "folder", "runtime", "companion", "patch", "default", "plugin", "fix", "environment", "lock")
)


def judged(one: Object, options: Options) -> int:
    """Check the origins of every field of an object; return how many there are."""
    rows = table(one, [()], options).rows
    leaves = [path for path in paths(one.data) if not _holds(one.data, path)]
    assert sorted(map(str, (each.path for each in rows))) == sorted(map(str, leaves))
    for each in rows:
        assert each.origins, f"{one.kind} {one.name}: {each.field} has no origin"
        for origin in each.origins:
            assert origin.kind in KINDS, f"{one.kind} {one.name}: {each.field} comes from {origin}"
            assert origin.name, f"{one.kind} {one.name}: {each.field} has an origin without a name"
            assert origin.kind in ("default", "plugin") or origin.file, f"{one.name}: {each.field} is written nowhere"
    return len(rows)


def _holds(value: object, path: tuple[str | int, ...]) -> bool:
    for step in path:
        value = value[step]  # type: ignore[index]
    return isinstance(value, dict | list) and bool(value)


def test_every_field_of_this_repository_has_an_origin() -> None:
    build, options = repository()
    assert len(build.jobs) >= 19
    assert all(job.objects for job in build.jobs)
    assert sum(judged(one, options) for one in build.objects) > 1500


def test_every_field_of_a_job_with_every_kind_of_origin() -> None:
    assert sum(judged(one, options()) for one in built().objects) > 150
    kinds = {row.origins[0].kind for one in built().objects for row in table(one, [()], options()).rows}
    kinds |= {"lock"}  # below registries: test_what_an_image_was_before
    assert kinds == KINDS - {"folder"}, "the namespace is another one in this environment"


def test_the_plugins_of_what_is_named_with_a_hash() -> None:
    job = made("Job", MADE_BY_JOB)
    (name,) = table(job, [("metadata", "name")], options()).rows
    assert [each.label for each in name.origins] == ["plugin hash_suffix", "trainjob j"]


@pytest.mark.parametrize(
    ("image", "line"),
    [
        ("pytorch/pytorch:2", 4),
        ("pytorch/pytorch/a:2", 4),
        ("python:3", 5),
        ("ghcr.io/a/b:1", 6),
        ("registry.example.com/c:1", None),
    ],
)
def test_the_registry_that_was_replaced(image: str, line: int | None) -> None:
    """Two entries may have the same new name, or one the beginning of another's."""
    config, findings = parse(Source("trainc.yaml", REGISTRIES))
    assert findings == ()
    options = Options(environment="prod", config=config.data, config_document=config.document)
    build = compile([Source("jobs/team/j.yaml", JOB.format(image=image))], options)
    (job,) = build.jobs
    path = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec", "containers", 0, "image")
    (found,) = table(job.objects[0], [path], options).rows
    assert found.origins[0].line == (line or 6)
    assert found.origins[0].kind == ("environment" if line else "trainjob")


REGISTRIES = """\
environments:
  prod:
    registries:
      docker.io/pytorch: mirror.example.com/hub
      docker.io: mirror.example.com/hub
      ghcr.io: mirror.example.com/hub/pytorch
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: j}}
spec:
  runtimeRef: {{name: torch-distributed}}
  trainer: {{image: "{image}"}}
"""
