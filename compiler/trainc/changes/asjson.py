"""A difference for programs; docs/diff.md describes the shape."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.changes.model import Difference, JobChange, ObjectChange, Place, Total, Usage
from trainc.changes.phrases import weakened_json

VERSION: Final = 1
"""Goes up when a key changes its meaning or goes away."""


def render(difference: Difference, base: str = "", head: str = "") -> str:
    """Return a difference as JSON, in one object that ends in a newline. ``base`` and ``head`` name the revisions."""
    data: JsonObject = {
        "version": VERSION,
        "base": base,
        "head": head,
        "unchanged": difference.unchanged,
        "foreign": [*difference.foreign],
        "stale": None if difference.stale is None else [_place(place) for place in difference.stale],
        "weakened": [weakened_json(finding) for finding in difference.weakened],
        "jobs": [_job(job) for job in difference.jobs],
        "totals": {
            "all": _total(difference.totals.all),
            "namespaces": _rows(("environment", "namespace"), difference.totals.namespaces.items()),
            "queues": _rows(("environment", "namespace", "queue"), difference.totals.queues.items()),
        },
    }
    return json.dumps(data, indent=2) + "\n"


def _place(place: Place) -> JsonObject:
    return dict(zip(("environment", "namespace", "job"), place, strict=True))


def _job(job: JobChange) -> JsonObject:
    return {
        **_place(job.place),
        "effect": job.effect.value,
        "application": job.application,
        "source": job.source or None,
        "oldName": job.old_name or None,
        "name": job.name or None,
        "renamedFrom": f"{job.other.namespace}/{job.other.name}" if job.other is not None else None,
        "queue": job.queue or None,
        "changes": [
            {"what": word.what, "where": [*word.where], "old": word.old, "new": word.new} for word in job.words
        ],
        "cluster": [*job.cluster],
        "refused": [{"kind": r.kind, "name": r.name, "field": r.field, "message": r.message} for r in job.refusals],
        "annotation": job.remedy,
        "before": _usage(job.before),
        "after": _usage(job.after),
        "replicatedJobs": [
            {
                "name": pods.name,
                "pods": pods.pods,
                "dependsOn": [{"name": name, "status": status} for name, status in pods.waits_for],
            }
            for pods in job.graph
        ],
        "objects": [_object(change) for change in job.objects],
    }


def _object(change: ObjectChange) -> JsonObject:
    return {
        "file": change.file,
        "kind": change.kind,
        "oldName": change.old_name or None,
        "name": change.name or None,
        "effect": change.effect.value,
        "fields": [{"path": field.path, "old": field.old, "new": field.new} for field in change.fields],
    }


def _rows(names: tuple[str, ...], rows: Iterable[tuple[tuple[str, ...], Total]]) -> list[Json]:
    return [{**dict(zip(names, key, strict=True)), **_total(total)} for key, total in rows]


def _total(total: Total) -> JsonObject:
    return {"before": _usage(total.before), "after": _usage(total.after)}


def _usage(usage: Usage) -> JsonObject:
    return {"jobs": usage.jobs, "pods": usage.pods, "gpus": dict(usage.gpus)}
