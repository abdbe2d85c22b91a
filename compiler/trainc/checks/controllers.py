"""What controllers do with JobSets and Jobs that the server accepts: nothing, no pods, or the work again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.admission.update import POD_TEMPLATE
from trainc.basics.jsonvalues import Path, as_list, as_object, dotted, get
from trainc.checks.created_pods import JOBSET_LABELS, added_annotations, replaced_placement
from trainc.findings import Finding, Severity
from trainc.gitops.pods import replicated_jobs
from trainc.kube.names import is_domain_prefixed_path
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import report_at


def check_controllers(model: Model, obj: Object) -> Iterator[Finding]:
    """Yield findings on a JobSet, or a Job of its own, that its controllers do not run as intended."""
    yield from _other_managers(model, obj)
    yield from _without_pods(model, obj)
    yield from _without_time(model, obj)
    yield from _deleted_early(model, obj)
    yield from _resumed(model, obj)
    yield from _replaced_values(model, obj)


_MANAGERS: Final = {"JobSet": "jobset.sigs.k8s.io/jobset-controller", "Job": "kubernetes.io/job-controller"}
_TTL = "ttlSecondsAfterFinished"


def _other_managers(model: Model, obj: Object) -> Iterator[Finding]:
    """Yield a warning for each managedBy of a JobSet, its Jobs or a Job that names another controller than its own."""
    specs: list[tuple[str, Path]] = [(obj.kind, ("spec",))] if obj.kind in _MANAGERS else []
    specs += [("Job", (*path, "template", "spec")) for path, _ in replicated_jobs(obj.data)]
    for kind, path in specs:
        manager = get(obj.data, *path, "managedBy")
        if isinstance(manager, str) and manager != _MANAGERS[kind] and not is_domain_prefixed_path("", manager):
            message = f"managed by {manager}: the {kind} controller of the cluster ignores this {kind}"
            hint = "leave managedBy out, unless this controller runs in the cluster"
            yield report_at("TC311", model, obj, (*path, "managedBy"), message, found=manager, hint=hint)


def _deleted_early(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a finding for each Job that its TTL deletes before the JobSet has finished: JobSet creates it again.

    Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go (shouldCreateJob) and success_policy.go.
    """
    jobs = [(path, job) for path, job in replicated_jobs(jobset.data) if job.get("replicas") != 0]
    policy = as_object(get(jobset.data, "spec", "successPolicy"))
    targets = frozenset(as_list(policy.get("targetReplicatedJobs"))) or {job.get("name") for _, job in jobs}
    awaited = [job.get("replicas", 1) for _, job in jobs if job.get("name") in targets]
    is_last = policy.get("operator") == "Any" or awaited == [1]
    for root, job in jobs:
        path = (*root, "template", "spec", _TTL)
        seconds = get(jobset.data, *path)
        is_set = isinstance(seconds, int) and seconds >= 0  # a negative number is refused
        if is_set and not (is_last and job.get("name") in targets):
            message = (
                f"each Job of {job.get('name')!r} is deleted {seconds} s after it finishes, and JobSet runs it again"
            )
            details = {"found": str(seconds), "hint": "remove it: a finished JobSet keeps its Jobs"}
            yield report_at("TC610", model, jobset, path, message, severity=model.severity, **details)


def _resumed(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a warning for each Job that its template suspends: JobSet replaces this (constructJob)."""
    for root, job in replicated_jobs(jobset.data):
        path = (*root, "template", "spec", "suspend")
        if get(jobset.data, *path) is True:
            message = f"suspend has no effect on job {job.get('name')!r}: JobSet suspends and resumes all its Jobs"
            details = {"found": "suspend: true", "hint": "remove it: to stop the job, set spec.suspend of the TrainJob"}
            yield report_at("TC803", model, jobset, path, message, severity=Severity.WARNING, **details)


_WHAT: Final = {"labels": "label", "annotations": "annotation", "nodeSelector": "node selector"}


def _replaced_values(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a finding for each label, annotation or node selector of pods that replaces JobSet's when it resumes them.

    Before, JobSet's own replaces it. Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go (resumeJob).
    """
    jobs = [*replicated_jobs(jobset.data)]
    added = added_annotations(jobset.data, str(jobs[0][1].get("name")), jobset.name) if jobs else {}
    for root, job in jobs:
        metadata = as_object(get(job, *POD_TEMPLATE, "metadata"))
        found: list[Path] = [
            ("metadata", field, key)
            for field in ("labels", "annotations")
            for key in as_object(metadata.get(field))
            if key in added and key.startswith(JOBSET_LABELS)
        ]
        for path in (*found, *replaced_placement(jobset.data, job)):
            field, key = path[-2:]
            name = job.get("name")
            message = f"{_WHAT[str(field)]} {key} of the pods of job {name!r} replaces JobSet's when it resumes"
            hint, where = "remove it: JobSet sets it", (*root, *POD_TEMPLATE, *path)
            yield report_at("TC804", model, jobset, where, message, severity=model.severity, hint=hint)


def _without_pods(model: Model, obj: Object) -> Iterator[Finding]:
    """Yield a finding on a JobSet or Job that creates no pods, unless they are missing because of numNodes."""
    counts = ("parallelism", "completions")
    roots = [path for path, _ in replicated_jobs(obj.data)]
    jobs = [[(*at, "replicas"), *((*at, "template", "spec", count) for count in counts)] for at in roots]
    if obj.kind == "Job":
        jobs = [[("spec", count) for count in counts]]
    zeros = [[path for path in paths if get(obj.data, *path) == 0] for paths in jobs]
    if all(zeros) and (model.num_nodes is None or model.num_nodes > 0):
        where: Path = zeros[0][0] if zeros else ("spec", "replicatedJobs")
        message = f"the {obj.kind} creates no pods: {f'{dotted(where)} is 0' if zeros else 'it has no replicated jobs'}"
        hint = None if zeros else "keep one; to leave a job out of an environment, use the patterns in its option jobs"
        yield report_at("TC410", model, obj, where, message, severity=model.severity, hint=hint)


def _without_time(model: Model, obj: Object) -> Iterator[Finding]:
    """Yield a finding on each Job with a deadline of 0 s: it fails before its controller creates pods."""
    roots = [("spec",)] if obj.kind == "Job" else [(*path, "template", "spec") for path, _ in replicated_jobs(obj.data)]
    for path in ((*root, "activeDeadlineSeconds") for root in roots):
        if get(obj.data, *path) == 0:
            message, hint = "the Job fails at once: activeDeadlineSeconds is 0", "leave it out for no deadline"
            yield report_at("TC410", model, obj, path, message, severity=model.severity, hint=hint)
