"""What only a running Trainer controller does, and what it would find in the cluster."""

from __future__ import annotations

from trainc.basics.jsonvalues import get, objects
from trainc.findings import Finding, report
from trainc.gitops import naming
from trainc.plugins.jobset import runs_already
from trainc.plugins.model import Model
from trainc.upstream import MULTIKUEUE


def check_controller(model: Model) -> list[Finding]:
    """Return what has no static equivalent (K3), and what in the cluster is in the controller's way."""
    return [*static_limits(model), *foreign_snapshot(model)]


def static_limits(model: Model) -> list[Finding]:
    """Warn of what only a running controller does (K3)."""
    spec = model.job.data["spec"]
    findings = []
    if get(spec, "managedBy") == MULTIKUEUE:
        message = "managed by MultiKueue: these are the objects that the worker cluster's controller would create"
        findings.append(report("TC311", model.job, ("spec", "managedBy"), message))
    if model.options.faithful and get(spec, "activeDeadlineSeconds") is not None:  # else gitops/deadline.py
        message = "activeDeadlineSeconds has no static equivalent: only a running Trainer controller enforces it"
        findings.append(report("TC312", model.job, ("spec", "activeDeadlineSeconds"), message))
    if runs_already(model) and not naming.is_by_content(model):
        message = f"JobSet {model.namespace}/{model.name} runs already: no JobSet is emitted"
        findings.append(report("TC313", model.job, ("metadata", "name"), message))
    return findings


def foreign_snapshot(model: Model) -> tuple[Finding, ...]:
    """Refuse a ConfigMap in the place of the job's runtime snapshot, as the controller does (pkg/runtime/core)."""
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
