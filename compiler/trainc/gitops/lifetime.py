"""The lifetime of JobSets: activeDeadlineSeconds, ttlSecondsAfterFinished, and spec.suspend with Kueue.

Trainer (pkg/controller/trainjob_controller.go, reconcileDeadline) counts the deadline of a TrainJob from its creation,
or from when it was last resumed; then the TrainJob fails and its JobSet is deleted. The activeDeadlineSeconds of a Job
counts from its start, or from when it was last resumed, and the JobSet fails with the Job. Both are equivalent if every
Job starts with the JobSet and none is restarted; otherwise there is no static equivalent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from trainc.admission.fields import Field, dns_subdomain
from trainc.admission.update import POD_TEMPLATE
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.basics.regex import lazy
from trainc.findings import Finding, Severity, report
from trainc.findings.reporting import Fault, report_fault
from trainc.gitops.base import Pass, jobset_of, option_origin, with_jobset
from trainc.gitops.pods import replicated_jobs
from trainc.inputs.settings import Flux
from trainc.inputs.source import Document
from trainc.kube.fielderror import quote
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.plugins.origins import report_at, source_of
from trainc.upstream import (
    KAI_KEYS,
    KUEUE_ANNOTATIONS,
    KUEUE_LABELS,
    MAX_TIME_LABEL,
    PREBUILT_LABEL,
    PRIORITY_LABEL,
    QUEUE_LABEL,
)

FIELD: Final = "activeDeadlineSeconds"
_DEADLINE: Path = ("spec", FIELD)
_ENDING: Final = frozenset(("FailJobSet", "RestartJobSet"))
"""Actions of a failure policy after which, without restarts, a JobSet has failed."""


def _with_deadline(model: Model, objs: Objects) -> Objects:
    """Return the objects with the TrainJob's deadline in each Job of the JobSet, unless the Job has a shorter one."""
    seconds, jobset = get(model.job.data, *_DEADLINE), jobset_of(objs)
    if not isinstance(seconds, int) or jobset is None or deadline_obstacle(jobset.data) is not None:
        return objs
    data = jobset.data
    for root, _ in replicated_jobs(data):
        path = (*root, "template", "spec", FIELD)
        limit = get(data, *path)
        if limit is None or (isinstance(limit, int) and limit > seconds):  # anything else is refused
            data = put(data, path, seconds)
    return with_jobset(objs, data)


def deadline_obstacle(jobset: JsonObject) -> str | None:
    """Return the reason why the deadlines of Jobs cannot replace that of the TrainJob; None if they can."""
    spec = as_object(jobset.get("spec"))
    if get(spec, "startupPolicy", "startupPolicyOrder") == "InOrder":
        return "its Jobs start one by one (startupPolicy)"
    for job in objects(spec.get("replicatedJobs")):
        if job.get("dependsOn"):
            return f"job {str(job.get('name'))!r} starts later than the JobSet (dependsOn)"
    restarts = get(spec, "failurePolicy", "maxRestarts")
    if isinstance(restarts, int) and restarts > 0:
        return "after a failure all Jobs restart, and their deadlines start again (failurePolicy.maxRestarts)"
    for rule in objects(get(spec, "failurePolicy", "rules")):
        if rule.get("action") not in _ENDING:
            return f"after a failure Jobs restart, and their deadlines start again (action {rule.get('action')})"
    return None


def _check_deadline(model: Model, objs: Objects) -> Iterator[Finding]:
    """Refuse a deadline that the JobSet cannot enforce."""
    jobset = jobset_of(objs)
    if jobset is None or get(model.job.data, *_DEADLINE) is None:
        return
    if (reason := deadline_obstacle(jobset.data)) is not None:
        message = f"{FIELD} cannot be enforced without a Trainer controller: {reason}"
        hint = "remove it, or change the runtime; or ignore the deadline with severity TC312: warning in trainc.yaml"
        yield report("TC312", model.job, _DEADLINE, message, severity=Severity.ERROR, hint=hint)


# A finished JobSet with a TTL is deleted, and Argo CD or Flux creates it again.

_TTL: Path = ("spec", "ttlSecondsAfterFinished")


def _check_ttl(model: Model, objs: Objects) -> Iterator[Finding]:
    """Refuse a JobSet, or a Job of its own, with a TTL in a tree that is synced automatically."""
    tool = model.options.settings.tool
    if not tool.automated:
        return
    hint = "remove it" if isinstance(tool, Flux) else "remove it, or set argocd.automated: false in trainc.yaml"
    for obj in objs:
        value = get(obj.data, *_TTL) if obj.kind in ("JobSet", "Job") else None
        if isinstance(value, int) and value >= 0:  # a negative number is refused
            message = f"the {obj.kind} is deleted {value} s after it finishes, and {tool.title} then runs the job again"
            yield report_at("TC610", model, obj, _TTL, message, found=str(value), hint=hint)


DEADLINE: Final = Pass(
    "deadline", _with_deadline, lambda model, *_: Origin("input", model.job, _DEADLINE), check_objects=_check_deadline
)
TTL: Final = Pass("ttl", check_objects=_check_ttl)


# Kueue and spec.suspend.
#
# Trainer always writes spec.suspend and never copies the TrainJob's labels. In git, ``suspend: false`` would bypass
# Kueue at the next self-heal, and a JobSet without the queue's label is not queued.

_INTEGER: Final = lazy("[+-]?[0-9]{1,18}")
_QUEUE: Final = lazy(r"kueue\.x-k8s\.io/(?:local|cluster)?[-_]?queues?[-_]?(?:names?)?", re.I)
_SUSPEND: Path = ("spec", "suspend")
_LABELS: Path = ("metadata", "labels")
_ANNOTATIONS: Path = ("metadata", "annotations")


def _check_queue(model: Model, objs: Objects) -> Iterator[Finding]:
    """Refuse labels with which Kueue runs no job, and a suspended job: self-heal would stop it when it is admitted."""
    for obj in objs:
        for fault in _kueue_faults(obj):
            yield report_fault(fault, *source_of(model, obj, fault.path))
    jobset = jobset_of(objs)
    yield from _misplaced_queues(model, jobset)
    if jobset is None or get(jobset.data, *_SUSPEND) is not True:
        return
    if get(jobset.data, "metadata", "labels", QUEUE_LABEL) is not None:
        tool = model.options.settings.tool.title
        message = f"suspend: true with a queue: {tool} would stop the job whenever Kueue admits it"
        yield report_at("TC601", model, jobset, _SUSPEND, message, found="suspend: true")


def _misplaced_queues(model: Model, jobset: Object | None) -> Iterator[Finding]:
    """Yield a warning for each name of a queue by which Kueue does not queue the job.

    It is in an annotation, in a misspelt label, or in a label of the runtime or of a replicated job and its pods.
    """
    places: list[tuple[Document | Object, Path, str]] = [(model.job, (), "")]
    if get(model.job.data, *_LABELS, QUEUE_LABEL) is None:
        places.append((model.runtime, (), "runtime"))
    if jobset is not None:
        places.append((jobset, (), ""))
        if get(jobset.data, *_LABELS, QUEUE_LABEL) is None:
            jobs = [root for root, _ in replicated_jobs(jobset.data)]
            places += [
                (jobset, (*root, *path), "replicated job") for root in jobs for path in (("template",), POD_TEMPLATE)
            ]
    for owner, root, what in places:
        for kind in (_LABELS, _ANNOTATIONS):
            for key, value in as_object(get(owner.data, *root, *kind)).items():
                if not _QUEUE.fullmatch(key) or ((kind, key) == (_LABELS, QUEUE_LABEL) and not what):
                    continue
                path = (*root, *kind, key)
                document, path = source_of(model, owner, path) if isinstance(owner, Object) else (owner, path)
                owned = f" of a {what}" if what else ""
                message = f"Kueue does not queue the job by {str(kind[-1])[:-1]} {key}{owned}"
                place = {"runtime": " in spec.template.metadata", "replicated job": " of the TrainJob"}.get(what, "")
                hint = f"write it as the label {QUEUE_LABEL}{place}"
                severity = Severity.WARNING
                yield report("TC108", document, path, message, severity=severity, found=str(value), hint=hint)


def _kueue_faults(obj: Object) -> Iterator[Fault]:
    """Yield the errors of Kueue's webhook for the labels of a JobSet or Job, and of the name of a priority class.

    Source: Kueue v0.15.0 pkg/controller/jobframework/validation.go. A job whose WorkloadPriorityClass does not exist
    waits forever.
    """
    root = Field(obj.data if obj.kind in ("JobSet", "Job") else {}, (), "", "TC108")
    labels = root.child("metadata", "labels").named("metadata.labels")
    for key in (QUEUE_LABEL, PRIORITY_LABEL, PREBUILT_LABEL):
        if key in labels.object() and (labels.text(key) or key != PRIORITY_LABEL):
            dns_subdomain(labels.key(key))
    seconds = labels.key(MAX_TIME_LABEL)
    if isinstance(text := seconds.value, str) and not _INTEGER.fullmatch(text):
        seconds.invalid(f"strconv.Atoi: parsing {quote(text)}: invalid syntax")
    elif isinstance(text, str) and int(text) <= 0:
        seconds.invalid("should be greater than 0", int(text))
    for fault in root.faults:
        rule = "must be a number of seconds above 0" if fault.path == seconds.path else fault.message
        message = f"Kueue never runs the {obj.kind}: label {fault.path[-1]} {rule}"
        yield replace(fault, message=message, found=fault.found or '""')


def _with_queue(model: Model, objects: Objects) -> Objects:
    """Return the objects with the labels and annotations of Kueue and KAI Scheduler on the JobSet.

    Those of the TrainJob replace the runtime's: Kueue queues a TrainJob by its own labels, and never its JobSet. KAI
    Scheduler reads those of the JobSet first, and then those of the TrainJob.
    """
    jobset = jobset_of(objects)
    if jobset is None:
        return objects
    queue, data = model.options.settings.queue, jobset.data
    for path, default in ((_LABELS, {QUEUE_LABEL: queue} if queue else {}), (_ANNOTATIONS, {})):
        found = as_object(get(model.job.data, *path))
        own = {key: found[key] for key in found if key in KUEUE_LABELS or key.startswith(KUEUE_ANNOTATIONS)}
        of_kai = {key: found[key] for key in found if key.startswith(KAI_KEYS)}
        existing = as_object(get(data, *path))
        wanted = {**default, **of_kai, **existing, **own}
        data = data if wanted == existing else put(data, path, wanted)
    return objects if data is jobset.data else with_jobset(objects, data)


def _without_suspend(model: Model, objects: Objects) -> Objects:
    """Return the objects without a spec.suspend that is false."""
    jobset = jobset_of(objects)
    if jobset is None or get(jobset.data, *_SUSPEND) is not False:
        return objects
    spec = {key: value for key, value in as_object(jobset.data["spec"]).items() if key != "suspend"}
    return with_jobset(objects, {**jobset.data, "spec": spec})


def _cause_of_queue(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of a label or an annotation: the TrainJob's own, or the environment's queue."""
    from_job = path in (_LABELS, _ANNOTATIONS) or get(model.job.data, *path) is not None
    return Origin("input", model.job, path) if from_job else option_origin(model.options, "queue")


QUEUE: Final = Pass("queue", _with_queue, _cause_of_queue, check_objects=_check_queue)
SUSPEND: Final = Pass("suspend", _without_suspend, lambda *_: Origin("default", name="trainc"))
