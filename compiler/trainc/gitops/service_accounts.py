"""Warns about service accounts of pods that do not exist."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trainc.basics.jsonvalues import get
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
    existing = {"", DEFAULT, *model.options.settings.service_accounts}
    existing |= {one.name for one in objects if one.kind == KIND}
    found = []
    for obj in objects:
        for path, spec in pod_specs(obj.data):
            name = spec.get("serviceAccountName")
            if isinstance(name, str) and name not in existing and not _in_documents(model, name):
                message = f"service account {name!r} not found"
                found.append(report_at(CODE, model, obj, (*path, "serviceAccountName"), message, found=name))
    return tuple(dict.fromkeys(found))


def _in_documents(model: Model, name: str) -> bool:
    if any((ACCOUNT, each, name) in model.cluster for each in (model.home, model.namespace)):
        return True
    beside = model.cluster.get((ACCOUNT, "default", name))  # in the runtime's file, without a namespace
    return beside is not None and beside.source == model.runtime.source


def still_unknown(findings: Iterable[Finding], namespace: str, companions: Iterable[Object]) -> tuple[Finding, ...]:
    """Return the findings of a job without those on accounts that companions create in its namespace."""
    findings = tuple(findings)
    if all(finding.code != CODE for finding in findings):
        return findings
    names = {one.name for one in companions if one.kind == KIND and get(one.data, "metadata", "namespace") == namespace}
    return tuple(finding for finding in findings if finding.code != CODE or finding.found not in names)


PASS: Final = Pass("service_accounts", check_objects=check_objects)
