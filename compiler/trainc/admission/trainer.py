"""The rules of Trainer's webhook for runtimes.

Source: Trainer v2.3.0 pkg/webhooks. The rules for TrainJobs are the plugins' checks.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, Path, as_list, dotted, existing, get, objects
from trainc.findings import Finding, Severity, report
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
    """Yield the errors and warnings of the webhook; if a label disables it (I3), warnings of what it would refuse."""
    disabled = get(runtime.data, "metadata", "labels", VALIDATION_LABEL) == "disabled"
    if is_deprecated(runtime) and not disabled:
        message = _deprecated(runtime)
        yield report("TC303", runtime, ("metadata", "labels", SUPPORT_LABEL), message, upstream=message)
    jobs = get(runtime.data, "spec", "template", "spec", "replicatedJobs")
    for index, job in enumerate(as_list(jobs)):
        for found in _validate_job(runtime, index, job):
            yield replace(found, severity=Severity.WARNING, stage=None, upstream=None) if disabled else found


def is_deprecated(runtime: Document) -> bool:
    """Return whether a ClusterTrainingRuntime has the label of deprecated ones."""
    deprecated = get(runtime.data, "metadata", "labels", SUPPORT_LABEL) == "deprecated"
    return deprecated and runtime.data.get("kind") == "ClusterTrainingRuntime"


def warn_deprecated(job: Document, runtime: Document) -> Iterator[Finding]:
    """Yield the warning of a TrainJob whose runtime is deprecated (V12)."""
    if is_deprecated(runtime):
        message = f"Referenced {_deprecated(runtime)}"
        yield report("TC303", job, ("spec", "runtimeRef", "name"), message, upstream=message)


def _deprecated(runtime: Document) -> str:
    return (
        f'ClusterTrainingRuntime "{get(runtime.data, "metadata", "name")}" is deprecated and will be removed in a'
        f" future release of Kubeflow Trainer. See runtime deprecation policy: {DEPRECATION_POLICY}"
    )


def _validate_job(runtime: Document, index: int, job: Json) -> Iterator[Finding]:
    label = get(job, "template", "metadata", "labels", ANCESTOR_LABEL)
    if not isinstance(label, str) or label not in CONTAINERS:
        return
    path: Path = ("spec", "template", "spec", "replicatedJobs", index)
    if (replicas := get(job, "replicas")) != 1:
        where: Path = (*path, "replicas")
        yield report(
            "TC304",
            runtime,
            where,
            f"a job with the ancestor label {label} must have one replica",
            found=str(replicas),
            expected="1",
            stage="runtime-webhook",
            upstream=invalid(dotted(where), replicas, "always must be 1"),
        )
    where = (*path, "template", "spec", "template", "spec", "containers")
    containers = get(job, *where[5:])
    names = [str(container.get("name")) for container in objects(containers)]
    if CONTAINERS[label] not in names:
        typed_ones = typed([*objects(containers)], "v1.Container") if isinstance(containers, list) else None
        detail = f"must contain the required container for the ancestor: {label}"
        yield report(
            "TC305",
            runtime,
            existing(runtime.data, where),
            f"a job with the ancestor label {label} must have a container named {CONTAINERS[label]}",
            found=", ".join(names) or "no container",
            expected=CONTAINERS[label],
            stage="runtime-webhook",
            upstream=invalid(dotted(where), typed_ones, detail),
        )
