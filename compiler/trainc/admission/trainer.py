"""The rules of Trainer's webhook for runtimes.

Source: Trainer v2.3.0 pkg/webhooks. The rules for TrainJobs are the plugins' checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, JsonObject, Path, dotted, existing, get
from trainc.findings import Finding, report
from trainc.inputs.source import Document
from trainc.kube.fielderror import invalid
from trainc.kube.gotypes import typed
from trainc.upstream import (
    ANCESTOR_LABEL,
    DATASET_INITIALIZER,
    MODEL_INITIALIZER,
    NODE,
    SUPPORT_LABEL,
    TRAINER,
    VALIDATION_LABEL,
)

DEPRECATION_POLICY = "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy"
CONTAINERS = {TRAINER: NODE, MODEL_INITIALIZER: MODEL_INITIALIZER, DATASET_INITIALIZER: DATASET_INITIALIZER}
"""The container that a job with an ancestor label must have."""


def validate_runtime(runtime: Document) -> Iterator[Finding]:
    """Yield the errors and warnings of the webhook; none if its label disables it (I3)."""
    if get(runtime.data, "metadata", "labels", VALIDATION_LABEL) == "disabled":
        return
    if is_deprecated(runtime):
        message = (
            f'ClusterTrainingRuntime "{get(runtime.data, "metadata", "name")}" is deprecated and will be removed in a'
            f" future release of Kubeflow Trainer. See runtime deprecation policy: {DEPRECATION_POLICY}"
        )
        yield report("TC303", runtime, ("metadata", "labels", SUPPORT_LABEL), message, upstream=message)
    jobs = get(runtime.data, "spec", "template", "spec", "replicatedJobs")
    for index, job in enumerate(jobs if isinstance(jobs, list) else []):
        yield from _validate_job(runtime, index, job)


def is_deprecated(runtime: Document) -> bool:
    """Tell whether a ClusterTrainingRuntime carries the label of a deprecated one."""
    deprecated = get(runtime.data, "metadata", "labels", SUPPORT_LABEL) == "deprecated"
    return deprecated and runtime.data.get("kind") == "ClusterTrainingRuntime"


def warn_deprecated(job: Document, runtime: Document) -> Iterator[Finding]:
    """Yield the warning of a TrainJob whose runtime is deprecated (V12)."""
    if is_deprecated(runtime):
        message = (
            f'Referenced ClusterTrainingRuntime "{get(runtime.data, "metadata", "name")}" is deprecated and will be'
            f" removed in a future release of Kubeflow Trainer. See runtime deprecation policy: {DEPRECATION_POLICY}"
        )
        yield report("TC303", job, ("spec", "runtimeRef", "name"), message, upstream=message)


def _validate_job(runtime: Document, index: int, job: Json) -> Iterator[Finding]:
    label = get(job, "template", "metadata", "labels", ANCESTOR_LABEL)
    if not isinstance(label, str) or label not in CONTAINERS:
        return
    path: Path = ("spec", "template", "spec", "replicatedJobs", index)
    replicas = get(job, "replicas")
    if replicas != 1:
        where: Path = (*path, "replicas")
        text = invalid(dotted(where), replicas, "always must be 1")
        yield report(
            "TC304",
            runtime,
            where,
            f"a job with the ancestor label {label} must have one replica",
            found=str(replicas),
            expected="1",
            stage="runtime-webhook",
            upstream=text,
        )
    where = (*path, "template", "spec", "template", "spec", "containers")
    containers = get(job, *where[5:])
    found = [c for c in containers if isinstance(c, dict)] if isinstance(containers, list) else []
    if not any(c.get("name") == CONTAINERS[label] for c in found):
        detail = f"must contain the required container for the ancestor: {label}"
        yield report(
            "TC305",
            runtime,
            existing(runtime.data, where),
            f"a job with the ancestor label {label} must have a container named {CONTAINERS[label]}",
            found=", ".join(str(c.get("name")) for c in found) or "no container",
            expected=CONTAINERS[label],
            stage="runtime-webhook",
            upstream=invalid(dotted(where), _typed(found) if isinstance(containers, list) else None, detail),
        )


def _typed(containers: list[JsonObject]) -> Json:
    return typed([*containers], "v1.Container")
