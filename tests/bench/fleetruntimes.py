"""The runtimes of a fleet: text, as a platform team writes it."""

from __future__ import annotations

from collections.abc import Mapping

TUNE = "torchtune-llama3.2-1b"
INITIALIZERS = (
    "ghcr.io/kubeflow/trainer/dataset-initializer:v2.3.0",
    "ghcr.io/kubeflow/trainer/model-initializer:v2.3.0",
)
KEPT_IMAGES = {"mpi": ("registry.example.com/train/mpi:1.0.0",), "tune": INITIALIZERS}
"""By kind of job, the images that stay in its objects; those of other trainers are replaced by the jobs."""

_HEAD = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata:
  name: {name}
  labels:
    trainer.kubeflow.org/framework: {framework}
spec:
  mlPolicy:
    numNodes: 1
    {policy}
  template:
    metadata:
      labels:
        example.com/team: ml-platform
    spec:
"""

_TRAINER = """\
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            backoffLimit: 2
            template:
              spec:
                serviceAccountName: training
                securityContext:
                  runAsNonRoot: true
                  runAsUser: 1000
                  fsGroup: 1000
                nodeSelector:
                  example.com/pool: {pool}
                containers:
                - name: node
                  image: registry.example.com/train/base:1.0.0
                  env:
                  - name: NCCL_DEBUG
                    value: WARN
                  - name: NCCL_SOCKET_IFNAME
                    value: eth0
                  - name: NCCL_IB_HCA
                    value: mlx5
                  - name: TORCH_NCCL_ASYNC_ERROR_HANDLING
                    value: "1"
                  - name: HF_HOME
                    value: /checkpoints/cache
                  - name: HF_TOKEN
                    valueFrom:
                      secretKeyRef:
                        name: hub
                        key: token
                        optional: true
                  - name: POD_IP
                    valueFrom:
                      fieldRef:
                        fieldPath: status.podIP
                  securityContext:
                    allowPrivilegeEscalation: false
                    capabilities:
                      drop: [ALL]
                  volumeMounts:
                  - name: data
                    mountPath: /data
                    readOnly: true
                  - name: checkpoints
                    mountPath: /checkpoints
                  - name: shm
                    mountPath: /dev/shm
                  livenessProbe:
                    exec:
                      command: [/opt/train/alive]
                    periodSeconds: 60
                    failureThreshold: 5
                affinity:
                  nodeAffinity:
                    requiredDuringSchedulingIgnoredDuringExecution:
                      nodeSelectorTerms:
                      - matchExpressions:
                        - key: kubernetes.io/arch
                          operator: In
                          values: [amd64]
                        - key: example.com/draining
                          operator: DoesNotExist
                priorityClassName: training
                terminationGracePeriodSeconds: 120
                tolerations:
                - key: nvidia.com/gpu
                  operator: Exists
                  effect: NoSchedule
                topologySpreadConstraints:
                - maxSkew: 1
                  topologyKey: topology.kubernetes.io/zone
                  whenUnsatisfiable: ScheduleAnyway
                  labelSelector:
                    matchLabels:
                      example.com/team: ml-platform
                volumes:
                - name: data
                  persistentVolumeClaim:
                    claimName: datasets
                    readOnly: true
                - name: checkpoints
                  persistentVolumeClaim:
                    claimName: checkpoints
                - name: shm
                  emptyDir:
                    medium: Memory
                    sizeLimit: 16Gi
"""

_PLAIN = "      failurePolicy:\n        maxRestarts: 3\n      replicatedJobs:\n" + _TRAINER

_MPI_POD = """\
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never
                serviceAccountName: training
                securityContext:
                  runAsUser: 1000
                  runAsGroup: 1000
                  fsGroup: 1000
                nodeSelector:
                  example.com/pool: cpu
                volumes:
                - name: data
                  persistentVolumeClaim:
                    claimName: datasets
                - name: shm
                  emptyDir:
                    medium: Memory
                    sizeLimit: 16Gi
                containers:
                - name: node
                  image: registry.example.com/train/mpi:1.0.0
                  securityContext:
                    allowPrivilegeEscalation: false
                  volumeMounts:
                  - name: data
                    mountPath: /data
                  - name: shm
                    mountPath: /dev/shm
"""

_MPI = (
    """\
      network:
        publishNotReadyAddresses: true
      successPolicy:
        operator: All
        targetReplicatedJobs: [launcher]
      replicatedJobs:
      - name: node
        template:
          spec:
"""
    + _MPI_POD
    + """\
                  command: [/usr/sbin/sshd, -De, -p, "2222"]
                  args: [-o, StrictModes=no, -o, UsePAM=no, -o, PidFile=none, -h, /home/mpiuser/.ssh/id_rsa]
                  readinessProbe:
                    tcpSocket:
                      port: 2222
                    initialDelaySeconds: 1
                    periodSeconds: 2
                  resources:
                    requests:
                      cpu: "8"
                      memory: 16Gi
                    limits:
                      memory: 16Gi
      - name: launcher
        dependsOn:
        - name: node
          status: Ready
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
"""
    + _MPI_POD
)

_INITIALIZER = """\
      - name: {name}
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: {name}
          spec:
            template:
              spec:
                serviceAccountName: training
                securityContext:
                  runAsNonRoot: true
                  runAsUser: 1000
                  fsGroup: 1000
                containers:
                - name: {name}
                  image: {image}
                  securityContext:
                    allowPrivilegeEscalation: false
                    capabilities:
                      drop: [ALL]
                  env:
                  - name: HF_TOKEN
                    valueFrom:
                      secretKeyRef:
                        name: hub
                        key: token
                        optional: true
                  - name: STORAGE_URI
                    value: hf://none/none
                  resources:
                    requests:
                      cpu: "1"
                      memory: 4Gi
                    limits:
                      memory: 4Gi
                  volumeMounts:
                  - name: initializer
                    mountPath: /workspace
"""

_TUNE = (
    """\
      volumeClaimPolicies:
      - templates:
        - metadata:
            name: initializer
          spec:
            accessModes: [ReadWriteOnce]
            resources:
              requests:
                storage: 20Gi
      replicatedJobs:
"""
    + "".join(
        _INITIALIZER.format(name=name, image=image)
        for name, image in zip(("dataset-initializer", "model-initializer"), INITIALIZERS, strict=True)
    )
    + """\
      - name: node
        dependsOn:
        - name: dataset-initializer
          status: Complete
        - name: model-initializer
          status: Complete
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            template:
              spec:
                serviceAccountName: training
                containers:
                - name: node
                  image: registry.example.com/train/torchtune:1.0.0
                  command:
                  - tune
                  - run
                  - --rdzv_endpoint=localhost:29500
                  - full_finetune_distributed
                  - --config
                  - llama3_2/1B_full
                  - output_dir=/workspace/output
                  - tokenizer.path=/workspace/model/original/tokenizer.model
                  - checkpointer.checkpoint_dir=/workspace/model
                  volumeMounts:
                  - name: initializer
                    mountPath: /workspace
"""
)

_MPI_POLICY = """\
mpi:
      numProcPerNode: 1
      mpiImplementation: OpenMPI
      sshAuthMountPath: /home/mpiuser/.ssh
      runLauncherAsNode: true"""


def texts() -> Mapping[str, str]:
    """Return the text of every runtime, by name."""

    def runtime(name: str, framework: str, policy: str, body: str) -> str:
        return _HEAD.format(name=name, framework=framework, policy=policy) + body

    gpu, cpu = _PLAIN.replace("{pool}", "gpu"), _PLAIN.replace("{pool}", "cpu")
    return {
        "torch-cpu": runtime("torch-cpu", "torch", "torch: {}", cpu),
        "torch-gpu": runtime("torch-gpu", "torch", "torch: {}", gpu),
        "torch-gpu-next": runtime("torch-gpu-next", "torch", "torch: {}", gpu),
        "mpi": runtime("mpi", "mpi", _MPI_POLICY, _MPI),
        TUNE: runtime(TUNE, "torchtune", "torch: {}", _TUNE),
        "jax": runtime("jax", "jax", "jax: {}", gpu),
    }
