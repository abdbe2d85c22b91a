"""TrainJobs and runtimes for the tests of findings."""

from __future__ import annotations

from trainc import Build, Options, Source, compile
from trainc.basics.jsonvalues import JsonObject

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
spec:
  runtimeRef: {{name: rt}}
  trainer:
    numNodes: 2
    resourcesPerNode:
      limits:
        nvidia.com/gpu: 2
        example.com/gpu-mem: 16
"""
"""A TrainJob with one finding of its own, the warning TC409 at line 10, and those of its runtime."""

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: rt
  labels:
    trainer.kubeflow.org/support: deprecated
spec:
  mlPolicy:
    mpi: {mpiImplementation: OpenMPI}
  template:
    spec:
      replicatedJobs:
        - name: launcher
          template:
            metadata:
              labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}
            spec: {template: {spec: {containers: [{name: node, image: "example.com/img:1"}]}}}
        - name: node
          template:
            spec: {template: {spec: {containers: [{name: node, image: "example.com/img:1"}]}}}
"""
"""A runtime with findings on itself that show through each job."""

XGBOOST = JOB.replace("name: rt", "name: xgboost-distributed")


def build(*texts: str, config: JsonObject | None = None, faithful: bool = False) -> Build:
    sources = [Source(f"jobs/team/{index}.yaml", text) for index, text in enumerate(texts)]
    return compile(sources, Options(config=config or {}, faithful=faithful))


def with_runtime(count: int, runtime: str = RUNTIME, config: JsonObject | None = None) -> Build:
    jobs = [Source(f"jobs/team/{name}.yaml", JOB.format(name=name)) for name in names(count)]
    return compile([*jobs, Source("runtimes/rt.yaml", runtime)], Options(config=config or {}))


def names(count: int) -> list[str]:
    return [f"job-{chr(ord('a') + index)}" for index in range(count)]


def places(found: Build) -> list[tuple[str, int, str]]:
    return [(finding.code, finding.line, finding.severity.value) for finding in found.findings]
