"""The runtimes of a run: each admitted once, whether a job uses it or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from trainc.admit.crd import Admitted, admit_document, mpi_extension, no_excuse
from trainc.admit.trainer import validate_runtime
from trainc.diagnostics import Diagnostic, has_errors
from trainc.documents import Key, identity
from trainc.lookup import builtin, not_found, reference
from trainc.options import Options
from trainc.source import Document


@dataclass(frozen=True, slots=True)
class Runtimes:
    """The runtimes given, by identity, and the built-in ones behind them."""

    given: Mapping[Key, Admitted]
    options: Options

    @classmethod
    def admit(cls, documents: tuple[Document, ...], options: Options) -> Runtimes:
        """Admit every runtime given."""
        return cls({identity(d): admit_runtime(d, options) for d in documents}, options)

    @property
    def findings(self) -> list[Diagnostic]:
        """What was found in the runtimes given."""
        return [finding for admitted in self.given.values() for finding in admitted.findings]

    def find(self, job: Document) -> Admitted | Diagnostic:
        """Return the admitted runtime that a TrainJob names, or the finding that it is not there."""
        key = reference(job)
        if (found := self.given.get(key)) is not None:
            return found
        if not self.options.faithful and key[0].endswith("/ClusterTrainingRuntime"):
            own = admit_builtin(key[2])
            if own is not None:
                return own
        return not_found(job, self.given, self.options.faithful)


@cache
def admit_builtin(name: str) -> Admitted | None:
    """Return a runtime of Trainer's own as a cluster stores it, or None."""
    own = builtin(name)
    return None if own is None else admit_runtime(own, Options())


def admit_runtime(document: Document, options: Options) -> Admitted:
    """Return a runtime as the cluster stores it: its CRD first, then its webhook."""
    excuse = no_excuse if options.faithful else mpi_extension
    admitted = admit_document(document, "runtime-crd", "runtime-webhook", faithful=options.faithful, excuse=excuse)
    if has_errors(admitted.findings):
        return admitted
    return Admitted(admitted.document, (*admitted.findings, *validate_runtime(admitted.document)))
