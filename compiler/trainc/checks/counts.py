"""Numbers of nodes and processes below one: every webhook accepts them, and nothing trains."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.diagnostics import Diagnostic, Severity, report
from trainc.model import Model
from trainc.source import Document, Json, Path, get

CODE = "TC410"


def check_counts(model: Model) -> Iterator[Diagnostic]:
    """Yield a finding for each count below one. Flux refuses its processes itself (TC405)."""
    severity = Severity.WARNING if model.options.faithful else None
    for document, path, value in _counts(model):
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            message = f"{path[-1]} {value}: no {'Pod' if path[-1] == 'numNodes' else 'process'} is started"
            yield report(CODE, document, path, message, severity=severity, found=str(value), expected="1 or more")


def _counts(model: Model) -> Iterator[tuple[Document, Path, Json]]:
    """Yield the counts that are in force.

    The runtime's numNodes is not one of them where it is below 1: Trainer takes 1 for it.
    """
    yield model.job, ("spec", "trainer", "numNodes"), model.num_nodes
    if model.policy("flux") is not None:
        return
    yield model.job, ("spec", "trainer", "numProcPerNode"), model.num_proc_per_node
    if model.num_proc_per_node is None:
        path: Path = ("spec", "mlPolicy", "mpi", "numProcPerNode")
        yield model.runtime, path, get(model.runtime.data, *path)
