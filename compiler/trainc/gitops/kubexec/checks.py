"""What cannot work, or reaches further than meant, where a launcher runs kubectl exec."""

from __future__ import annotations

from typing import Final

from trainc.findings import Finding, report, suggest
from trainc.gitops.base import jobset_of
from trainc.gitops.kubexec.pods import ACCOUNT, TOKEN, account_of, pods
from trainc.model import LAUNCHER, Findings, Model, Object, Objects
from trainc.origins import blamed
from trainc.plugins.mpi.transport import ANNOTATIONS, OWN, TRANSPORT, TRANSPORTS, by_kubexec, sshd_place
from trainc.source import Json, Path, as_object, existing, get

UNKNOWN, SSHD, NO_TOKEN, FURTHER = "TC620", "TC621", "TC622", "TC623"
DEFAULT: Final = "default"


def check(model: Model) -> Findings:
    """Refuse a transport that is none, and one without ssh whose nodes run sshd."""
    annotations = as_object(get(model.runtime.data, *ANNOTATIONS))
    wrong = [(key, value) for key, value in annotations.items() if key.startswith(OWN)]
    found = [_unknown(model, key, value) for key, value in wrong if key != TRANSPORT or value not in TRANSPORTS]
    if not found and TRANSPORT in annotations and model.policy("mpi") is None:
        message = f"{TRANSPORT} is for runtimes with mlPolicy.mpi"
        found.append(report(UNKNOWN, model.runtime, (*ANNOTATIONS, TRANSPORT), message))
    place = sshd_place(model) if by_kubexec(model) else None
    return tuple(found) if place is None else (*found, _sshd(model, place, annotations))


def _unknown(model: Model, key: str, value: Json) -> Finding:
    path: Path = (*ANNOTATIONS, key)
    if key != TRANSPORT:
        hint = suggest(key, (TRANSPORT,))
        return report(UNKNOWN, model.runtime, path, f"trainc has no annotation {key!r} of runtimes", hint=hint)
    expected = " or ".join(TRANSPORTS)
    return report(UNKNOWN, model.runtime, path, "unknown transport", found=str(value), expected=expected)


def _sshd(model: Model, place: Path, annotations: dict[str, Json]) -> Finding:
    whose = "the runtime's annotation" if TRANSPORT in annotations else "trainc.yaml"
    path = existing(model.runtime.data, ("spec", "template", *place))
    return report(SSHD, model.runtime, path, f"job 'node' runs sshd, but {whose} says transport kubexec")


def judge(model: Model, objects: Objects) -> Findings:
    """Refuse a launcher without a token, and warn of others that the rights reach."""
    jobset = jobset_of(objects) if by_kubexec(model) else None
    account = account_of(jobset.data) if jobset is not None else None
    if jobset is None or account is None:
        return ()
    found = [_of_pod(model, jobset, name, path, account) for name, path, _ in pods(jobset.data)]
    if account == DEFAULT:
        path = next(path for name, path, _ in pods(jobset.data) if name == LAUNCHER)
        message = "the launcher's account is that of every pod which names none: all of them may exec into pods"
        found.append(report(FURTHER, *blamed(model, jobset, (*path, ACCOUNT)), message, found=account))
    return tuple(finding for finding in found if finding is not None)


def _of_pod(model: Model, jobset: Object, name: str, path: Path, account: str) -> Finding | None:
    spec = as_object(get(jobset.data, *path))
    token, at = spec.get(TOKEN), (*path, TOKEN)
    if name == LAUNCHER:
        message = "the launcher needs the token of its service account to run kubectl"
        return report(NO_TOKEN, *blamed(model, jobset, at), message) if token is False else None
    if token is False or (spec.get(ACCOUNT) or DEFAULT) != account:
        return None
    message = f"the pods of job {name!r} have the launcher's account and its token, and may exec into pods, too"
    return report(FURTHER, *blamed(model, jobset, at), message)
