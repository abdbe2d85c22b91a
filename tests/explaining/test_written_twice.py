"""A value that is written twice comes from where it was written last, also if both are the same.

Whoever follows the origin of a field to change it must find the line that decides.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc import Build, Options, Source, compile
from trainc.basics.differences import other
from trainc.kube.gotime import normalize_time
from trainc.kube.quantity import from_json
from trainc.project.config import parse
from trainc.project.read import read_tree
from trainc.provenance.explain import find, table

ROOT = Path(__file__).parents[2]
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    metadata: {labels: {team: a, tier: b}}
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                priorityClassName: high
                nodeSelector: {zone: b}
                volumes: [{name: all, emptyDir: {}}]
                containers:
                - name: node
                  image: ghcr.io/a/x:1
                  command: [torchrun]
                  args: [train.py, "1"]
                  env: [{name: A, value: "1"}, {name: B, value: "2"}]
                  resources: {requests: {cpu: "4"}, limits: {memory: 4Gi}}
                  volumeMounts:
                  - {name: all, mountPath: /a, subPath: a}
                  - {name: all, mountPath: /b, subPath: b}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: j, labels: {kueue.x-k8s.io/queue-name: q}}
spec:
  runtimeRef: {name: rt}
  trainer:
    image: ghcr.io/a/x:1
    numNodes: 2
    command: [torchrun]
    args: [train.py, "1"]
    env: [{name: A, value: "1"}]
    resourcesPerNode: {requests: {cpu: "4"}, limits: {memory: 4Gi}}
  runtimePatches:
  - manager: example.com/a
    trainingRuntimeSpec:
      template:
        metadata: {labels: {team: a, kueue.x-k8s.io/queue-name: q}}
        spec:
          replicatedJobs:
          - name: node
            template: {spec: {template: {spec: {nodeSelector: {zone: b}}}}}
"""
CONFIG = """\
environments:
  prod:
    patches:
    - target: {kind: JobSet}
      patch:
        metadata: {labels: {tier: b}}
        spec:
          replicatedJobs:
          - name: node
            template:
              spec: {template: {spec: {priorityClassName: high, containers: [{name: node, image: "ghcr.io/a/x:1"}]}}}
"""
NODE = "spec.replicatedJobs[node].template.spec"
CONTAINER = f"{NODE}.template.spec.containers[node]"


def origins(build: Build, options: Options, job: str, field: str) -> list[str]:
    """Return the label and the position of each origin of a field of a job's JobSet, the last one first."""
    (jobset,) = (one for each in build.jobs if each.name == job for one in each.objects if one.kind == "JobSet")
    paths = find(jobset.data, field)
    assert isinstance(paths[0], tuple), f"no field {paths}"
    (row,) = table(jobset, paths, options).rows  # type: ignore[arg-type]  # checked above
    return [f"{each.label} {each.position}" for each in row.origins]


@pytest.mark.parametrize(
    ("field", "last"),
    [
        ("metadata.labels.team", "patch example.com/a j.yaml:17"),
        ("metadata.labels['kueue.x-k8s.io/queue-name']", "trainjob j j.yaml:3"),
        ("metadata.labels.tier", "environment patches trainc.yaml:6"),
        (f"{NODE}.template.spec.nodeSelector.zone", "patch example.com/a j.yaml:21"),
        (f"{NODE}.template.spec.priorityClassName", "environment patches trainc.yaml:11"),
        (f"{CONTAINER}.name", "runtime rt rt.yaml:20"),
        (f"{CONTAINER}.image", "environment patches trainc.yaml:11"),
        (f"{CONTAINER}.command[0]", "trainjob j j.yaml:9"),
        (f"{CONTAINER}.args[1]", "trainjob j j.yaml:10"),
        (f"{CONTAINER}.env[A].value", "trainjob j j.yaml:11"),
        (f"{CONTAINER}.env[B].value", "runtime rt rt.yaml:24"),
        (f"{CONTAINER}.resources.requests.cpu", "trainjob j j.yaml:12"),
        (f"{CONTAINER}.resources.limits.memory", "trainjob j j.yaml:12"),
        (f"{CONTAINER}.volumeMounts[1].subPath", "runtime rt rt.yaml:28"),
    ],
)
def test_the_last_one_is_the_origin(field: str, last: str) -> None:
    config, findings = parse(Source("trainc.yaml", CONFIG))
    assert findings == ()
    options = Options(environment="prod", config=config.data, config_document=config.document)
    build = compile([Source("rt.yaml", RUNTIME), Source("j.yaml", JOB)], options)
    assert not [finding for finding in build.findings if finding.severity == "error"]
    assert origins(build, options, "j", field)[0] == last


@pytest.mark.parametrize(
    ("job", "field", "last"),
    [
        (
            "lammps-flux",
            "spec.replicatedJobs[0].template.spec.template.spec.containers[node].command[0]",
            "plugin Flux",
        ),
        ("detector-coco", "spec.replicatedJobs[dataset-initializer].template.spec.parallelism", "plugin JobSet"),
        ("glacier-flow-kubexec", "spec.replicatedJobs[node].template.spec.parallelism", "trainjob"),
        ("mistral-local", "env[name=PET_NPROC_PER_NODE].value", "trainjob"),
    ],
)
def test_what_a_job_does_not_decide(job: str, field: str, last: str) -> None:
    sources = [source for name in ("jobs", "runtimes") for source in read_tree(ROOT, name).sources]
    assert origins(compile(sources, Options()), Options(), job, field)[0].startswith(last)


@pytest.mark.parametrize("part", ["dataset", "model"])
def test_the_variables_of_each_initializer_are_its_own(part: str) -> None:
    sources = [source for name in ("jobs", "runtimes") for source in read_tree(ROOT, name).sources]
    field = f"spec.replicatedJobs[{part}-initializer].template.spec.template.spec.containers[0].env[STORAGE_URI].value"
    lines = (ROOT / "jobs/team-nlp/llama-1b-alpaca.yaml").read_text(encoding="utf-8").splitlines()
    line = lines.index(f"    {part}:") + 2
    found = origins(compile(sources, Options()), Options(), "llama-1b-alpaca", field)
    assert found[0] == f"trainjob llama-1b-alpaca jobs/team-nlp/llama-1b-alpaca.yaml:{line}"


def test_a_plugin_decides_what_a_patch_repeats() -> None:
    labels = "spec: {template: {metadata: {labels: {scheduling.x-k8s.io/pod-group: j}}, spec: {nodeSelector"
    job = JOB.replace("spec: {template: {spec: {nodeSelector", labels)
    runtime = RUNTIME.replace("  template:\n", "  podGroupPolicy: {coscheduling: {}}\n  template:\n", 1)
    build = compile([Source("rt.yaml", runtime), Source("j.yaml", job)], Options())
    field = f"{NODE}.template.metadata.labels['scheduling.x-k8s.io/pod-group']"
    assert origins(build, Options(), "j", field) == ["plugin CoScheduling rt.yaml:6", "patch example.com/a j.yaml:21"]


@given(st.from_regex(r"[-+]?[0-9]{1,3}(\.[0-9]{0,3})?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,2})?", fullmatch=True))
def test_another_quantity_is_one(text: str) -> None:
    value = other(text)
    assert isinstance(value, str)
    assert from_json(value).canonical()
    assert value != text


@pytest.mark.parametrize("value", ["a", "", "16Mi", "7919", "2020-01-01T00:00:00.5+02:00", 0, 1, 2**31 - 1, 0.5, True])
def test_another_value_is_of_the_same_kind(value: str | float) -> None:
    found = other(value)
    assert type(found) is type(value)
    assert found != value
    if isinstance(found, str) and "T" in found:
        assert normalize_time(found)
