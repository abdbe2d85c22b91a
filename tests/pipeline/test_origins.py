"""Every field of an object knows where it came from."""

from __future__ import annotations

from textwrap import dedent

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import Path
from trainc.plugins.model import Origin
from trainc.plugins.origins import nearest

RUNTIME = dedent(
    """\
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: ClusterTrainingRuntime
    metadata: {name: rt}
    spec:
      mlPolicy: {numNodes: 2, torch: {}}
      template:
        metadata: {labels: {from: runtime}}
        spec:
          replicatedJobs:
          - name: node
            template:
              metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
              spec:
                template:
                  spec:
                    containers:
                    - {name: sidecar, image: "side:1"}
                    - {name: node, image: "img:1", env: [{name: R, value: r}]}
    """
)
JOB = dedent(
    """\
    apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    metadata:
      name: j
      labels: {kueue.x-k8s.io/queue-name: q}
    spec:
      runtimeRef: {name: rt}
      trainer:
        image: mine:2
        env: [{name: U, value: u}]
        resourcesPerNode: {limits: {cpu: 2}}
      runtimePatches:
      - manager: example.com/m
        trainingRuntimeSpec:
          template:
            metadata: {labels: {from-patch: "yes"}}
            spec:
              replicatedJobs:
              - name: node
                template:
                  spec:
                    template:
                      spec:
                        nodeSelector: {zone: a}
    """
)
POD: Path = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
NODE: Path = (*POD, "containers", 1)


def origin_of(*path: str | int) -> Origin:
    build = compile([Source("rt.yaml", RUNTIME), Source("job.yaml", JOB)], Options())
    (jobset,) = build.objects
    found = nearest(jobset.origins(), path)
    assert found is not None
    return found


def place(origin: Origin) -> tuple[str, int]:
    assert origin.document is not None
    return origin.document.source.name, origin.document.locate(origin.path).line


def test_a_field_of_the_runtime() -> None:
    origin = origin_of(*POD, "containers", 0, "image")
    assert (origin.kind, place(origin)) == ("input", ("rt.yaml", 17))


def test_a_field_of_the_trainjob() -> None:
    origin = origin_of(*NODE, "image")
    assert (origin.kind, place(origin)) == ("input", ("job.yaml", 9))


def test_variables_of_runtime_trainjob_and_plugin() -> None:
    kinds = [(origin_of(*NODE, "env", i).kind, origin_of(*NODE, "env", i).name) for i in range(3)]
    assert kinds == [("input", ""), ("input", ""), ("plugin", "Torch")]
    assert [place(origin_of(*NODE, "env", i))[0] for i in range(3)] == ["rt.yaml", "job.yaml", "rt.yaml"]


def test_a_patch_names_its_manager() -> None:
    origin = origin_of(*POD, "nodeSelector", "zone")
    assert (origin.kind, origin.name, place(origin)) == ("patch", "example.com/m", ("job.yaml", 24))


def test_labels_of_template_patch_and_queue() -> None:
    assert place(origin_of("metadata", "labels", "from")) == ("rt.yaml", 7)
    assert origin_of("metadata", "labels", "from-patch").kind == "patch"
    assert place(origin_of("metadata", "labels", "kueue.x-k8s.io/queue-name")) == ("job.yaml", 5)


def test_counts_and_resources() -> None:
    assert place(origin_of("spec", "replicatedJobs", 0, "template", "spec", "parallelism")) == ("rt.yaml", 5)
    assert place(origin_of(*NODE, "resources", "limits", "cpu")) == ("job.yaml", 11)


def test_defaults_name_who_defaulted() -> None:
    assert origin_of("spec", "successPolicy") == Origin("default", name="JobSet webhook")
    assert origin_of(*NODE, "ports", 0, "protocol") == Origin("default", name="JobSet CRD")


def test_a_refusal_of_the_jobset_points_at_its_cause() -> None:
    broken = RUNTIME.replace("numNodes: 2, torch: {}", "torch: {}").replace(
        "spec:\n      replicatedJobs:",
        'spec:\n      successPolicy: {operator: All, targetReplicatedJobs: ["no"]}\n      replicatedJobs:',
    )
    assert broken != RUNTIME
    build = compile([Source("rt.yaml", broken), Source("job.yaml", JOB)], Options())
    (finding,) = [f for f in build.findings if f.severity == "error"]
    assert (finding.code, finding.file, finding.line, finding.stage) == ("TC801", "rt.yaml", 9, "jobset-webhook")
    assert build.files == {} and build.objects == ()
