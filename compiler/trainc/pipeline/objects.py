"""Turns a checked model into objects: plugins build them, GitOps passes complete them, and the JobSet is admitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from trainc.admission.crd import UNCHECKED
from trainc.admission.failure_patterns import excess
from trainc.admission.jobset import admit_jobset, name_limit
from trainc.admission.native import CLAIM_DEFAULTS, oversized
from trainc.basics.jsonvalues import Json, as_object, dotted, get
from trainc.checks import check_objects
from trainc.checks.jobs import NUM_NODES, check_jobs
from trainc.findings import Finding, report
from trainc.findings.reporting import Fault, report_fault
from trainc.gitops import naming, passes
from trainc.gitops.base import jobset_of, name_path, with_jobset
from trainc.gitops.pods import claim_templates
from trainc.pipeline.controller import check_existing
from trainc.plugins import built, shaped
from trainc.plugins.model import Model, Object, Objects
from trainc.plugins.origins import source_of
from trainc.provenance.origins import with_origins

_NAME_TOO_LONG = "TC802"
_CLAIM = "v1/PersistentVolumeClaim"


Stops = Callable[[Iterable[Finding]], bool]
"""Returns whether findings include an error that is reported: comments and trainc.yaml may silence some."""


def build(model: Model, stops: Stops) -> tuple[Objects, list[Finding]]:
    """Return the objects of a checked model as the cluster would store them, and findings on them.

    Names with a hash of the content take two rounds: the first, with the plain name, computes the content.
    """
    if naming.uses_content_hash(model):
        objs, findings = _build(naming.without_jobset(model), stops)
        if stops(findings):
            return objs, findings
        model = naming.named(model, objs)
    objs, findings = _build(model, stops)
    return objs, [*check_existing(model), *findings]


def _build(model: Model, stops: Stops) -> tuple[Objects, list[Finding]]:
    faithful = model.options.faithful
    objs = tuple(obj for _, obj in built(shaped(model)))
    objs = with_origins(model, objs if faithful else passes.shape(model, objs))
    findings = [finding for obj in objs if obj.kind != "JobSet" for finding in _too_large(model, obj)]
    if stops(findings):
        return objs, findings
    if (jobset := jobset_of(objs)) is not None:
        data, refusals = admit_jobset(jobset.data, _claims(model, jobset))
        objs = with_jobset(objs, data)
        jobset = jobset_of(objs)
        assert jobset is not None, "only its data was replaced"
        if not faithful:
            # Without rules that are not checked, and with one of the names that the JobSet's name makes too long.
            too_long = [each for each in refusals if each.code == _NAME_TOO_LONG]
            refusals = tuple(each for each in refusals if each.code != UNCHECKED and each not in too_long[:-1])
        findings += [*_too_large(model, jobset), *(_refusal(model, jobset, refusal) for refusal in refusals)]
        findings += () if refusals else check_objects(model, jobset)
    if faithful or stops(findings):
        return objs, findings
    objs = naming.with_titles(model, objs)
    findings += passes.check_objects(model, objs)
    if not stops(findings):  # else a patch may have set fields of the wrong type
        findings += (finding for obj in objs if obj.kind == "Job" for finding in check_jobs(model, obj))
    return objs, findings


def _too_large(model: Model, obj: Object) -> Iterator[Finding]:
    """Yield the finding on an object that is too large for the API server; upstream's controller retries forever.

    So is a JobSet whose patterns keep JobSet's controller busy.
    """
    refused = oversized(obj.data) or (excess(obj.data) if obj.kind == "JobSet" else None)
    if refused is None or (model.options.faithful and not refused.upstream):
        return
    refused = replace(refused, message=f"{obj.name}: {refused.message}")
    if obj.kind == "ConfigMap" and get(model.job.data, *NUM_NODES) is not None:
        document, where = model.job, NUM_NODES
        refused = replace(refused, hint="reduce numNodes: the ConfigMap lists every node")
    else:
        document, where = source_of(model, obj, refused.path)
    yield report_fault(refused, document, where, severity=model.severity)


def _claims(model: Model, jobset: Object) -> Mapping[str, Json]:
    """Return the specs of existing PersistentVolumeClaims with the names of the JobSet's claims, as stored."""
    templates = claim_templates(jobset.data)
    names = [f"{get(template, 'metadata', 'name') or ''}-{jobset.name}" for _, _, template in templates]
    existing = {name: model.in_cluster(_CLAIM, name) for name in names}
    defaults = {} if model.options.faithful else CLAIM_DEFAULTS
    specs = {name: as_object(document.data.get("spec")) for name, document in existing.items() if document is not None}
    return {name: {**defaults, **spec} for name, spec in specs.items()}


def _refusal(model: Model, jobset: Object, refused: Fault) -> Finding:
    """Return the finding on a refused JobSet, at its source."""
    is_name = refused.code == _NAME_TOO_LONG
    document, path = (model.job, name_path(model)) if is_name else source_of(model, jobset, refused.path)
    field, text = dotted(refused.path), refused.message
    parent = dotted(refused.path[:-1])  # messages on keys start with the field that contains them
    finding = report(
        refused.code,
        document,
        path,
        f"the JobSet is refused: {text if text.startswith((field, f'{parent} ')) else f'{field}: {text}'}",
        expected=refused.expected,
        hint=refused.hint,
        stage=refused.stage,
        upstream=refused.upstream,
    )
    if not is_name:
        return finding
    most, longest = name_limit(jobset.data)
    most -= naming.added_characters(model)
    limit = f"the {longest} is limited to 63"
    if most < 1:
        return replace(finding, hint=f"shorten the name of the replicated job: {limit}")
    hint, expected = f"use at most {most} characters: {limit}", f"at most {most} characters"
    return replace(finding, found=f"{len(model.title)} characters", expected=expected, hint=hint)
