"""Compiles one TrainJob: a fold over stages, from the document in jobs/ to the generated objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from trainc import plugins
from trainc.admission.crd import admit_document
from trainc.admission.trainer import warn_deprecated
from trainc.basics.jsonvalues import Path, get
from trainc.checks import check_model, check_result
from trainc.findings import Finding, Severity, report
from trainc.gitops import passes
from trainc.gitops.naming import numbered
from trainc.gitops.pods import summarize
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.kube.merge import MergeError
from trainc.kube.quantity import QuantityError
from trainc.pipeline.content import Job
from trainc.pipeline.context import Context, Keep
from trainc.pipeline.controller import check_controller
from trainc.pipeline.layout import files
from trainc.pipeline.objects import build
from trainc.pipeline.runtimes import check_kind
from trainc.plugins.join import join
from trainc.plugins.model import Model, Objects

PANIC = "panic: runtime error: invalid memory address or nil pointer dereference [recovered]"

REFUSALS = (
    "decode",
    "runtime-crd",
    "runtime-webhook",
    "crd",
    "webhook",
    "build",
    "jobset-crd",
    "jobset-webhook",
    "policy",
)
"""The steps in which a cluster may refuse a job, in order."""


class State(Struct, frozen=True):
    """The state of a job between two stages. ``job`` and ``runtime`` are documents as a cluster would store them.

    ``by_policies`` are findings of policies on the TrainJob itself; they do not stop the compilation.
    """

    job: Document
    runtime: Document | None = None
    model: Model | None = None
    objects: Objects = ()
    findings: tuple[Finding, ...] = ()
    by_policies: tuple[Finding, ...] = ()
    stopped: bool = False

    def then(self, findings: Iterable[Finding] = (), **changes: Any) -> State:
        """Return the state with more findings, and other changes."""
        return replace(self, findings=(*self.findings, *findings), **changes)


def compile_job(context: Context, document: Document) -> Job:
    """Compile one job, with its files and summaries as far as the run keeps them."""
    home, name = (str(get(document.data, "metadata", key)) for key in ("namespace", "name"))
    job = Job(context.options.settings.namespaces.get(home, home), name, document)
    try:
        state = _compile(context, document)
    except QuantityError:
        path: Path = ("spec", "trainer", "resourcesPerNode")
        path = ("spec", "runtimeRef") if get(document.data, *path) is None else path
        message = "the sum of the pods' resource requests has more than 1,000 digits"
        return replace(job, findings=(report("TC109", document, path, message, stage="build"),))
    except (MemoryError, SystemError, OSError, ImportError):  # of the machine, or the installation
        raise
    except Exception as error:  # noqa: BLE001 - a bug of trainc: the other jobs are still compiled, and tests fail
        message = f"{type(error).__name__}: {error}"
        return replace(job, findings=(report("TC902", document, ("metadata", "name"), message),))
    job = replace(job, runtime=state.runtime, objects=state.objects, findings=state.findings)
    summaries = tuple(map(summarize, job.objects))
    written = () if context.keep is Keep.SUMMARIES else tuple(files(job, context.options))
    return replace(job, objects=job.objects if context.keep is Keep.OBJECTS else (), summaries=summaries, files=written)


def _compile(context: Context, document: Document) -> State:
    state = State(document)
    for stage in STAGES:
        state = stage(context, state)
        if state.stopped:
            break
    findings = (*state.findings, *state.by_policies)
    if state.stopped and context.options.faithful:
        findings = _until_first_refusal(findings)
    objects = () if state.stopped or context.report_rules.stops(findings) else state.objects
    return replace(state, objects=objects, findings=findings)


Executor = Callable[[Context, Iterable[Document]], Iterable[Job]]
"""Compiles each job once, and yields the results in any order."""


def in_order(context: Context, documents: Iterable[Document]) -> Iterable[Job]:
    """Compile the jobs one by one, in this process."""
    return (compile_job(context, document) for document in documents)


def _admit(context: Context, state: State) -> State:
    """Prune, default and validate the TrainJob, and evaluate the policies. Unknown fields do not stop the job."""
    admitted = admit_document(state.job, "crd", "webhook", faithful=context.options.faithful)
    if admitted.is_refused:
        return state.then(admitted.findings, job=admitted.document, stopped=True)
    policies = context.check_input(admitted.document)
    return state.then(admitted.findings, job=admitted.document, by_policies=policies)


def _find_runtime(context: Context, state: State) -> State:
    if refused := check_kind(state.job):
        return state.then(refused, stopped=True)
    found = context.runtimes.find(state.job)
    if isinstance(found, Finding):
        return state.then((found,), stopped=True)
    return state.then(found.findings, runtime=found.document, stopped=context.report_rules.stops(found.findings))


def _join(context: Context, state: State) -> State:
    """Merge the runtime, its patches and the TrainJob's trainer into one model."""
    job, runtime = state.job, state.runtime
    assert runtime is not None
    state = state.then(warn_deprecated(job, runtime))
    try:
        return state.then(model=numbered(join(job, runtime, context.seen, context.options)))
    except (GoDecodeError, MergeError) as error:  # upstream then dereferences a nil model
        message, path = f"the runtime patches cannot be merged: {error}", ("spec", "runtimePatches")
        return state.then((report("TC310", job, path, message, stage="webhook", upstream=PANIC),), stopped=True)


def _check(context: Context, state: State) -> State:
    """Check the model, before objects are built."""
    model = state.model
    assert model is not None
    found = (*plugins.check(model), *check_controller(model), *check_model(model))
    state = state.then(found if model.options.faithful else (*found, *passes.check(model)))
    return state.then(stopped=context.report_rules.stops(state.findings))


def _build(context: Context, state: State) -> State:
    """Build the objects, and evaluate the policies for them."""
    model = state.model
    assert model is not None
    objects, found = build(model, context.report_rules.stops)
    state = state.then((*found, *check_result(model, objects)), objects=objects)
    return state if context.report_rules.stops(state.findings) else state.then(context.check_objects(model, objects))


STAGES: tuple[Callable[[Context, State], State], ...] = (_admit, _find_runtime, _join, _check, _build)
"""The stages of a job. A stage that sets ``stopped`` is the last one."""


def _until_first_refusal(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings without errors of later steps: a cluster stops at the first step that refuses the job."""
    refused = [REFUSALS.index(f.stage) for f in findings if f.stage and f.severity is Severity.ERROR]
    if not refused:
        return findings
    first = REFUSALS[min(refused)]
    return tuple(f for f in findings if f.stage in (first, None) or f.severity is not Severity.ERROR)
