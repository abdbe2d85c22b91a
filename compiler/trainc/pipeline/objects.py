"""Turns a checked model into objects: plugins build them, GitOps passes complete them, and the JobSet is admitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.admission.configmaps import CODE as TOO_LARGE
from trainc.admission.configmaps import UPSTREAM, message, oversized
from trainc.admission.crd import UNCHECKED
from trainc.admission.generated import Refused, admit_jobset
from trainc.basics.jsonvalues import Json, Path, dotted, get
from trainc.checks import check_objects
from trainc.findings import Finding, Severity, has_errors, report
from trainc.gitops import naming, passes
from trainc.gitops.base import jobset_of, name_place, with_jobset
from trainc.plugins import built, shaped
from trainc.plugins.model import Model, Object, Objects
from trainc.plugins.origins import blamed
from trainc.provenance.trace import attributed

_NODES: Path = ("spec", "trainer", "numNodes")
_CLAIM = "v1/PersistentVolumeClaim"


def build(model: Model) -> tuple[Objects, list[Finding]]:
    """Return the objects of a checked model as the cluster would hold them, and what refuses them.

    Names by content take two rounds: the first, under the plain name, gives the content.
    """
    if not naming.is_by_content(model):
        return _build(model)
    objects, findings = _build(naming.unnamed(model))
    return (objects, findings) if has_errors(findings) else _build(naming.named(model, objects))


def _build(model: Model) -> tuple[Objects, list[Finding]]:
    faithful = model.options.faithful
    objects = tuple(made for _, made in built(shaped(model)))
    objects = attributed(model, objects if faithful else passes.shape(model, objects))
    findings = [finding for made in objects for finding in _too_large(model, made)]
    if has_errors(findings):
        return objects, findings
    if (jobset := jobset_of(objects)) is not None:
        data, refusals = admit_jobset(jobset.data, _claims(model, jobset))
        objects = with_jobset(objects, data)
        jobset = jobset_of(objects)
        assert jobset is not None, "it has other data now"
        refusals = tuple(each for each in refusals if faithful or each.code != UNCHECKED)
        findings += [_refusal(model, jobset, refusal) for refusal in refusals]
        findings += () if refusals else check_objects(model, jobset)
    if faithful or has_errors(findings):
        return objects, findings
    objects = naming.titled(model, objects)
    return objects, [*findings, *passes.judge(model, objects)]


def _too_large(model: Model, made: Object) -> Iterator[Finding]:
    """Yield the finding of a ConfigMap that the API server refuses; upstream's controller retries for ever."""
    if (size := oversized(made.data)) is None:
        return
    total, path = size
    document, where = blamed(model, made, path)
    hint = None
    if get(model.job.data, *_NODES) is not None:
        document, where, hint = model.job, _NODES, "ask for fewer nodes: the ConfigMap names each of them"
    severity = Severity.WARNING if model.options.faithful else None
    text = f"{made.name}: {message(total)}"
    yield report(TOO_LARGE, document, where, text, severity=severity, hint=hint, upstream=UPSTREAM)


def _claims(model: Model, jobset: Object) -> Mapping[str, Json]:
    """Return the specs of the PersistentVolumeClaims in the job's namespace, by name, if the JobSet has any."""
    if get(jobset.data, "spec", "volumeClaimPolicies") is None:
        return {}
    keys = [key for key in model.cluster if key[:2] == (_CLAIM, model.home)]
    return {key[2]: model.cluster[key].data.get("spec") for key in keys}


def _refusal(model: Model, jobset: Object, refused: Refused) -> Finding:
    """Return the finding of a refused JobSet, at the line that caused it."""
    is_name = refused.code == "TC802"
    document, path = (model.job, name_place(model)) if is_name else blamed(model, jobset, refused.path)
    place, text = dotted(refused.path), refused.message
    parent = dotted(refused.path[:-1])  # of a key, which is named apart
    return report(
        refused.code,
        document,
        path,
        f"the JobSet is refused: {text if text.startswith((place, f'{parent} ')) else f'{place}: {text}'}",
        found=jobset.name if is_name and jobset.name != model.title else None,
        expected=refused.expected,
        hint=refused.hint,
        stage=refused.stage,
        upstream=refused.upstream,
    )
