"""Admits the JobSet that the controller creates: its CRD and both of its webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trainc.admission.jobset import NAME_TOO_LONG, validate
from trainc.admission.jobsetdefaults import with_defaults
from trainc.admission.rules import failures
from trainc.basics.jsonvalues import Json, JsonObject, Path, existing
from trainc.kube.gotypes import JOB_SET
from trainc.schema import admit, resource


class Refused(NamedTuple):
    """One thing that the cluster refuses in a generated object."""

    code: str
    stage: str
    path: Path
    message: str
    upstream: str
    expected: str | None = None
    hint: str | None = None


def admit_jobset(data: JsonObject, claims: Mapping[str, Json]) -> tuple[JsonObject, tuple[Refused, ...]]:
    """Return the JobSet with the defaults of CRD and webhook, and what the first of them to refuse it says.

    The mutating webhook writes the JobSet anew, from Go's types, only if it sets a field. What it sets does not depend
    on the CRD's defaults, so it is set first: then one walk does for both readings by the server. ``claims`` holds the
    specs of the PersistentVolumeClaims in its namespace, by name.
    """
    kind = resource("JobSet")
    defaulted = with_defaults(data)
    admitted = admit(kind, defaulted, JOB_SET if defaulted is not data else "")
    stored, violations = admitted.data, admitted.violations
    refused = [
        Refused(v.code, "jobset-crd", v.path, v.message, v.upstream or "", v.expected, v.hint) for v in violations
    ]
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
