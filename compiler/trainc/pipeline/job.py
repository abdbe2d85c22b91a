"""Compiles one TrainJob: a fold over stages, from the document as it is written to the objects that are applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.admission.crd import admit_document
from trainc.admission.trainer import warn_deprecated
from trainc.basics.jsonvalues import Path, get
from trainc.checks import check_model, check_result
from trainc.documents.classify import Key
from trainc.findings import Finding, Severity, report
from trainc.findings.settling import Ruling
from trainc.gitops import passes
from trainc.gitops.naming import numbered
from trainc.gitops.summary import Summary
from trainc.inputs.options import Options
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError
from trainc.kube.merge import MergeError
from trainc.kube.quantity import QuantityError
from trainc.pipeline.content import Content
from trainc.pipeline.controller import check_controller
from trainc.pipeline.join import join
from trainc.pipeline.judges import Judges
from trainc.pipeline.lookup import check_kind
from trainc.pipeline.objects import build
from trainc.pipeline.runtimes import Runtimes
from trainc.plugins import CHECKS
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
"""Where a cluster refuses, in its order. The first one that does ends the case."""


class Job(Struct, frozen=True):
    """A compiled TrainJob. It has no objects if any of its findings, or of its runtime's, is an error.

    ``namespace`` is that of its objects. A run that keeps no objects keeps ``made``, what the rest of the run has to
    know of each, and ``files``, whose paths start at the root of the repository.
    """

    namespace: str
    name: str
    document: Document
    runtime: Document | None = None
    objects: Objects = ()
    findings: tuple[Finding, ...] = ()
    made: tuple[Summary, ...] = ()
    files: tuple[tuple[str, Content], ...] = ()


class State(Struct, frozen=True):
    """What is known of a job between two stages. ``stopped``: no further stage can say anything about it.

    ``job`` and ``runtime`` are as a cluster would store them. ``by_policies`` are findings of policies about the
    TrainJob itself; they stop no stage, so that one run reports all there is.
    """

    job: Document
    runtime: Document | None = None
    model: Model | None = None
    objects: Objects = ()
    findings: tuple[Finding, ...] = ()
    by_policies: tuple[Finding, ...] = ()
    stopped: bool = False


class JobCompiler(Struct, frozen=True):
    """Compiles jobs: what all jobs of a run have in common."""

    runtimes: Runtimes
    cluster: Mapping[Key, Document]
    options: Options
    ruling: Ruling = field(default_factory=Ruling)
    judges: Judges = field(default_factory=Judges)

    def compile(self, document: Document) -> Job:
        """Compile one job. A fault of ours becomes a finding, so that the other jobs are still compiled."""
        home, name = (str(get(document.data, "metadata", key)) for key in ("namespace", "name"))
        job = Job(self.options.settings.namespaces.get(home, home), name, document)
        state = State(document)
        try:
            for stage in STAGES:
                state = stage(self, state)
                if state.stopped:
                    break
        except QuantityError:
            return replace(job, findings=(_immense(document),))
        except Exception as error:  # noqa: BLE001 - named TC902, and tests fail on it
            message = f"{type(error).__name__}: {error}"
            return replace(job, findings=(report("TC902", document, ("metadata", "name"), message),))
        findings = (*state.findings, *state.by_policies)
        if state.stopped and self.options.faithful:
            findings = _of_first_refusal(findings)
        objects = () if state.stopped or self.ruling.stops(findings) else state.objects
        return replace(job, runtime=state.runtime, objects=objects, findings=findings)


def _admit_job(compiler: JobCompiler, state: State) -> State:
    """Prune, default and validate the TrainJob. An unknown field is an error, but does not end the stages."""
    admitted = admit_document(state.job, "crd", "webhook", faithful=compiler.options.faithful)
    stopped = any(f.severity is Severity.ERROR and f.code != "TC101" for f in admitted.findings)
    return replace(state, job=admitted.document, findings=tuple(admitted.findings), stopped=stopped)


def _ask_policies_about_job(compiler: JobCompiler, state: State) -> State:
    return replace(state, by_policies=compiler.judges.of_input(state.job))


def _find_runtime(compiler: JobCompiler, state: State) -> State:
    if refused := check_kind(state.job):
        return replace(state, findings=(*state.findings, *refused), stopped=True)
    found = compiler.runtimes.find(state.job)
    if isinstance(found, Finding):
        return replace(state, findings=(*state.findings, found), stopped=True)
    stopped = compiler.ruling.stops(found.findings)
    return replace(state, runtime=found.document, findings=(*state.findings, *found.findings), stopped=stopped)


def _join(compiler: JobCompiler, state: State) -> State:
    """Merge the runtime, its patches and the TrainJob's trainer into one model."""
    assert state.runtime is not None
    findings = (*state.findings, *warn_deprecated(state.job, state.runtime))
    try:
        model = numbered(join(state.job, state.runtime, compiler.cluster, compiler.options))
    except (GoDecodeError, MergeError) as error:
        return replace(state, findings=(*findings, _unmergeable(state.job, error)), stopped=True)
    return replace(state, model=model, findings=findings)


def _check(compiler: JobCompiler, state: State) -> State:
    """Ask plugins, checks and GitOps passes about the model, before anything is built."""
    assert state.model is not None
    model = state.model
    found = [finding for plugin in CHECKS for finding in plugin.check(model)]
    found += (*check_controller(model), *check_model(model))
    if not model.options.faithful:
        found += passes.check(model)
    findings = (*state.findings, *found)
    return replace(state, findings=findings, stopped=compiler.ruling.stops(findings))


def _build(compiler: JobCompiler, state: State) -> State:
    """Build the objects: plugins, GitOps passes and the admission of the JobSet."""
    assert state.model is not None
    objects, found = build(state.model)
    return replace(state, objects=objects, findings=(*state.findings, *found, *check_result(state.model, objects)))


def _ask_policies_about_objects(compiler: JobCompiler, state: State) -> State:
    if state.model is None or compiler.ruling.stops(state.findings):
        return state
    return replace(state, findings=(*state.findings, *compiler.judges.of_made(state.model, state.objects)))


Stage = Callable[[JobCompiler, State], State]

STAGES: tuple[Stage, ...] = (
    _admit_job,
    _ask_policies_about_job,
    _find_runtime,
    _join,
    _check,
    _build,
    _ask_policies_about_objects,
)
"""The way of a job. A stage that sets ``stopped`` is the last one."""


def _of_first_refusal(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Return the findings without the errors that a cluster would not get to: it stops where it refuses first."""
    refused = [REFUSALS.index(f.stage) for f in findings if f.stage and f.severity is Severity.ERROR]
    if not refused:
        return findings
    first = REFUSALS[min(refused)]
    return tuple(f for f in findings if f.stage in (first, None) or f.severity is not Severity.ERROR)


def _immense(document: Document) -> Finding:
    """Return the finding of resource requests that are quantities each, but whose sum nobody can write."""
    path: Path = ("spec", "trainer", "resourcesPerNode")
    if get(document.data, *path) is None:
        path = ("spec", "runtimeRef")
    return report(
        "TC109", document, path, "the sum of the pods' resource requests has more than 100,000 digits", stage="build"
    )


def _unmergeable(document: Document, error: Exception) -> Finding:
    """Return the finding of runtime patches that cannot be merged; upstream dereferences the model it then lacks."""
    message = f"the runtime patches cannot be merged: {error}"
    return report("TC310", document, ("spec", "runtimePatches"), message, stage="webhook", upstream=PANIC)
