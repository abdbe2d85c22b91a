"""Checks that upstream lacks, one file a subject: what is accepted all the way and yet never runs, or runs badly.

``check_model`` looks at a TrainJob joined with its runtime, ``check_objects`` at the JobSet that they become.
"""

from __future__ import annotations

from trainc.checks.counts import check_counts
from trainc.checks.images import check_images
from trainc.checks.jobset import check_jobset
from trainc.checks.mpi import check_mpi
from trainc.checks.secrets import check_secrets
from trainc.diagnostics import Diagnostic
from trainc.model import Model, Object


def check_model(model: Model) -> list[Diagnostic]:
    """Return findings on what was written: counts, secrets in plain text, what MPI's workers do not get."""
    return [*check_counts(model), *check_secrets(model), *check_mpi(model)]


def check_objects(model: Model, jobset: Object) -> list[Diagnostic]:
    """Return findings on an admitted JobSet, each at the line that caused it."""
    return [*check_jobset(model, jobset), *check_images(model, jobset.data)]
