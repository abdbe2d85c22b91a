"""Warns about service accounts of pods that do not exist."""

from __future__ import annotations

from typing import Final

from trainc.basics.memo import keeping
from trainc.gitops.base import Pass
from trainc.gitops.pods import pod_specs
from trainc.plugins.model import Findings, Model, Objects
from trainc.plugins.origins import report_at

DEFAULT: Final = "default"
"""The service account that every namespace has."""

_listed: Final = keeping(frozenset)


def check_objects(model: Model, objects: Objects) -> Findings:
    """Warn about service accounts that are not in the objects, the documents or trainc.yaml."""
    listed = _listed(model.options.settings.service_accounts)
    existing = {"", DEFAULT, *(one.name for one in objects if one.kind == "ServiceAccount")}
    found = []
    for obj in objects:
        for path, spec in pod_specs(obj.data):
            field = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"  # its old name
            name = spec.get(field)
            is_known = name in existing or name in listed
            if isinstance(name, str) and not is_known and model.in_cluster("v1/ServiceAccount", name) is None:
                message = f"service account {name!r} not found"
                found.append(report_at("TC604", model, obj, (*path, field), message, found=name))
    return tuple(dict.fromkeys(found))


PASS: Final = Pass("service_accounts", check_objects=check_objects)
