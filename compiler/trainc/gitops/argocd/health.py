"""Health checks for argocd-cm. Argo CD has none for JobSet and TrainJob: a job that failed would look Healthy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainc.data import load_text
from trainc.source import JsonObject

CHECKS: Final[Mapping[str, str]] = {"jobset.x-k8s.io_JobSet": "jobset", "trainer.kubeflow.org_TrainJob": "trainjob"}
"""Group and kind, as Argo CD's key has them, to the name of the script."""


def health_checks(namespace: str) -> JsonObject:
    """Return the part of ConfigMap argocd-cm that holds the checks, to be merged into Argo CD's in ``namespace``."""
    data: JsonObject = {
        f"resource.customizations.health.{kind}": load_text(f"argocd/{name}.lua") for kind, name in CHECKS.items()
    }
    metadata: JsonObject = {
        "name": "argocd-cm",
        "namespace": namespace,
        # Argo CD reads no ConfigMap without this label, and an Application that once held the part must not remove
        # the whole.
        "labels": {"app.kubernetes.io/part-of": "argocd"},
        "annotations": {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false,ServerSideApply=true"},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
