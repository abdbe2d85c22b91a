"""Turns a checked model into objects: plugins build them, GitOps passes complete them, and the JobSet is admitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.admission.companions import oversized
from trainc.admission.crd import UNCHECKED
from trainc.admission.jobset import admit_jobset
from trainc.admission.refused import Refused
from trainc.basics.jsonvalues import Json, Path, dotted, get, objects
from trainc.basics.memo import shared
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
    made, findings = _build(naming.unnamed(model))
    return (made, findings) if has_errors(findings) else _build(naming.named(model, made))


def _build(model: Model) -> tuple[Objects, list[Finding]]:
    faithful = model.options.faithful
    made = tuple(each for _, each in built(shaped(model)))
    made = attributed(model, made if faithful else passes.shape(model, made))
    findings = [finding for each in made for finding in _too_large(model, each)]
    if has_errors(findings):
        return made, findings
    if (jobset := jobset_of(made)) is not None:
        data, refusals = admit_jobset(shared(jobset.data), _claims(model, jobset))
        made = with_jobset(made, data)
        jobset = jobset_of(made)
        assert jobset is not None, "it has other data now"
        refusals = tuple(each for each in refusals if faithful or each.code != UNCHECKED)
        findings += [_refusal(model, jobset, refusal) for refusal in refusals]
        findings += () if refusals else check_objects(model, jobset)
    if faithful or has_errors(findings):
        return made, findings
    made = naming.titled(model, made)
    return made, [*findings, *passes.judge(model, made)]


def _too_large(model: Model, made: Object) -> Iterator[Finding]:
    """Yield the finding of a ConfigMap that the API server refuses; upstream's controller retries for ever."""
    if (refused := oversized(made.data)) is None:
        return
    document, where = blamed(model, made, refused.path)
    hint = None
    if get(model.job.data, *_NODES) is not None:
        document, where, hint = model.job, _NODES, "ask for fewer nodes: the ConfigMap names each of them"
    severity = Severity.WARNING if model.options.faithful else None
    message = f"{made.name}: {refused.message}"
    yield report(refused.code, document, where, message, severity=severity, hint=hint, upstream=refused.upstream)


def _claims(model: Model, jobset: Object) -> Mapping[str, Json]:
    """Return the specs of the PersistentVolumeClaims that exist under the names of the JobSet's claims."""
    policies = objects(get(jobset.data, "spec", "volumeClaimPolicies"))
    templates = [template for policy in policies for template in objects(policy.get("templates"))]
    names = [f"{get(template, 'metadata', 'name') or ''}-{jobset.name}" for template in templates]
    existing = {name: model.cluster.get((_CLAIM, model.home, name)) for name in names}
    return {name: document.data.get("spec") for name, document in existing.items() if document is not None}


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
