"""Kueue and spec.suspend.

Trainer always writes spec.suspend and never copies the TrainJob's labels. In git, ``suspend: false`` would bypass Kueue
at the next self-heal, and a JobSet without the queue's label is not queued.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get
from trainc.findings import Finding
from trainc.gitops.base import Pass, jobset_of, option_origin, with_jobset
from trainc.plugins.model import Model, Objects, Origin
from trainc.plugins.origins import report_at
from trainc.upstream import KUEUE_LABELS, QUEUE_LABEL

_SUSPEND: Path = ("spec", "suspend")


def check_objects(model: Model, objects: Objects) -> Iterator[Finding]:
    """Refuse a suspended job with a queue: self-heal would stop it whenever Kueue admits it."""
    jobset = jobset_of(objects)
    if jobset is None or get(jobset.data, *_SUSPEND) is not True:
        return
    if get(jobset.data, "metadata", "labels", QUEUE_LABEL) is not None:
        message = "suspend: true with a queue: Argo CD would stop the job whenever Kueue admits it"
        yield report_at("TC601", model, jobset, _SUSPEND, message, found="suspend: true")


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with Kueue's labels on the JobSet, and with spec.suspend only where it is true."""
    jobset = jobset_of(objects)
    if jobset is None:
        return objects
    metadata, spec = as_object(jobset.data["metadata"]), as_object(jobset.data["spec"])
    data: JsonObject = {**jobset.data}
    if spec.get("suspend") is not True:
        data["spec"] = {key: value for key, value in spec.items() if key != "suspend"}
    queue, labels = model.options.settings.queue, as_object(get(model.job.data, "metadata", "labels"))
    wanted: JsonObject = {QUEUE_LABEL: queue} if queue else {}
    wanted |= {key: value for key, value in labels.items() if key in KUEUE_LABELS}
    if wanted:
        data["metadata"] = {**metadata, "labels": {**wanted, **as_object(metadata.get("labels"))}}
    return with_jobset(objects, data)


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of a label: the TrainJob's own, or the environment's queue."""
    if path[:2] != ("metadata", "labels"):
        return Origin("default", name="trainc")
    from_job = path == ("metadata", "labels") or get(model.job.data, *path) is not None
    return Origin("input", model.job, path) if from_job else option_origin(model.options, "queue")


PASS = Pass("queue", shape, cause, check_objects=check_objects)
