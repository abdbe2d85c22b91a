"""Admits the JobSet that the controller creates: its CRD and both of its webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trainc.admit.jobset import NAME_TOO_LONG, default, validate
from trainc.admit.rules import failures
from trainc.schema import read, resource, validate_object
from trainc.source import Json, JsonObject, Path, existing


class Refused(NamedTuple):
    """One thing that the cluster refuses in a generated object."""

    code: str
    stage: str
    path: Path
    message: str
    upstream: str
    expected: str | None = None
    hint: str | None = None


def store_jobset(data: JsonObject) -> JsonObject:
    """Return the JobSet as a cluster holds it: with the defaults of CRD and webhook, whether it is valid or not."""
    kind = resource("JobSet")
    return read(kind, default(read(kind, data).data)).data


def admit_jobset(data: JsonObject, claims: Mapping[str, Json]) -> tuple[JsonObject, tuple[Refused, ...]]:
    """Return the JobSet with the defaults of CRD and webhook, and what the first of them to refuse it says.

    ``claims`` holds the specs of the PersistentVolumeClaims in its namespace, by name.
    """
    kind = resource("JobSet")
    stored = store_jobset(data)
    violations = validate_object(kind, stored)
    refused = [Refused(v.code, "jobset-crd", v.path, v.message, v.upstream, v.expected, v.hint) for v in violations]
    if not any(violation.blocking for violation in violations):
        for broken in failures(kind.schema, stored):
            path = existing(stored, (*broken.path, *broken.about))
            refused.append(Refused("TC201", "jobset-crd", path, broken.message, broken.upstream))
    if refused:
        return stored, tuple(refused)
    refusals = (
        Refused(
            "TC802" if r.message.startswith(NAME_TOO_LONG) else "TC801", "jobset-webhook", r.path, r.message, r.upstream
        )
        for r in validate(stored, claims)
    )
    return stored, tuple(dict.fromkeys(refusals))
