"""Manifests of the shapes that people have in public repositories, and the runtimes of older releases of Trainer.

No check may refuse what a cluster would take and run. Every document here has the structure, images, resources and
settings of a real one, whose repository and path stand above it; names of people's jobs, scripts and values of
variables are ours. What is refused is listed, each with why a cluster would not run it either.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from trainc import Options, Source, compile
from trainc.basics.jsonvalues import as_object, get

HERE = Path(__file__).resolve().parent
RELEASES = ("v2.0.1", "v2.1.0", "v2.2.1")
JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: job, namespace: {namespace}}}
spec:
  runtimeRef: {{name: {name}, kind: {kind}}}
  trainer: {{numNodes: 1}}
"""


class Manifest:
    """One document: where it comes from, its text, and what it is."""

    def __init__(self, text: str, release: str = "") -> None:
        (first, self.text) = text.split("\n", 1)
        self.origin = first.removeprefix("# ")
        self.release = release
        document = as_object(yaml.load(self.text, yaml.CSafeLoader))
        self.kind = str(document["kind"])
        self.name = str(get(document, "metadata", "name"))
        self.namespace = str(get(document, "metadata", "namespace") or "default")
        self.runtime = get(document, "spec", "runtimeRef", "name")


def _read(name: str, release: str = "") -> list[Manifest]:
    return [Manifest(text, release) for text in (HERE / name).read_text("utf-8").split("\n---\n")]


MANIFESTS = _read("manifests.yaml")
RUNTIMES = [manifest for release in RELEASES for manifest in _read(f"runtimes-{release}.yaml", release)]


def _ids(manifests: list[Manifest]) -> list[str]:
    """Name each by its origin, those of one file by their number, too."""
    seen: dict[str, int] = {}
    names = []
    for manifest in manifests:
        origin = f"{manifest.release} {manifest.origin}".strip()
        seen[origin] = seen.get(origin, 0) + 1
        names.append(origin if seen[origin] == 1 else f"{origin} #{seen[origin]}")
    return names


def _sources(manifest: Manifest) -> Iterator[Source]:
    """Yield a manifest and what it needs: a runtime a job that uses it, a job its runtime if that is beside it."""
    text = manifest.text
    if manifest.kind != "TrainJob":
        yield Source("job.yaml", JOB.format(name=manifest.name, kind=manifest.kind, namespace=manifest.namespace))
    else:
        repository = manifest.origin.partition(":")[0]
        beside = [
            other
            for other in MANIFESTS
            if other.name == manifest.runtime and other.kind != "TrainJob" and other.origin.startswith(repository)
        ]
        yield from (Source("runtime.yaml", other.text) for other in beside[:1])
    yield Source("manifest.yaml", text)


def _refused(manifest: Manifest) -> list[str]:
    build = compile(_sources(manifest), Options())
    return sorted({finding.code for finding in build.findings if finding.severity == "error"})


REASONS = {
    "TC101": "a field that v2.3.0 does not have: the API server drops it, or refuses it under strict validation",
    "TC102": "a text where the CRD asks for a number",
    "TC302": "a kind of runtime that Trainer does not know",
    "TC305": "no container node in the trainer's job, which the runtime's webhook refuses",
    "TC306": "an initializer without the volume mount that the webhook asks for",
    "TC307": "a manager without a domain, which the CRD refuses",
    "TC805": "a container without an image: no Pod can be created",
    "TC807": "a GPU requested without a limit: no Pod can be created",
}
"""What is refused here, and why a cluster does not run it as it was meant either."""

EXPECTED: dict[str, list[str]] = {
    "NVIDIA/aicr: recipes/components/kubeflow-trainer/manifests/torch-distributed-cluster-training-runtime.yaml": [
        "TC101"
    ],
    "gnosia93/training-on-eks: samples/cpu-amx/cpu-trainjob.yaml": ["TC101"],
    "gnosia93/training-on-eks: samples/deepspeed/llama-3-1b.yaml": ["TC101"],
    "gnosia93/training-on-eks: samples/deepspeed/trainjob-1to1.yaml": ["TC101"],
    "gnosia93/training-on-eks: samples/deepspeed/trainjob-1toM.yaml": ["TC101"],
    "gnosia93/training-on-eks: samples/deepspeed/trainjob.yaml": ["TC101", "TC102"],
    "kubeflow/trainer: docs/operator-guides/job-scheduling/kai.md": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/job-scheduling/kai.md #2": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/migration.md": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/runtime-patches.md": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/runtime.md": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/runtime.md #2": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/runtime.md #3": ["TC101"],
    "kubeflow/trainer: docs/operator-guides/runtime.md #4": ["TC101"],
    "kubeflow/trainer: docs/user-guides/local-execution/overview.md": ["TC101"],
    "kubeflow/trainer: docs/user-guides/megatron.md": ["TC805"],
    "kubeflow/trainer: docs/user-guides/megatron.md #2": ["TC101"],
    "kubeflow/trainer: docs/user-guides/pytorch-rocm.md": ["TC101"],
    "kubeflow/trainer: docs/user-guides/trainjob-lifecycle.md": ["TC101"],
    "kubeflow/trainer: docs/user-guides/trainjob-lifecycle.md #2": ["TC101"],
    "kubeflow/trainer: examples/yaml/01-multi-node.yaml": ["TC101"],
    "kubeflow/trainer: examples/yaml/02-runtime-patches.yaml": ["TC101"],
    "kubeflow/trainer: examples/yaml/03-kueue-integration.yaml": ["TC101"],
    "kubeflow/trainer: examples/yaml/05-multi-step.yaml #2": ["TC306"],
    "kubeflow/trainer: proposals/2899-resource-timeouts/README.md": ["TC101"],
    "kubernetes-sigs/kueue: site/content/en/docs/tasks/run/multikueue/trainjob.md": ["TC807"],
    "kubernetes-sigs/kueue: site/content/en/docs/tasks/run/trainjobs.md": ["TC807"],
    "kubernetes-sigs/kueue: site/content/en/docs/tasks/run/trainjobs.md #2": ["TC101", "TC305"],
    "kubernetes-sigs/kueue: site/content/en/docs/tasks/run/trainjobs.md #3": ["TC101", "TC305"],
    "opendatahub-io/distributed-workloads: benchmarks/kftv2-mpi-ddp-sft/trainjob.yaml": ["TC307"],
    "opendatahub-io/odh-dashboard: packages/cypress/cypress/fixtures/e2e/modelTraining/trainJobs/trainJobs.yaml": [
        "TC302"
    ],
    "opendatahub-io/odh-dashboard: packages/cypress/cypress/fixtures/e2e/modelTraining/trainJobs/trainJobs.yaml #2": [
        "TC302"
    ],
    "v2.0.1 manifests/base/runtimes/torch_distributed.yaml": ["TC101"],
    "v2.0.1 manifests/base/runtimes/torchtune/llama3_2/llama3_2_1B.yaml": ["TC101"],
    "v2.0.1 manifests/base/runtimes/torchtune/llama3_2/llama3_2_3B.yaml": ["TC101"],
    "v2.1.0 manifests/base/runtimes/data-cache/torch_distributed_with_cache.yaml": ["TC101"],
    "v2.1.0 manifests/base/runtimes/torch_distributed.yaml": ["TC101"],
    "v2.1.0 manifests/base/runtimes/torchtune/llama3_2/llama3_2_1B.yaml": ["TC101"],
    "v2.1.0 manifests/base/runtimes/torchtune/llama3_2/llama3_2_3B.yaml": ["TC101"],
    "v2.1.0 manifests/base/runtimes/torchtune/qwen2_5/qwen2_5_1.5B.yaml": ["TC101"],
}


def test_enough() -> None:
    assert len(MANIFESTS) >= 60
    assert len(RUNTIMES) == 22
    assert set(EXPECTED) <= {*_ids(MANIFESTS), *_ids(RUNTIMES)}
    assert {code for codes in EXPECTED.values() for code in codes} == set(REASONS)


@pytest.mark.parametrize(
    ("name", "manifest"), list(zip(_ids(MANIFESTS) + _ids(RUNTIMES), MANIFESTS + RUNTIMES, strict=True))
)
def test_nothing_else_is_refused(name: str, manifest: Manifest) -> None:
    assert _refused(manifest) == EXPECTED.get(name, [])
