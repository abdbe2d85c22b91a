"""Functions of a running Trainer controller that generated objects cannot replace, and conflicts in the cluster."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Path, get, objects
from trainc.findings import Finding, Related, report
from trainc.inputs.source import Document
from trainc.plugins.jobset import running
from trainc.plugins.model import Model
from trainc.plugins.podgroup import existing_group
from trainc.upstream import MULTIKUEUE

_NAME: Path = ("metadata", "name")


def check_controller(model: Model) -> Iterator[Finding]:
    """Yield findings on fields without static equivalent (K3), and on the runtime snapshot of another owner."""
    spec = model.job.data["spec"]
    if get(spec, "managedBy") == MULTIKUEUE:
        message = "managed by MultiKueue: these are the objects that the worker cluster's controller would create"
        yield report("TC311", model.job, ("spec", "managedBy"), message)
    if model.options.faithful and get(spec, "activeDeadlineSeconds") is not None:  # else gitops/lifetime.py
        message = "activeDeadlineSeconds has no static equivalent: only a running Trainer controller enforces it"
        yield report("TC312", model.job, ("spec", "activeDeadlineSeconds"), message)
    name = f"{model.title}-runtime-snapshot"
    snapshot = model.cluster.get(("v1/ConfigMap", model.home, name)) if model.options.faithful else None
    if snapshot is not None and not _is_owned(model, snapshot):
        # As the controller does (pkg/runtime/core).
        begin = "unable to get" if model.runtime.data["kind"] == "TrainingRuntime" else "getting"
        detail = "invalid runtime snapshot: a snapshot configmap exists but is owned by another object"
        upstream = f"{begin} runtime snapshot: {detail}"
        message = f"ConfigMap {model.home}/{name} is not the runtime snapshot of this TrainJob"
        yield report("TC316", snapshot, _NAME, message, found=name, stage="build", upstream=upstream)


def check_existing(model: Model) -> Iterator[Finding]:
    """Yield an error for each object that is not generated, since it exists. The model has its final name."""
    there = (
        ("JobSet", running(model), "is already running"),
        ("PodGroup", existing_group(model), "exists in the cluster"),
    )
    for kind, existing, state in there:
        if existing is not None:
            message = f"{kind} {model.namespace}/{model.name} {state}, so no {kind} is generated"
            related = (Related("because of this document", existing, _NAME),)
            yield report("TC313", model.job, _NAME, message, severity=model.severity, related=related)


def _is_owned(model: Model, snapshot: Document) -> bool:
    owners = objects(get(snapshot.data, "metadata", "ownerReferences"))
    uid = get(model.job.data, "metadata", "uid")
    return uid is not None and any(one.get("controller") is True and one.get("uid") == uid for one in owners)
