"""Functions of a running Trainer controller that generated objects cannot replace, and conflicts in the cluster."""

from __future__ import annotations

from trainc.basics.jsonvalues import get, objects
from trainc.findings import Finding, report
from trainc.gitops import naming
from trainc.plugins.jobset import is_running
from trainc.plugins.model import Model
from trainc.upstream import MULTIKUEUE


def check_controller(model: Model) -> list[Finding]:
    """Return findings on fields without static equivalent (K3), and on objects that the controller keeps."""
    return [*static_limits(model), *foreign_snapshot(model)]


def static_limits(model: Model) -> list[Finding]:
    """Warn about fields that only a running controller supports (K3)."""
    spec = model.job.data["spec"]
    findings = []
    if get(spec, "managedBy") == MULTIKUEUE:
        message = "managed by MultiKueue: these are the objects that the worker cluster's controller would create"
        findings.append(report("TC311", model.job, ("spec", "managedBy"), message))
    if model.options.faithful and get(spec, "activeDeadlineSeconds") is not None:  # else gitops/deadline.py
        message = "activeDeadlineSeconds has no static equivalent: only a running Trainer controller enforces it"
        findings.append(report("TC312", model.job, ("spec", "activeDeadlineSeconds"), message))
    if is_running(model) and not naming.uses_content_hash(model):
        message = f"JobSet {model.namespace}/{model.name} is already running, so no JobSet is generated"
        findings.append(report("TC313", model.job, ("metadata", "name"), message))
    return findings


def foreign_snapshot(model: Model) -> tuple[Finding, ...]:
    """Refuse another ConfigMap with the name of the runtime snapshot, as the controller does (pkg/runtime/core)."""
    name = f"{get(model.job.data, 'metadata', 'name')}-runtime-snapshot"
    found = model.cluster.get(("v1/ConfigMap", model.home, name)) if model.options.faithful else None
    if found is None:
        return ()
    owners = objects(get(found.data, "metadata", "ownerReferences"))
    uid = get(model.job.data, "metadata", "uid")
    if uid is not None and any(owner.get("controller") is True and owner.get("uid") == uid for owner in owners):
        return ()
    detail = "invalid runtime snapshot: a snapshot configmap exists but is owned by another object"
    begin = "unable to get" if model.runtime.data["kind"] == "TrainingRuntime" else "getting"
    upstream = f"{begin} runtime snapshot: {detail}"
    message = f"ConfigMap {model.home}/{name} is not the runtime snapshot of this TrainJob"
    return (report("TC316", found, ("metadata", "name"), message, found=name, stage="build", upstream=upstream),)
