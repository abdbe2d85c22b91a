"""Kueue and spec.suspend.

Trainer always writes spec.suspend and never copies the TrainJob's labels. In git, ``suspend: false`` would
start a job behind Kueue's back at the next self-heal, and a JobSet without the queue's label is not queued.
"""

from __future__ import annotations

from trainc.diagnostics import report
from trainc.model import Findings, Model, Object
from trainc.source import JsonObject, get

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
KUEUE_LABELS = (QUEUE_LABEL, "kueue.x-k8s.io/priority-class", "kueue.x-k8s.io/max-exec-time-seconds")


def check_queue(model: Model) -> Findings:
    """Refuse a suspended job with a queue: self-heal would stop it whenever Kueue admits it."""
    if get(model.job.data, "spec", "suspend") is not True or not queued(model):
        return ()
    message = "suspend: true together with a queue: Argo CD would stop the job whenever Kueue admits it"
    return (report("TC601", model.job, ("spec", "suspend"), message, found="suspend: true"),)


def queued(model: Model) -> bool:
    """Tell whether the JobSet will carry a queue's label."""
    return QUEUE_LABEL in _labels(model) or QUEUE_LABEL in model.labels


def shape_jobset(model: Model, jobset: Object) -> Object:
    """Return the JobSet with Kueue's labels, and with spec.suspend only where it is true."""
    metadata = jobset.data["metadata"]
    spec = jobset.data["spec"]
    assert isinstance(metadata, dict) and isinstance(spec, dict)
    data: JsonObject = {**jobset.data}
    if spec.get("suspend") is not True:
        data["spec"] = {key: value for key, value in spec.items() if key != "suspend"}
    if copied := {key: value for key, value in _labels(model).items() if key in KUEUE_LABELS}:
        own = metadata.get("labels")
        data["metadata"] = {**metadata, "labels": {**copied, **(own if isinstance(own, dict) else {})}}
    return Object(data, jobset.origins)


def _labels(model: Model) -> JsonObject:
    labels = get(model.job.data, "metadata", "labels")
    return labels if isinstance(labels, dict) else {}
