"""The namespaces that jobs may be in, where trainc.yaml lists them for the AppProject.

Argo CD refuses what the AppProject does not allow; here the pull request is told before.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from trainc.basics.jsonvalues import Path
from trainc.findings import report
from trainc.gitops.base import Pass
from trainc.plugins.model import Findings, Model

CODE: Final = "TC612"
_NAME: Path = ("metadata", "name")


def check(model: Model) -> Findings:
    """Refuse a job in a namespace that argocd.namespaces does not name."""
    settings = model.options.settings
    allowed = settings.argocd.namespaces
    fits = any(fnmatchcase(model.namespace, pattern) for pattern in allowed)
    if settings.target != "argocd" or not allowed or fits:
        return ()
    message = f"namespace {model.namespace} is not among argocd.namespaces of environment {model.options.environment}"
    return (report(CODE, model.job, _NAME, message, found=model.namespace, expected=", ".join(allowed)),)


PASS: Final = Pass("allowed", check=check)
