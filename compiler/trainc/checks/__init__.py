"""Checks that upstream lacks: for specs that every API accepts, but that never run, or run badly."""

from __future__ import annotations

from trainc.checks.containers import check_containers, check_secrets
from trainc.checks.devices import check_devices, check_dropped, check_gangs
from trainc.checks.functions import check_functions
from trainc.checks.images import check_images, check_pullable
from trainc.checks.jobs import check_jobs
from trainc.checks.kubelet import check_kubelet, check_references
from trainc.checks.nodes import (
    check_hostnames,
    check_launching,
    check_mpi,
    check_order,
    check_own_hosts,
    check_own_labels,
    check_patched_hosts,
    check_patched_variables,
    check_rendezvous,
)
from trainc.checks.trainer import check_ancestors, check_counts, check_initializers
from trainc.findings import Finding
from trainc.plugins.model import Model, Object, Objects


def check_model(model: Model) -> list[Finding]:
    """Return findings on a TrainJob joined with its runtime."""
    return [*check_counts(model), *check_secrets(model), *check_mpi(model), *check_functions(model)]


def check_objects(model: Model, jobset: Object) -> list[Finding]:
    """Return findings on the admitted JobSet, each at the line that caused it."""
    refused = [*check_jobs(model, jobset), *check_kubelet(model, jobset), *check_images(model, jobset)]
    warnings = [*check_containers(model, jobset), *check_references(model, jobset), *check_rendezvous(model, jobset)]
    warnings += [*check_gangs(model, jobset), *check_devices(model), *check_dropped(model)]
    return [*refused, *dict.fromkeys(warnings)]


def check_result(model: Model, objects: Objects) -> list[Finding]:
    """Return findings on the objects of a job as they are applied, with the changes of their environment."""
    findings = [*check_ancestors(model), *check_launching(model), *check_pullable(model, objects)]
    for jobset in objects:
        if jobset.kind == "JobSet":
            findings += (*check_initializers(model, jobset), *check_hostnames(model, jobset))
            findings += (*check_order(model, jobset), *check_patched_hosts(model, jobset))
            findings += check_patched_variables(model, jobset)
            findings += (*check_own_hosts(model, jobset), *check_own_labels(model, jobset))
    return list(dict.fromkeys(findings))
