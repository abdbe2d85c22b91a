"""The texts of a fleet: a TrainJob for each kind, trainc.yaml and the three policies that the peers apply, too."""

from __future__ import annotations

_HEAD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: {name}
  labels:
    example.com/team: {team}
    example.com/cost-center: {team}
spec:
  runtimeRef:
    name: {runtime}
"""
_IMAGE = """\
    image: {image}:{tag}
    numNodes: {nodes}
"""

JOBS = {
    "cpu": _HEAD
    + "  trainer:\n"
    + _IMAGE
    + """\
    command: [torchrun, /opt/train/main.py]
    args:
    - --lr={rate}
    - --epochs={epochs}
    - --seed={seed}
    resourcesPerNode:
      requests: {{cpu: "4", memory: 8Gi}}
      limits: {{cpu: "4", memory: 8Gi}}
""",
    "gpu": _HEAD
    + "  trainer:\n"
    + _IMAGE
    + """\
    command: [torchrun, /opt/train/main.py]
    args:
    - --lr={rate}
    - --epochs={epochs}
    - --seed={seed}
    resourcesPerNode:
      requests: {{cpu: "64", memory: 512Gi, nvidia.com/gpu: "8"}}
      limits: {{memory: 512Gi, nvidia.com/gpu: "8"}}
    env:
    - name: OMP_NUM_THREADS
      value: "8"
""",
    "mpi": _HEAD
    + """\
  trainer:
    numNodes: {nodes}
    numProcPerNode: 8
    command: [mpirun, -n, "32", python3, /opt/train/main.py]
    args:
    - --lr={rate}
    - --epochs={epochs}
    - --seed={seed}
    resourcesPerNode:
      requests: {{cpu: "8", memory: 16Gi}}
      limits: {{memory: 16Gi}}
""",
    "tune": _HEAD
    + """\
  initializer:
    dataset:
      storageUri: hf://datasets/{name}
    model:
      storageUri: hf://meta-llama/Llama-3.2-1B-Instruct
  trainer:
"""
    + _IMAGE
    + """\
    command: [tune, run]
    args:
    - dataset=torchtune.datasets.instruct_dataset
    - dataset.source=parquet
    - dataset.data_dir=/workspace/dataset/data
    - optimizer.lr={rate}
    - epochs={epochs}
    - seed={seed}
    resourcesPerNode:
      limits: {{memory: 128Gi, nvidia.com/gpu: "2"}}
""",
    "jax": _HEAD
    + "  trainer:\n"
    + _IMAGE
    + """\
    command: [python3, /opt/train/main.py]
    args:
    - --lr={rate}
    - --epochs={epochs}
    - --seed={seed}
    resourcesPerNode:
      requests: {{cpu: "96", memory: 512Gi, nvidia.com/gpu: "8"}}
      limits: {{memory: 512Gi, nvidia.com/gpu: "8"}}
    env:
    - name: XLA_PYTHON_CLIENT_MEM_FRACTION
      value: "0.9"
""",
}
"""By kind; each is a format whose names are the fields of ``fleet.Job``, and ``image``."""

LIKE_CONFIG = """\
environments:
  prod:
    sshKeys: {mode: existing, secret: mpi-keys}
    serviceAccounts: [training]
    fixes: [openmpi5-variables, ssh-known-hosts]
"""

EVERYTHING_CONFIG = """\
fixes: recommended
environments:
  prod:
    imagePullSecrets: [registry]
    serviceAccounts: [training]
lock:
  required: [registry.example.com]
"""

NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata:
  name: {}
  labels:
    training.example.com/sync: automated
"""

THREE_RULES = """\
# No tag latest, a memory limit everywhere, a team: what policy.rego of the peers says, in the cluster's words.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: three-rules
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [jobset.x-k8s.io]
      apiVersions: [v1alpha2]
      operations: [CREATE, UPDATE]
      resources: [jobsets]
  validations:
  - expression: >-
      object.spec.replicatedJobs.all(job, job.template.spec.template.spec.containers.all(container,
      !container.image.endsWith(':latest')))
    message: an image has the tag latest
  - expression: >-
      object.spec.replicatedJobs.all(job, job.template.spec.template.spec.containers.all(container,
      container.?resources.?limits[?'memory'].hasValue()))
    message: a container has no memory limit
  - expression: object.metadata.?labels[?'example.com/team'].orValue('') != ''
    message: label example.com/team is missing
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: three-rules
spec:
  policyName: three-rules
  validationActions: [Deny]
"""
