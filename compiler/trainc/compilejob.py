"""Compiles one TrainJob: admit, join, check, shape, build, admit the JobSet, and what default output adds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from trainc.admit.configmaps import CODE as TOO_LARGE
from trainc.admit.configmaps import UPSTREAM, message, oversized
from trainc.admit.crd import UNCHECKED, admit_document
from trainc.admit.generated import Refused, admit_jobset
from trainc.admit.trainer import warn_deprecated
from trainc.checks import check_model, check_objects, check_result
from trainc.checks.jobset import check_jobset
from trainc.contents import Content
from trainc.diagnostics import Diagnostic, Severity, has_errors, report
from trainc.documents import Key
from trainc.findings.settling import Ruling
from trainc.gitops import content, passes
from trainc.gitops.base import jobset_of, with_jobset
from trainc.gitops.naming import name_place, numbered, titled
from trainc.gitops.summary import Summary
from trainc.join import join
from trainc.judges import Judges
from trainc.kube.gotypes import GoDecodeError
from trainc.kube.merge import MergeError
from trainc.kube.quantity import QuantityError
from trainc.lookup import check_kind
from trainc.model import Model, Object, Objects
from trainc.options import Options
from trainc.origins import blamed
from trainc.plugins import BUILDS, CHECKS
from trainc.plugins.jobset import runs_already
from trainc.records import dataclass, field, replace
from trainc.replay import traced
from trainc.runtimes import Runtimes
from trainc.source import Document, Json, JsonObject, Path, as_object, dotted, get, objects
from trainc.trace import Trail, shape, trace_jobset, trace_owned

_NODES: Path = ("spec", "trainer", "numNodes")
_CLAIM = "v1/PersistentVolumeClaim"
PANIC = "panic: runtime error: invalid memory address or nil pointer dereference [recovered]"

STAGES = (
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
"""Where a cluster refuses, in its order; the first stage that does ends the case."""


@dataclass(frozen=True, slots=True)
class Job:
    """One TrainJob compiled: no objects if any of its findings, or of its runtime's, is an error.

    ``namespace`` is that of its objects. ``made`` and ``files`` are what is left of them in a run that keeps no
    objects: what the rest of the run has to know of each, and the files, their paths from the root.
    """

    namespace: str
    name: str
    document: Document
    runtime: Document | None = None
    objects: Objects = ()
    findings: tuple[Diagnostic, ...] = ()
    made: tuple[Summary, ...] = ()
    files: tuple[tuple[str, Content], ...] = ()


@dataclass(frozen=True, slots=True)
class JobCompiler:
    """What every job of a run is compiled with."""

    runtimes: Runtimes
    cluster: Mapping[Key, Document]
    options: Options
    ruling: Ruling = field(default_factory=Ruling)
    judges: Judges = field(default_factory=Judges)

    def compile(self, document: Document) -> Job:
        """Compile one job. A fault of ours becomes a finding, so that the other jobs are still compiled."""
        home, name = (str(get(document.data, "metadata", key)) for key in ("namespace", "name"))
        job = Job(self.options.settings.namespaces.get(home, home), name, document)
        try:
            return self._compile(job)
        except QuantityError:
            return replace(job, objects=(), findings=(_immense(document),))
        except Exception as error:  # noqa: BLE001 - named TC902, and tests fail on it
            message = f"{type(error).__name__}: {error}"
            return replace(job, objects=(), findings=(report("TC902", document, ("metadata", "name"), message),))

    def _compile(self, job: Job) -> Job:
        faithful = self.options.faithful
        admitted = admit_document(job.document, "crd", "webhook", faithful=faithful)
        findings = list(admitted.findings)
        if not _fits(findings):
            return self._ended(job, findings)
        said = self.judges.of_input(admitted.document)
        if refused := check_kind(admitted.document):
            return self._ended(replace(job, findings=said), [*findings, *refused])
        found = self.runtimes.find(admitted.document)
        if isinstance(found, Diagnostic):
            return self._ended(replace(job, findings=said), [*findings, found])
        job = Job(job.namespace, job.name, job.document, found.document, (), said)
        findings += found.findings
        if self.ruling.stops(found.findings):
            return self._ended(job, findings)
        findings += warn_deprecated(admitted.document, found.document)
        try:
            model = numbered(join(admitted.document, found.document, self.cluster, self.options))
        except (GoDecodeError, MergeError) as error:
            return self._ended(job, [*findings, _unmergeable(admitted.document, error)])
        findings += check(model)
        if self.ruling.stops(findings):
            return self._ended(job, findings)
        objects, more = build(model)
        findings += (*more, *check_result(model, objects))
        if not self.ruling.stops(findings):
            findings += self.judges.of_made(model, objects)
        told = (*findings, *said)
        return replace(job, objects=() if self.ruling.stops(told) else objects, findings=told)

    def _ended(self, job: Job, findings: list[Diagnostic]) -> Job:
        """Return a job without objects; under faithful, errors are those of the first stage that refuses.

        ``findings`` go before those that the job has.
        """
        findings += job.findings
        if self.options.faithful:
            stages = [STAGES.index(f.stage) for f in findings if f.stage and f.severity is Severity.ERROR]
            if stages:
                first = STAGES[min(stages)]
                findings = [f for f in findings if f.stage in (first, None) or f.severity is not Severity.ERROR]
        return replace(job, objects=(), findings=tuple(findings))


def _immense(document: Document) -> Diagnostic:
    """Return the finding of resource requests that are quantities each, but whose sum nobody can write."""
    path: Path = ("spec", "trainer", "resourcesPerNode")
    if get(document.data, *path) is None:
        path = ("spec", "runtimeRef")
    return report(
        "TC109", document, path, "the sum of the pods' resource requests has more than 100,000 digits", stage="build"
    )


def _unmergeable(document: Document, error: Exception) -> Diagnostic:
    """Return the finding of runtime patches that cannot be merged; upstream dereferences the model it then lacks."""
    message = f"the runtime patches cannot be merged: {error}"
    return report("TC310", document, ("spec", "runtimePatches"), message, stage="webhook", upstream=PANIC)


def _fits(findings: Iterable[Diagnostic]) -> bool:
    """Tell whether the document can be worked on: an unknown field is an error, but does not stop the next checks."""
    return not any(f.severity is Severity.ERROR and f.code != "TC101" for f in findings)


def check(model: Model) -> list[Diagnostic]:
    """Return what every plugin finds in the joined model."""
    findings = [finding for plugin in CHECKS for finding in plugin.check(model)]
    findings += static_limits(model)
    findings += foreign_snapshot(model)
    findings += check_model(model)
    if not model.options.faithful:
        findings += passes.check(model)
    return findings


def static_limits(model: Model) -> list[Diagnostic]:
    """Warn of what only a running controller does (K3)."""
    spec = model.job.data["spec"]
    findings = []
    if get(spec, "managedBy") == "kueue.x-k8s.io/multikueue":
        message = "managed by MultiKueue: these are the objects that the worker cluster's controller would create"
        findings.append(report("TC311", model.job, ("spec", "managedBy"), message))
    if model.options.faithful and get(spec, "activeDeadlineSeconds") is not None:  # else gitops/deadline.py
        message = "activeDeadlineSeconds has no static equivalent: only a running Trainer controller enforces it"
        findings.append(report("TC312", model.job, ("spec", "activeDeadlineSeconds"), message))
    if runs_already(model) and not content.is_by_content(model):
        message = f"JobSet {model.namespace}/{model.name} runs already: no JobSet is emitted"
        findings.append(report("TC313", model.job, ("metadata", "name"), message))
    return findings


def foreign_snapshot(model: Model) -> tuple[Diagnostic, ...]:
    """Refuse a ConfigMap in the place of the job's runtime snapshot, as the controller does (pkg/runtime/core)."""
    name = f"{get(model.job.data, 'metadata', 'name')}-runtime-snapshot"
    found = model.cluster.get(("v1/ConfigMap", model.home, name)) if model.options.faithful else None
    if found is None:
        return ()
    owners = objects(get(found.data, "metadata", "ownerReferences"))
    uid = get(model.job.data, "metadata", "uid")
    if uid is not None and any(owner.get("controller") is True and owner.get("uid") == uid for owner in owners):
        return ()
    detail = "invalid runtime snapshot: a snapshot configmap exists but is owned by another object"
    begin = "unable to get" if model.runtime.data["kind"] == "TrainingRuntime" else "getting"
    upstream = f"{begin} runtime snapshot: {detail}"
    message = f"ConfigMap {model.home}/{name} is not the runtime snapshot of this TrainJob"
    return (report("TC316", found, ("metadata", "name"), message, found=name, stage="build", upstream=upstream),)


def build(model: Model) -> tuple[Objects, list[Diagnostic]]:
    """Return the objects of a checked model as the cluster would hold them, and what refuses them.

    Names by content take two goes: the first gives the content, under the plain name.
    """
    if not content.is_by_content(model):
        return _built(model)
    objects, findings = _built(content.unnamed(model))
    return (objects, findings) if has_errors(findings) else _built(content.named(model, objects))


def _built(model: Model) -> tuple[Objects, list[Diagnostic]]:
    shaped = shape(model)
    findings: list[Diagnostic] = []
    objects: list[Object] = []
    trail = None
    for plugin in BUILDS:
        for made in plugin.build(shaped):
            if made.kind != "JobSet":
                objects.append(replace(made, origins=trace_owned(model, plugin.name)))
                findings += _too_large(model, objects[-1])
                continue
            jobset, refusals = admit_jobset(made.data, _Claims(model))
            trail = Trail(made.data, jobset)
            admitted = Object(jobset, trace_jobset(model, trail))
            findings += [_refusal(model, admitted, refusal) for refusal in refusals]
            findings += () if refusals else check_objects(model, admitted)
            objects.append(admitted)
    if not model.options.faithful and not has_errors(findings):
        return _passed(model, tuple(objects), trail, findings)
    return tuple(objects), findings


def _too_large(model: Model, made: Object) -> Iterator[Diagnostic]:
    """Yield the finding of a ConfigMap that the API server refuses; upstream's controller then tries for ever."""
    if (size := oversized(made.data)) is None:
        return
    total, path = size
    document, where = blamed(model, made, path)
    hint = None
    if get(model.job.data, *_NODES) is not None:
        document, where, hint = model.job, _NODES, "ask for fewer nodes: the ConfigMap names each of them"
    severity = Severity.WARNING if model.options.faithful else None
    told = f"{made.name}: {message(total)}"
    yield report(TOO_LARGE, document, where, told, severity=severity, hint=hint, upstream=UPSTREAM)


def _passed(
    model: Model, objects: Objects, trail: Trail | None, findings: list[Diagnostic]
) -> tuple[Objects, list[Diagnostic]]:
    """Return the objects with what default output adds; a JobSet whose spec that changes is admitted once more."""
    shaped, history = passes.shape(model, objects)
    before, after = jobset_of(objects), jobset_of(shaped)
    refusals: tuple[Refused, ...] | None = None
    if trail is not None:
        trail = trail._replace(history=history)
        if before is not None and after is not None and _spec(before) != _spec(after):
            data, refusals = admit_jobset(after.data, _Claims(model))
            shaped, trail = with_jobset(shaped, data), trail._replace(stored=data)
    finished = traced(model, objects, shaped, history, trail)
    if refusals is not None and (jobset := jobset_of(finished)) is not None:
        refused = [_refusal(model, jobset, refusal) for refusal in refusals if refusal.code != UNCHECKED]
        findings = [*findings, *(refused or _by_patches(model, finished, findings))]
        if has_errors(refused):
            return finished, findings
    finished = titled(model, finished)
    return finished, [*findings, *passes.judge(model, finished)]


def _by_patches(model: Model, objects: Objects, told: Collection[Diagnostic]) -> list[Diagnostic]:
    """Return what the environment's patches have brought into a JobSet that no pod can be made of."""
    jobset = jobset_of(objects) if model.options.settings.patches else None
    return [found for found in check_jobset(model, jobset) if found not in told] if jobset is not None else []


def _spec(jobset: Object) -> JsonObject:
    return {key: value for key, value in as_object(jobset.data["spec"]).items() if key != "suspend"}


@dataclass(frozen=True, slots=True)
class _Claims(Mapping[str, Json]):
    """The specs of the PersistentVolumeClaims given in the job's namespace, by name; found when asked for."""

    model: Model

    def __getitem__(self, name: str) -> Json:
        return self.model.cluster[_CLAIM, self.model.home, name].data.get("spec")

    def __iter__(self) -> Iterator[str]:
        return (name for kind, place, name in self.model.cluster if kind == _CLAIM and place == self.model.home)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _refusal(model: Model, jobset: Object, refused: Refused) -> Diagnostic:
    """Return the finding of a refused JobSet, at the line that caused it."""
    document, path = (model.job, name_place(model)) if refused.code == "TC802" else blamed(model, jobset, refused.path)
    found = jobset.name if refused.code == "TC802" and jobset.name != model.title else None
    place, told = dotted(refused.path), refused.message
    parent = dotted(refused.path[:-1])  # of a key, which is named apart
    message = f"the JobSet is refused: {told if told.startswith((place, f'{parent} ')) else f'{place}: {told}'}"
    return report(
        refused.code,
        document,
        path,
        message,
        found=found,
        expected=refused.expected,
        hint=refused.hint,
        stage=refused.stage,
        upstream=refused.upstream,
    )
