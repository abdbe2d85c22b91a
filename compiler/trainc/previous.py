"""What a cluster holds of the objects of a base revision, given or emitted there, before this run's are applied."""

from __future__ import annotations

from trainc.admit.jobsetdefaults import default
from trainc.base import BROKEN, Base, identify
from trainc.diagnostics import Diagnostic, report
from trainc.documents import RUNTIMES
from trainc.kube.gotypes import GoDecodeError
from trainc.plugins.mpi.implementations import EXTENSIONS, IMPLEMENTATION_PATH
from trainc.records import dataclass, field
from trainc.schema import Resource, admit
from trainc.schema.kinds import BUILT_IN, Registry, split_version
from trainc.source import Document, JsonObject, Path, existing, get, put

_WITH_WEBHOOK = "JobSet"
"""The kind whose mutating webhook has seen what was emitted."""


@dataclass(frozen=True, slots=True, eq=False)
class Previous:
    """The objects of a base revision as a cluster stores them; without a base there are none."""

    base: Base = field(default_factory=Base)
    registry: Registry = BUILT_IN

    def input(self, data: JsonObject) -> JsonObject | Diagnostic | None:
        """Return the object as it was given, None if it is new, or the note that no cluster could hold it."""
        if not self.base.is_given:
            return None
        old = self.base.input(*identify(data))
        found = self.registry.find(*split_version(str(data["apiVersion"])), str(data["kind"]))
        if old is None or found is None:
            return None
        held = as_stored(found, old)
        return _extended(held, old.data) if isinstance(held, dict) else held

    def emitted(self, data: JsonObject) -> JsonObject | Diagnostic | None:
        """Return the object as it was emitted, None if it is new, or the note that no cluster could hold it."""
        if not self.base.is_given:
            return None
        old = self.base.emitted(*identify(data))
        found = self.registry.find(*split_version(str(data["apiVersion"])), str(data["kind"]))
        if old is None or found is None:
            return None
        return as_stored(found, old, created=found.kind == _WITH_WEBHOOK)


def as_stored(resource: Resource, old: Document, *, created: bool = False) -> JsonObject | Diagnostic:
    """Return an old object as a cluster holds it, or the note (TC018) that none could.

    ``created``: JobSet's mutating webhook has seen it.
    """
    result = admit(resource, standard(old.data))
    violations = result.violations
    if created and not violations:
        try:
            result = admit(resource, default(result.data))
        except GoDecodeError as error:
            return broken(old, error.path, error.message)
        violations = result.violations
    wrong = next((violation for violation in violations if violation.decode or violation.blocking), None)
    if wrong is None:
        return result.data
    return broken(old, wrong.path, wrong.message)


def broken(old: Document, path: Path, message: str) -> Diagnostic:
    """Return the note (TC018) that no cluster could hold an old object."""
    return report(BROKEN, old, existing(old.data, path), f"nothing here is compared: {message}")


def standard(data: JsonObject) -> JsonObject:
    """Return a runtime with an MPI implementation that the CRD knows in place of one that trainc adds."""
    extended = data["kind"] in RUNTIMES and get(data, *IMPLEMENTATION_PATH) in EXTENSIONS
    return put(data, IMPLEMENTATION_PATH, "OpenMPI") if extended else data


def _extended(data: JsonObject, given: JsonObject) -> JsonObject:
    """Return what ``standard`` made of a runtime with the MPI implementation that was given."""
    own = get(given, *IMPLEMENTATION_PATH)
    return put(data, IMPLEMENTATION_PATH, own) if data["kind"] in RUNTIMES and own in EXTENSIONS else data
