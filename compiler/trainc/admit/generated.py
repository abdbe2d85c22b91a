"""Admits the JobSet that the controller creates: its CRD and both of its webhooks."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.admit.jobset import NAME_TOO_LONG, validate
from trainc.admit.jobsetdefaults import default, is_plainly_defaulted, with_defaults
from trainc.admit.rules import failures
from trainc.kube.gotypes import JOB_SET, GoDecodeError
from trainc.records import NamedTuple
from trainc.schema import Go, Violation, fit, read, resource, validate_object
from trainc.source import Json, JsonObject, Path, as_object, existing

_SET_FIRST = frozenset(("startupPolicy", "successPolicy"))


class Refused(NamedTuple):
    """One thing that the cluster refuses in a generated object."""

    code: str
    stage: str
    path: Path
    message: str
    upstream: str
    expected: str | None = None
    hint: str | None = None


def _read_twice(data: JsonObject) -> JsonObject:
    """Return the JobSet as it leaves the server's reading, its mutating webhook and the reading of what that left."""
    kind = resource("JobSet")
    given = read(kind, data).data
    try:
        defaulted = default(given)
    except GoDecodeError:  # after a patch of the environment; the schema says what is wrong
        return given
    fitted = fit(kind, defaulted)  # what of the first reading only the nulls were in the way of
    return read(kind, defaulted).data if fitted is None else fitted


def _fitted(data: JsonObject) -> JsonObject | None:
    """Return what ``_read_twice`` does if that fits the schema, in one walk; None where it takes both readings to tell.

    The fields that the webhook sets are good as they are, and to the schema and to Go they have nothing to do with the
    others: so it is the same to set them last. It writes the object anew only if it sets one.
    """
    kind = resource("JobSet")
    if as_object(data.get("spec")).keys() >= _SET_FIRST:  # perhaps it has nothing to set
        kept = fit(kind, data)
        if kept is None or with_defaults(kept) is kept:
            return kept
    written = fit(kind, data, Go(JOB_SET, writes=True))
    if written is None or not is_plainly_defaulted(written):
        return None
    changed = with_defaults(written)
    return changed if changed is not written else None


def admit_jobset(data: JsonObject, claims: Mapping[str, Json]) -> tuple[JsonObject, tuple[Refused, ...]]:
    """Return the JobSet with the defaults of CRD and webhook, and what the first of them to refuse it says.

    ``claims`` holds the specs of the PersistentVolumeClaims in its namespace, by name.
    """
    kind = resource("JobSet")
    stored = _fitted(data)
    violations: tuple[Violation, ...] = ()
    if stored is None:
        stored = _read_twice(data)
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
