"""Labels that Trainer does not find, addresses that its initializers refuse, counts below 1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, existing, get, objects
from trainc.basics.memo import keeping
from trainc.basics.regex import lazy
from trainc.checks.containers import containers
from trainc.findings import Finding, Severity, report
from trainc.inputs.source import Document
from trainc.plugins.jobset import INITIALIZERS
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import source_of
from trainc.upstream import (
    ANCESTOR_LABEL,
    DATASET_INITIALIZER,
    MODEL_INITIALIZER,
    NODE,
    STORAGE_URI,
    TRAINER,
    TRAINER_VERSION,
)

ROLES: Final = (TRAINER, DATASET_INITIALIZER, MODEL_INITIALIZER)
NEAR: Final = 0.8
"""The least similarity of a misspelt text; less similar texts may be intended."""

JOBS: Final[Path] = ("spec", "template", "spec", "replicatedJobs")
DROPPED: Final = ("image", "command", "args", "env", "resourcesPerNode")
COUNTS: Final = ("numNodes", "numProcPerNode")


def check_ancestors(model: Model) -> Iterator[Finding]:
    """Yield a finding for each misspelt label of the runtime, or else a warning for each label that no job has."""
    found = list(misspelt(model))
    yield from found
    if found:
        return
    if model.trainer_set is None and _drops(model):
        yield _missing_label(model)
    for role, field in INITIALIZERS.items():
        has_job, given = model.pod_set(role) is not None, get(model.job.data, "spec", "initializer", field)
        if has_job and model.labelled(role) is None and given is not None:
            message = f"no job has the label {ANCESTOR_LABEL}: {role}, so spec.initializer.{field} is dropped"
            hint = f"add it to template.metadata.labels of replicated job {role!r}"
            yield report("TC824", model.runtime, existing(model.runtime.data, JOBS), message, hint=hint)


def misspelt(model: Model) -> Iterator[Finding]:
    """Yield a finding for each misspelt ancestor label of the runtime."""
    ancestors = {pod_set.name: pod_set.ancestor for pod_set in reversed(model.pod_sets)}  # of one name, the first
    for index, job in enumerate(objects(get(model.runtime.data, *JOBS))):
        if ancestors.get(str(job.get("name"))) in ROLES:
            continue
        labels: Path = (*JOBS, index, "template", "metadata", "labels")
        for key, value in as_object(get(model.runtime.data, *labels)).items():
            expected = _intended(key, str(value))
            if expected is not None:
                message = f"job {job.get('name')!r} has a misspelt ancestor label, which Trainer ignores"
                found, hint = f"{key}: {value}", f"write {expected}"
                path = (*labels, key)
                yield report("TC823", model.runtime, path, message, severity=model.severity, found=found, hint=hint)


_has_misspelt: Final = keeping(lambda model: any(misspelt(model)), 1)  # a JobSet may have thousands of initializers


@lru_cache(maxsize=1024)
def _intended(key: str, value: str) -> str | None:
    """Return the intended label of a misspelt one; None for any other label."""
    step = ANCESTOR_LABEL.rpartition("/")[2]
    if key != ANCESTOR_LABEL and not _near(key.rpartition("/")[2], (step,)):
        return None
    role = _near(value, ROLES)
    return f"{ANCESTOR_LABEL}: {role}" if role and (key, value) != (ANCESTOR_LABEL, role) else None


def _near(text: str, candidates: tuple[str, ...]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(text.lower().replace("_", "-"), candidates, n=1, cutoff=NEAR)), None)


def _drops(model: Model) -> bool:
    """Return whether the TrainJob or mlPolicy has fields that are dropped without the label."""
    uses_rank_0 = any(model.policy(policy) is not None for policy in ("torch", "jax", "xgboost", "flux"))
    several = model.num_nodes is None and get(model.policies, "numNodes") not in (None, 1)
    targets, node = objects(get(model.policies, "torch", "envInjection", "targets")), model.pod_set(NODE)
    # Targets get the variables anyway, but those of one pod, which is the first of job node.
    alone = bool(targets) and node is not None and node.count == 1 and all(t.get("jobName") == NODE for t in targets)
    if several or (uses_rank_0 and not alone):
        return True
    dropped = DROPPED if model.policy("mpi") is not None else (*DROPPED, *COUNTS)
    return any(get(model.trainer, field) is not None for field in dropped)


def _missing_label(model: Model) -> Finding:
    message = f"no replicated job has the label {ANCESTOR_LABEL}: {TRAINER}"
    dropped = "image, command, variables, resources and numNodes"
    if model.policy("mpi") is not None:  # numNodes reaches job node by its name
        dropped = "image, command, variables and resources"
    message += f", so {dropped} of the TrainJob, and mlPolicy.numNodes, are dropped"
    hint = "add it to template.metadata.labels of the replicated job that trains"
    path = existing(model.runtime.data, JOBS)
    for index, job in enumerate(objects(get(model.runtime.data, *JOBS))):
        inner: Path = ("template", "spec", "template", "metadata", "labels", ANCESTOR_LABEL)
        if get(job, *inner) == TRAINER:
            path = (*JOBS, index, *inner)
            hint = "move it from the pod template to the job template: replicatedJobs[].template.metadata.labels"
            break
    return report("TC824", model.runtime, path, message, hint=hint)


# Addresses of data sets and models that the initializers of Trainer refuse.
# Source: Trainer v2.3.0 pkg/initializers/dataset/__main__.py and model/__main__.py: they parse the scheme with Python's
# urlparse, and raise an exception for any other. For cache (dataset/cache.py), they get the TrainJob, the owner of the
# cache, from the API server, and end with status 0 if it does not exist.


ADDRESS: Final = "TC820"
SCHEMES: Final = {"dataset": ("hf", "s3", "cache"), "model": ("hf", "s3")}
NEWEST: Final = (2, 3)
"""The version of the initializers with these schemes; newer ones may have more."""

_IMAGE = lazy(r"(?:.*/)?kubeflow/trainer/(dataset|model)-initializer(?::(?:v?([0-9]+)\.([0-9]+))?[^/]*)?")
"""The name and tag of an image, without its digest."""
_SCHEME_OF = lazy(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.-]*):")


def check_initializers(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a finding for each initializer of Trainer that fails because of its address."""
    for path, _, container in containers(jobset.data, kinds=("containers",)):
        if container.get("name") in (DATASET_INITIALIZER, MODEL_INITIALIZER):
            yield from _container(model, jobset, path, container)


def _container(model: Model, jobset: Object, path: Path, container: JsonObject) -> Iterator[Finding]:
    if container.get("command") or container.get("args"):
        return
    variables = objects(container.get("env"))
    index = next((i for i in reversed(range(len(variables))) if variables[i].get("name") == STORAGE_URI), None)
    if index is None:
        kind = _kind(model, jobset, path, container)
        if kind and not container.get("envFrom") and not _has_misspelt(model):  # a job with a misspelt label gets none
            yield _missing_variable(model, jobset, path, kind)
        return
    uri = variables[index].get("value")
    if variables[index].get("valueFrom") is not None or not isinstance(uri or "", str) or "$(" in str(uri):
        return
    text = str(uri or "")
    found = _SCHEME_OF.match(text)
    scheme = found[1].lower() if found else ""
    if scheme in SCHEMES["model"] or not (kind := _kind(model, jobset, path, container)):
        return
    source: Path = ("spec", "initializer", str(container["name"]).partition("-")[0], "storageUri")
    document = model.job
    if get(document.data, *source) != text:
        document, source = source_of(model, jobset, (*path, "env", index, "value"))
    about = f"storageUri {text!r}: the {kind} initializer of Trainer {TRAINER_VERSION}"
    if scheme in SCHEMES[kind]:
        if not model.options.faithful:
            message = f"{about} starts no cache: it looks for the TrainJob in the cluster, which has only its JobSet"
            hint = "use an initializer image of your own in the runtime, which starts the cache without a TrainJob"
            yield report(ADDRESS, document, source, message, severity=Severity.WARNING, found=text, hint=hint)
        return
    schemes = [f"{name}://" for name in SCHEMES[kind]]
    what = f"does not support {scheme}://" if scheme else "needs a scheme"
    expected = f"{', '.join(schemes[:-1])} or {schemes[-1]}"
    yield report(ADDRESS, document, source, f"{about} {what}", severity=model.severity, found=text, expected=expected)


def _missing_variable(model: Model, jobset: Object, path: Path, kind: str) -> Finding:
    message = f"the {kind} initializer gets no {STORAGE_URI}, without which it fails"
    hint = f"set spec.initializer.{kind}.storageUri in the TrainJob, or {STORAGE_URI} in the runtime"
    document, source = source_of(model, jobset, (*path, "name"))
    return report(ADDRESS, document, source[:-1] or source, message, severity=Severity.WARNING, hint=hint)


def _kind(model: Model, jobset: Object, path: Path, container: JsonObject) -> str | None:
    """Return which initializer of Trainer a container runs, dataset or model, by its image; None for other images.

    A registry of the environment may have another path, so the image in the source counts as well.
    """
    found = _IMAGE.fullmatch(str(container.get("image")).partition("@")[0])
    if found is None:
        document, source = source_of(model, jobset, (*path, "image"))
        found = _IMAGE.fullmatch(str(get(document.data, *source)).partition("@")[0])
    if found is None or (found[2] and (int(found[2][:9]), int(found[3][:9])) > NEWEST):
        return None
    return found[1]


# Numbers of nodes and processes below one, which every webhook accepts.


def check_counts(model: Model) -> Iterator[Finding]:
    """Yield a finding for each count below one. Flux itself refuses its number of processes (TC405)."""
    for document, path, value in _counts(model):
        if isinstance(value, int) and not isinstance(value, bool) and value < 1:
            message = f"{path[-1]} {value}: no {'pod' if path[-1] == 'numNodes' else 'process'} starts"
            yield report(
                "TC410", document, path, message, severity=model.severity, found=str(value), expected="1 or more"
            )
    yield from _raised_counts(model)


def _raised_counts(model: Model) -> Iterator[Finding]:
    """Yield a finding on each count of a replicated job below one that no count of the trainer replaces."""
    replaced = {pod_set.name for pod_set in model.pod_sets if pod_set.is_single}  # a patch may change the label
    for index, job in enumerate(objects(get(model.runtime.data, *JOBS))):
        for path in (("replicas",), ("template", "spec", "parallelism"))[: 1 if model.uses("mpi") else 2]:
            value = get(job, *path)
            if not isinstance(value, int) or value > 0 or job.get("name") in replaced:
                continue
            raised = value == 0 or path[-1] == "parallelism"
            effect = "Trainer creates one" if raised else "JobSet ends too early, since it needs fewer Jobs to succeed"
            severity, hint = Severity.WARNING if raised else model.severity, "remove the job to leave it out"
            where, message = (*JOBS, index, *path), f"{path[-1]} {value}: {effect}"
            yield report("TC410", model.runtime, where, message, severity=severity, found=str(value), hint=hint)


def _counts(model: Model) -> Iterator[tuple[Document, Path, Json]]:
    """Yield the counts that apply; Trainer replaces a numNodes of the runtime below 1 by 1."""
    yield model.job, ("spec", "trainer", "numNodes"), model.num_nodes
    if model.policy("flux") is not None:
        return
    yield model.job, ("spec", "trainer", "numProcPerNode"), model.num_proc_per_node
    if model.num_proc_per_node is None:
        path: Path = ("spec", "mlPolicy", "mpi", "numProcPerNode")
        yield model.runtime, path, get(model.runtime.data, *path)
