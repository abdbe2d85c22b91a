"""Objects as Go writes them: a server, or a webhook that re-writes all of an object, then spells nothing otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainc.admission.jobsetdefaults import overlay
from trainc.basics.jsonvalues import JsonObject
from trainc.documents.classify import CLAIM_SPEC
from trainc.kube.gotypes import JOB_SET_SPEC, GoDecodeError, decode

SPECS: Final[Mapping[str, str]] = {
    "JobSet": JOB_SET_SPEC,
    "Job": "v1.JobSpec",
    "PersistentVolumeClaim": CLAIM_SPEC,
}
"""Kind to the Go type of its spec."""


def spelt(data: JsonObject) -> JsonObject:
    """Return the object with the quantities of its spec canonical, and with what Go writes where it is absent.

    Nothing is removed. A kind without a type here, and a spec that Go cannot read, stay as they are.
    """
    kind, spec = SPECS.get(str(data.get("kind"))), data.get("spec")
    if kind is None or not isinstance(spec, dict):
        return data
    try:
        return {**data, "spec": overlay(spec, decode(spec, kind))}
    except GoDecodeError:  # whoever admits it says what is wrong
        return data
