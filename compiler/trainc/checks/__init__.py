"""Checks that upstream lacks, one file a subject: what is accepted all the way and yet never runs, or runs badly.

``check_model`` looks at a TrainJob joined with its runtime, ``check_objects`` at the JobSet that they become,
``check_result`` at what is finally applied, environment included.
"""

from __future__ import annotations

from trainc.checks.ancestors import check_ancestors
from trainc.checks.counts import check_counts
from trainc.checks.hostnames import check_hostnames
from trainc.checks.images import check_images
from trainc.checks.initializers import check_initializers
from trainc.checks.jobset import check_jobset
from trainc.checks.launching import check_launching
from trainc.checks.mpi import check_mpi
from trainc.checks.pullable import check_pullable
from trainc.checks.secrets import check_secrets
from trainc.checks.unmeant import check_unmeant
from trainc.diagnostics import Diagnostic
from trainc.model import Model, Object, Objects


def check_model(model: Model) -> list[Diagnostic]:
    """Return findings on what was written: counts, secrets in plain text, what MPI's workers do not get."""
    return [*check_counts(model), *check_secrets(model), *check_mpi(model)]


def check_objects(model: Model, jobset: Object) -> list[Diagnostic]:
    """Return findings on an admitted JobSet, each at the line that caused it."""
    return [*check_jobset(model, jobset), *check_images(model, jobset.data), *check_unmeant(model, jobset)]


def check_result(model: Model, made: Objects) -> list[Diagnostic]:
    """Return findings on the objects of a job as they are applied: what every API accepts and no node ever runs."""
    findings = [*check_ancestors(model), *check_launching(model), *check_pullable(model, made)]
    for jobset in made:
        if jobset.kind == "JobSet":
            findings += (*check_initializers(model, jobset), *check_hostnames(model, jobset))
    return list(dict.fromkeys(findings))
