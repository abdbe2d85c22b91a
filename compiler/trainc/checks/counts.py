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
    """Yield the counts that are in force: the TrainJob's, and the runtime's where the TrainJob gives none."""
    yield model.job, ("spec", "trainer", "numNodes"), model.num_nodes
    if model.num_nodes is None:
        yield _of_runtime(model, ("numNodes",))
    if model.policy("flux") is None:
        yield model.job, ("spec", "trainer", "numProcPerNode"), model.num_proc_per_node
        if model.num_proc_per_node is None:
            yield _of_runtime(model, ("mpi", "numProcPerNode"))


def _of_runtime(model: Model, steps: Path) -> tuple[Document, Path, Json]:
    path: Path = ("spec", "mlPolicy", *steps)
    return model.runtime, path, get(model.runtime.data, *path)
