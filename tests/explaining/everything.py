"""A job in which every kind of origin meets, and what its fields are explained by."""

from __future__ import annotations

from trainc import Build, Options, Source, compile
from trainc.plugins.model import Object
from trainc.project.config import parse, parse_lock
from trainc.provenance.explain import Row, find, table

DIGEST = "sha256:" + "1" * 64

CONFIG = """\
environments:
  prod:
    queue: spare
    imagePullSecrets: [registry]
    registries:
      ghcr.io: mirror.example.com/ghcr
    namespaces: {team: production}
    fixes: [ssh-key-mode, openmpi5-variables]
    patches:
    - target: {kind: JobSet}
      patch:
        metadata:
          annotations: {example.com/site: west}
"""
LOCK = f"""\
images:
  ghcr.io/team/mpi:1: {DIGEST}
"""
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: rt}
spec:
  mlPolicy:
    numNodes: 1
    mpi:
      mpiImplementation: OpenMPI
      sshAuthMountPath: /root/.ssh
      numProcPerNode: 4
  podGroupPolicy:
    coscheduling:
      scheduleTimeoutSeconds: 90
  template:
    metadata:
      labels: {from: runtime}
    spec:
      network: {publishNotReadyAddresses: true}
      replicatedJobs:
      - name: launcher
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: ghcr.io/team/mpi:1
      - name: node
        template:
          spec:
            template:
              spec:
                containers:
                - name: node
                  image: ghcr.io/team/mpi:1
                  command: [sshd]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteMany]
  resources:
    requests: {storage: 10Gi}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: j
spec:
  runtimeRef: {name: rt}
  trainer:
    numNodes: 3
    command: [mpirun]
    env:
    - name: USER_VARIABLE
      value: "1"
    - name: API_TOKEN
      value: correct-horse-battery
    resourcesPerNode:
      requests:
        cpu: 2000m
  runtimePatches:
  - manager: example.com/placement
    trainingRuntimeSpec:
      template:
        metadata:
          labels: {from: patch}
        spec:
          replicatedJobs:
          - name: node
            template:
              spec:
                template:
                  spec:
                    nodeSelector: {pool: gpu}
"""
TEXTS = {"trainc.yaml": CONFIG, "images.lock.yaml": LOCK, "runtimes/rt.yaml": RUNTIME, "jobs/team/j.yaml": JOB}


def options() -> Options:
    config, findings = parse(Source("trainc.yaml", CONFIG))
    lock, more = parse_lock(Source("images.lock.yaml", LOCK))
    assert (findings, more) == ((), ())
    return Options(config=config.data, config_document=config.document, lock=lock)


def built() -> Build:
    found = compile([Source(name, TEXTS[name]) for name in ("runtimes/rt.yaml", "jobs/team/j.yaml")], options())
    assert not [finding for finding in found.findings if finding.severity == "error"]
    return found


def made(kind: str, start: str = "") -> Object:
    """Return the one object of a kind whose name begins so."""
    (one,) = [each for each in built().objects if each.kind == kind and each.name.startswith(start)]
    return one


def row(kind: str, field: str, start: str = "") -> Row:
    """Return the one row of a field of an object."""
    one = made(kind, start)
    paths = find(one.data, field)
    assert isinstance(paths[0], tuple), f"no field {paths}"
    (found,) = table(one, paths, options()).rows  # type: ignore[arg-type]  # checked above
    return found
