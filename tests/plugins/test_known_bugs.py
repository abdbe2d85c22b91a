"""Every known bug of Trainer v2.3.0 has a job that meets it, a warning that names its fix, and a job that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc import Options, Source, compile
from trainc.upstream import FIXES

API = "apiVersion: trainer.kubeflow.org/v1alpha1"
NODE = """
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "i:1"%s}]}}}
"""
MPI = """
      - name: node
        template: {spec: {template: {spec: {securityContext: {fsGroup: 1}, containers: [{name: node, image: "i:1"}]}}}}
      - name: launcher
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {%s containers: [{name: node, image: "i:1"}]}}}
"""
PATCH = """
  runtimePatches:
  - manager: example.com/m
    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
      volumes: [{name: w, %s}]}}}}}]}}}
"""
INITIALIZER = """
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {template: {spec: {containers: [{name: dataset-initializer, image: "i:1"%s}]}}}
"""
MOUNT = ", volumeMounts: [{name: initializer, mountPath: /w}]"
TUNE = "  trainer: {command: [tune, run]%s}\n  initializer: {dataset: {storageUri: %s}}\n"


def runtime(jobs: str, policy: str = "torch: {}", spec: str = "", template: str = "", name: str = "rt") -> str:
    return (
        f"{API}\nkind: ClusterTrainingRuntime\nmetadata: {{name: {name}}}\nspec:\n  mlPolicy: {{{policy}}}\n{spec}"
        f"  template:\n    spec:\n{template}      replicatedJobs:{jobs}"
    )


def job(spec: str = "", name: str = "rt") -> str:
    return f"{API}\nkind: TrainJob\nmetadata: {{name: j}}\nspec:\n  runtimeRef: {{name: {name}}}\n{spec}"


TRAINER = "  trainer: {}\n"
OPENMPI = "mpi: {runLauncherAsNode: true}"
ROOTLESS = "securityContext: {fsGroup: 1},"
GANG = "  podGroupPolicy: {coscheduling: {}}\n"
VOLUME = NODE.replace("containers:", "volumes: [{name: w, emptyDir: {}}], containers:")
TORCHTUNE = "torchtune-llama3.2-1b"
TWO_JOBS = INITIALIZER % MOUNT + NODE % ""

EXAMPLES = Path(__file__).parents[1] / "fixes"
MEETS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.yaml"))}
"""By fix: a runtime and a TrainJob that meet the bug."""

AVOIDS = {
    "openmpi5-variables": (runtime(MPI % ROOTLESS, "mpi: {mpiImplementation: MPICH}"), job(TRAINER)),
    "launcher-counts-as-node": (runtime(MPI % ROOTLESS, OPENMPI), job("  trainer: {numNodes: 2}\n")),
    "unnamed-ports": (runtime(NODE % ", ports: [{containerPort: 80, name: web}]"), job(TRAINER)),
    "trainer-omitted": (runtime(NODE % ""), job(TRAINER)),
    "jax-reserved-env": (runtime(NODE % "", "jax: {}"), job("  trainer: {env: [{name: JAX_PLATFORMS, value: cpu}]}\n")),
    "env-to-workers": (runtime(MPI % ROOTLESS, OPENMPI), job(TRAINER)),
    "ssh-key-mode": (runtime(MPI % ROOTLESS, OPENMPI), job(TRAINER)),
    "ssh-known-hosts": (runtime(NODE % ""), job(TRAINER)),
    "gang-min-member": (runtime(NODE % "", spec=GANG), job(TRAINER)),
    "master-address": (runtime(NODE % ""), job(TRAINER)),
    "volume-source-replaced": (runtime(VOLUME % ""), job(TRAINER + PATCH % "emptyDir: {medium: Memory}")),
    "cache-dataset-mount": (
        runtime(TWO_JOBS),
        job("  trainer: {}\n  initializer: {dataset: {storageUri: cache://x}}\n"),
    ),
    "mpi-num-nodes": (runtime(MPI % ROOTLESS, f"numNodes: 1, {OPENMPI}"), job(TRAINER)),
    "torchtune-dataset-args": (
        runtime(TWO_JOBS, name=TORCHTUNE),
        job(TUNE % (", args: [dataset.source=json]", "s3://b/d"), TORCHTUNE),
    ),
    "flux-runtime-args": (runtime(NODE % "", "flux: {}"), job("  trainer: {numNodes: 2}\n")),
}
"""By fix: nearly the same, without the bug."""

WIDE = ', resources: {requests: {memory: "9223372036854775808"}}'
BOTH = "  podGroupPolicy: {coscheduling: {}, volcano: {}}\n"
NO_TRAINER = NODE.replace("trainjob-ancestor-step: trainer", "a: b")
ALSO_AVOIDS = [
    ("gang-min-member", runtime(NODE % WIDE, "numNodes: 2", GANG), job(TRAINER)),
    ("gang-min-member", runtime(NODE % WIDE, "numNodes: 2", GANG.replace("coscheduling", "volcano")), job(TRAINER)),
    ("gang-min-member", runtime(NODE % "", "numNodes: 2", BOTH), job(TRAINER)),
    (
        "mpi-num-nodes",
        runtime((MPI % ROOTLESS).replace("trainjob-ancestor-step: trainer", "a: b"), f"numNodes: 2, {OPENMPI}"),
        job(TRAINER),
    ),
    ("master-address", runtime(NO_TRAINER % "", template="      network: {subdomain: s}\n"), job(TRAINER)),
    (
        "cache-dataset-mount",
        runtime((INITIALIZER % "").replace("dataset-", "model-") + NODE % ""),
        job("  trainer: {}\n  initializer: {model: {storageUri: cache://x}}\n"),
    ),
    (
        "cache-dataset-mount",
        runtime(INITIALIZER % "" + NODE % ""),
        job(
            "  trainer: {}\n  initializer: {dataset: {storageUri: cache://x, env: [{name: STORAGE_URI, value: hf://a/b}]}}\n"
        ),
    ),
]


def codes(*documents: str, faithful: bool = False, fixes: tuple[str, ...] = ()) -> set[str]:
    sources = [Source(f"{index}.yaml", text) for index, text in enumerate(documents)]
    findings = compile(sources, Options(faithful=faithful, fixes=fixes)).findings
    assert not [f for f in findings if f.code == "TC902"]
    mentioned = {fix for fix in FIXES for f in findings if f.hint and repr(fix) in f.hint}
    assert {f.code for f in findings if f.code in {fix.code for fix in FIXES.values()}} <= {
        FIXES[fix].code for fix in mentioned
    }
    return mentioned


def test_the_table_is_covered() -> None:
    assert set(MEETS) == set(AVOIDS) == set(FIXES)


@pytest.mark.parametrize("faithful", [True, False])
@pytest.mark.parametrize("fix", FIXES)
def test_a_job_that_meets_the_bug_is_warned(fix: str, faithful: bool) -> None:
    assert fix in codes(MEETS[fix], faithful=faithful)


@pytest.mark.parametrize("fix", FIXES)
def test_a_job_that_does_not_is_not(fix: str) -> None:
    assert fix not in codes(*AVOIDS[fix])


@pytest.mark.parametrize(("fix", "runtime", "job"), ALSO_AVOIDS)
def test_nor_one_that_meets_only_a_part_of_the_bug(fix: str, runtime: str, job: str) -> None:
    assert fix not in codes(runtime, job)
