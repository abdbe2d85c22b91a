"""Turns a checked model into objects: plugins build them, GitOps passes complete them, and the JobSet is admitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from trainc.admission.companions import oversized
from trainc.admission.crd import UNCHECKED
from trainc.admission.jobset import admit_jobset
from trainc.admission.refused import Refused
from trainc.basics.jsonvalues import Json, Path, dotted, get
from trainc.checks import check_objects
from trainc.findings import Finding, Severity, has_errors, report
from trainc.gitops import content, passes
from trainc.gitops.base import JOBSET, jobset_of, with_jobset
from trainc.gitops.naming import name_place, titled
from trainc.plugins import BUILDS
from trainc.plugins.model import Model, Object, Objects
from trainc.plugins.origins import blamed
from trainc.provenance.jobset import Trail, shape, trace_jobset, trace_owned
from trainc.provenance.objects import traced

_NODES: Path = ("spec", "trainer", "numNodes")
_CLAIM = "v1/PersistentVolumeClaim"


def build(model: Model) -> tuple[Objects, list[Finding]]:
    """Return the objects of a checked model as the cluster would hold them, and what refuses them.

    Names by content take two goes: the first gives the content, under the plain name.
    """
    if not content.is_by_content(model):
        return _built(model)
    objects, findings = _built(content.unnamed(model))
    return (objects, findings) if has_errors(findings) else _built(content.named(model, objects))


def _built(model: Model) -> tuple[Objects, list[Finding]]:
    shaped = shape(model)
    built = tuple(_traced(model, plugin.name, made) for plugin in BUILDS for made in plugin.build(shaped))
    findings = [finding for made in built if made.kind != JOBSET for finding in _too_large(model, made)]
    if has_errors(findings):
        return built, findings
    objects, history = (built, ()) if model.options.faithful else passes.shape(model, built)
    before, jobset = jobset_of(built), jobset_of(objects)
    if before is None or jobset is None:
        objects = traced(model, built, objects, history, None)
    else:
        data, refusals = admit_jobset(jobset.data, _Claims(model))
        objects = traced(model, built, with_jobset(objects, data), history, Trail(before.data, history, data))
        jobset = next(made for made in objects if made.kind == JOBSET)
        refusals = tuple(each for each in refusals if model.options.faithful or each.code != UNCHECKED)
        findings += [_refusal(model, jobset, refusal) for refusal in refusals]
        findings += () if refusals else check_objects(model, jobset)
    if model.options.faithful or has_errors(findings):
        return objects, findings
    objects = titled(model, objects)
    return objects, [*findings, *passes.judge(model, objects)]


def _traced(model: Model, plugin: str, made: Object) -> Object:
    """Return an object that a plugin has built, with the origins of its fields."""
    origins = trace_jobset(model, Trail(made.data)) if made.kind == JOBSET else trace_owned(model, plugin)
    return replace(made, origins=origins)


def _too_large(model: Model, made: Object) -> Iterator[Finding]:
    """Yield the finding of a ConfigMap that the API server refuses; upstream's controller then tries for ever."""
    if (refused := oversized(made.data)) is None:
        return
    document, where = blamed(model, made, refused.path)
    hint = None
    if get(model.job.data, *_NODES) is not None:
        document, where, hint = model.job, _NODES, "ask for fewer nodes: the ConfigMap names each of them"
    severity = Severity.WARNING if model.options.faithful else None
    message = f"{made.name}: {refused.message}"
    yield report(refused.code, document, where, message, severity=severity, hint=hint, upstream=refused.upstream)


class _Claims(Mapping[str, Json]):
    """The specs of the PersistentVolumeClaims given in the job's namespace, by name; found when asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getitem__(self, name: str) -> Json:
        return self.model.cluster[_CLAIM, self.model.home, name].data.get("spec")

    def __iter__(self) -> Iterator[str]:
        return (name for kind, place, name in self.model.cluster if kind == _CLAIM and place == self.model.home)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _refusal(model: Model, jobset: Object, refused: Refused) -> Finding:
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
