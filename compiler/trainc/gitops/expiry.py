"""ttlSecondsAfterFinished: a finished JobSet that removes itself is missing, and who syncs git makes it again."""

from __future__ import annotations

from typing import Final

from trainc.basics.jsonvalues import Path, get
from trainc.findings import report
from trainc.gitops.base import Pass, jobset_of
from trainc.inputs.settings import Settings
from trainc.plugins.model import Findings, Model, Objects
from trainc.plugins.origins import blamed

CODE: Final = "TC610"
_TTL: Path = ("spec", "ttlSecondsAfterFinished")


def syncs_by_itself(settings: Settings) -> bool:
    """Tell whether what is missing in the cluster comes back without anybody asking."""
    return settings.target == "flux" or settings.argocd.automated


def judge(model: Model, objects: Objects) -> Findings:
    """Refuse a JobSet that removes itself from a tree that is synced automatically."""
    jobset = jobset_of(objects)
    value = get(jobset.data, *_TTL) if jobset is not None else None
    if jobset is None or value is None or not syncs_by_itself(model.options.settings):
        return ()
    who = "Flux" if model.options.settings.target == "flux" else "Argo CD"
    message = f"the JobSet removes itself {value} s after it has finished, and {who} runs the job again"
    hint = "leave it out" if who == "Flux" else "leave it out, or set argocd.automated: false in trainc.yaml"
    return (report(CODE, *blamed(model, jobset, _TTL), message, found=str(value), hint=hint),)


PASS: Final = Pass("expiry", judge=judge)
