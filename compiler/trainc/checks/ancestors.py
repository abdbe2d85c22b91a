"""The label by which Trainer finds the jobs of a runtime that a TrainJob speaks of: misspelt, or on none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from trainc.diagnostics import Diagnostic, Severity, report
from trainc.model import ANCESTOR_LABEL, DATASET_INITIALIZER, MODEL_INITIALIZER, TRAINER, Model
from trainc.source import Path, as_object, existing, get, objects

MISSPELT: Final = "TC823"
MISSING: Final = "TC824"
KNOWN: Final = (TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER)
NEAR: Final = 0.8
"""How much alike two texts must be for one to be a slip of the other; other values may have a meaning of their own."""

JOBS: Final[Path] = ("spec", "template", "spec", "replicatedJobs")
DROPPED: Final = ("image", "command", "args", "env", "resourcesPerNode")
COUNTS: Final = ("numNodes", "numProcPerNode")


def check_ancestors(model: Model) -> Iterator[Diagnostic]:
    """Yield a finding for each misspelt label of the runtime; without one, a warning where no job has the trainer's."""
    found = list(misspelt(model))
    yield from found
    if not found and model.trainer_set is None and _drops(model):
        yield _missing(model)


def misspelt(model: Model) -> Iterator[Diagnostic]:
    """Yield a finding for each label of the runtime that is a slip of the one that Trainer reads."""
    severity = Severity.WARNING if model.options.faithful else None
    for index, job in enumerate(objects(get(model.runtime.data, *JOBS))):
        pod_set = model.pod_set(str(job.get("name")))
        if pod_set is not None and pod_set.ancestor in KNOWN:
            continue
        labels: Path = (*JOBS, index, "template", "metadata", "labels")
        for key, value in as_object(get(model.runtime.data, *labels)).items():
            expected = _meant(key, str(value))
            if expected is not None:
                message = f"job {job.get('name')!r} has a misspelt ancestor label: Trainer passes it nothing"
                found, hint = f"{key}: {value}", f"write {expected}"
                place = (*labels, key)
                yield report(MISSPELT, model.runtime, place, message, severity=severity, found=found, hint=hint)


@lru_cache(maxsize=1024)
def _meant(key: str, value: str) -> str | None:
    """Return the label that a misspelt one stands for; None for any other label."""
    step = ANCESTOR_LABEL.rpartition("/")[2]
    if key != ANCESTOR_LABEL and not _near(key.rpartition("/")[2], (step,)):
        return None
    meant = _near(value, KNOWN)
    return f"{ANCESTOR_LABEL}: {meant}" if meant and (key, value) != (ANCESTOR_LABEL, meant) else None


def _near(text: str, candidates: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(text.lower().replace("_", "-"), candidates, n=1, cutoff=NEAR)), None)


def _drops(model: Model) -> bool:
    """Tell whether anything is lost for want of the label."""
    given = model.trainer or {}
    led = any(model.policy(policy) is not None for policy in ("torch", "jax", "xgboost", "flux"))
    if led and not get(model.ml_policy, "torch", "envInjection", "targets"):
        return True
    lost = DROPPED if model.policy("mpi") is not None else (*DROPPED, *COUNTS)
    return any(given.get(field) is not None for field in lost)


def _missing(model: Model) -> Diagnostic:
    message = f"no replicated job has the label {ANCESTOR_LABEL}: {TRAINER}"
    dropped = "image, command, variables, resources and numNodes"
    if model.policy("mpi") is not None:  # whose number of nodes goes to job node by its name
        dropped = "image, command, variables and resources"
    message += f", so {dropped} of the TrainJob are dropped"
    hint = "add it to template.metadata.labels of the replicated job that trains"
    place = existing(model.runtime.data, JOBS)
    for index, job in enumerate(objects(get(model.runtime.data, *JOBS))):
        inner: Path = ("template", "spec", "template", "metadata", "labels", ANCESTOR_LABEL)
        if get(job, *inner) == TRAINER:
            place = (*JOBS, index, *inner)
            hint = "move it from the pods' template to that of the job: replicatedJobs[].template.metadata.labels"
            break
    return report(MISSING, model.runtime, place, message, hint=hint)
