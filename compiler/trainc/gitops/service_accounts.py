"""Service accounts that pods name: whether anything creates them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trainc.basics.jsonvalues import Path, get
from trainc.findings import Finding
from trainc.gitops.base import Pass
from trainc.gitops.pods import pod_specs
from trainc.plugins.model import Findings, Model, Object, Objects
from trainc.plugins.origins import report_at

DEFAULT: Final = "default"
"""The service account that every namespace has."""

CODE: Final = "TC604"
KIND: Final = "ServiceAccount"
ACCOUNT: Final = f"v1/{KIND}"


def judge(model: Model, objects: Objects) -> Findings:
    """Warn about service accounts that neither trainc, nor a document, nor trainc.yaml knows."""
    found = []
    for obj in objects:
        for path, spec in pod_specs(obj.data):
            name = spec.get("serviceAccountName")
            if isinstance(name, str) and name not in ("", DEFAULT) and not _is_known(model, objects, name):
                found.append(_finding(model, obj, (*path, "serviceAccountName"), name))
    return tuple(dict.fromkeys(found))


def _is_known(model: Model, objects: Objects, name: str) -> bool:
    if name in model.options.settings.service_accounts:
        return True
    if any(one.kind == KIND and one.name == name for one in objects):
        return True
    if any((ACCOUNT, place, name) in model.cluster for place in (model.home, model.namespace)):
        return True
    beside = model.cluster.get((ACCOUNT, "default", name))  # of the runtime's file, without a namespace
    return beside is not None and beside.source == model.runtime.source


def still_unknown(findings: Iterable[Finding], namespace: str, companions: Iterable[Object]) -> tuple[Finding, ...]:
    """Return the findings of a job without those about accounts that a runtime in use brings to its namespace."""
    findings = tuple(findings)
    if all(finding.code != CODE for finding in findings):
        return findings
    names = {one.name for one in companions if one.kind == KIND and get(one.data, "metadata", "namespace") == namespace}
    return tuple(finding for finding in findings if finding.code != CODE or finding.found not in names)


def _finding(model: Model, obj: Object, path: Path, name: str) -> Finding:
    return report_at(CODE, model, obj, path, f"service account {name!r} is made by nothing here", found=name)


PASS: Final = Pass("service_accounts", judge=judge)
