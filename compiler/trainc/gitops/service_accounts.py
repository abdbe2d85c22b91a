"""Warns about service accounts of pods that do not exist."""

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


def check_objects(model: Model, objects: Objects) -> Findings:
    """Warn about service accounts that are not in the objects, the documents or trainc.yaml."""
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
    if any((ACCOUNT, each, name) in model.cluster for each in (model.home, model.namespace)):
        return True
    beside = model.cluster.get((ACCOUNT, "default", name))  # of the runtime's file, without a namespace
    return beside is not None and beside.source == model.runtime.source


def still_unknown(findings: Iterable[Finding], namespace: str, companions: Iterable[Object]) -> tuple[Finding, ...]:
    """Return the findings of a job without those on accounts that companions create in its namespace."""
    findings = tuple(findings)
    if all(finding.code != CODE for finding in findings):
        return findings
    names = {one.name for one in companions if one.kind == KIND and get(one.data, "metadata", "namespace") == namespace}
    return tuple(finding for finding in findings if finding.code != CODE or finding.found not in names)


def _finding(model: Model, obj: Object, path: Path, name: str) -> Finding:
    return report_at(CODE, model, obj, path, f"service account {name!r} not found", found=name)


PASS: Final = Pass("service_accounts", check_objects=check_objects)
