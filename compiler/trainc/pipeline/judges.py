"""What judges every object of a run beside schemas and webhooks: the policies given, and the base revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from trainc.findings import Finding
from trainc.inputs.source import Document
from trainc.pipeline.policies import Policing
from trainc.plugins.model import Model, Objects

if TYPE_CHECKING:
    from trainc.pipeline.update_rules import Transitions


class Judges(Struct, frozen=True, eq=False):
    """The judges. Without policies nothing is asked; ``transitions`` is None without a base revision."""

    policing: Policing = field(default_factory=Policing)
    transitions: Transitions | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong with policies, and what of the base revision cannot be compared with."""
        return (*self.policing.findings, *(self.transitions.findings if self.transitions is not None else ()))

    def of_input(self, document: Document) -> tuple[Finding, ...]:
        """Return what is said of a document given; ``document`` holds it as a cluster stores it."""
        said = self.policing.of_input(document)
        return _once(said) if self.transitions is None else _once(said, self.transitions.of_input(document))

    def of_made(self, model: Model, objects: Objects) -> tuple[Finding, ...]:
        """Return what is said of the objects of a job, at the lines that caused it."""
        said = self.policing.of_made(model, objects)
        return _once(said) if self.transitions is None else _once(said, self.transitions.of_made(model, objects))


def _once(*parts: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return findings; the note that an old object is broken is everybody's."""
    return tuple(dict.fromkeys(finding for part in parts for finding in part)) if any(parts) else ()
