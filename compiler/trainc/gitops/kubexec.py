"""MPI jobs without ssh: the rights and the pods of a launcher that runs kubectl exec."""

from __future__ import annotations

from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, existing, get, objects, put
from trainc.findings import Finding, report, suggest
from trainc.gitops.base import (
    NOBODY,
    Pass,
    environment_origin,
    jobset_of,
    origins_of,
    rights,
    small_container,
    user_context,
    with_jobset,
)
from trainc.gitops.pods import replicated_pods
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.plugins.mpi.transport import ANNOTATIONS, TRANSPORTS, by_kubexec, kubexec_name, sshd_path
from trainc.plugins.origins import report_at
from trainc.upstream import LAUNCHER, NODE, TRAINC, TRANSPORT

# Settings that prevent kubectl exec, or allow it to more pods than intended.

UNKNOWN, SSHD, NO_TOKEN, FURTHER = "TC620", "TC621", "TC622", "TC623"
DEFAULT: Final = "default"


def check(model: Model) -> Findings:
    """Refuse an unknown transport, and kubexec for nodes that run sshd."""
    annotations = as_object(get(model.runtime.data, *ANNOTATIONS))
    wrong = [(key, value) for key, value in annotations.items() if key.startswith(TRAINC)]
    found = [_unknown(model, key, value) for key, value in wrong if key != TRANSPORT or value not in TRANSPORTS]
    if not found and TRANSPORT in annotations and not model.uses("mpi"):
        message = f"{TRANSPORT} is for runtimes with mlPolicy.mpi"
        found.append(report(UNKNOWN, model.runtime, (*ANNOTATIONS, TRANSPORT), message))
    path = sshd_path(model) if by_kubexec(model) else None
    return tuple(found) if path is None else (*found, _sshd(model, path, annotations))


def _unknown(model: Model, key: str, value: Json) -> Finding:
    path: Path = (*ANNOTATIONS, key)
    if key != TRANSPORT:
        hint = suggest(key, (TRANSPORT,))
        return report(UNKNOWN, model.runtime, path, f"unknown annotation {key!r}", hint=hint)
    expected = " or ".join(TRANSPORTS)
    return report(UNKNOWN, model.runtime, path, "unknown transport", found=str(value), expected=expected)


def _sshd(model: Model, path: Path, annotations: dict[str, Json]) -> Finding:
    whose = "the runtime's annotation" if TRANSPORT in annotations else "trainc.yaml"
    path = existing(model.runtime.data, ("spec", "template", *path))
    return report(SSHD, model.runtime, path, f"job 'node' runs sshd, but {whose} sets transport kubexec")


def check_objects(model: Model, objects: Objects) -> Findings:
    """Refuse a launcher without a token, and warn about other pods with its rights."""
    jobset = jobset_of(objects) if by_kubexec(model) else None
    account = account_of(jobset.data) if jobset is not None else None
    if jobset is None or account is None:
        return ()
    found = [_of_pod(model, jobset, name, path, account) for name, path, _ in replicated_pods(jobset.data)]
    if account == DEFAULT:
        path = next(path for name, path, _ in replicated_pods(jobset.data) if name == LAUNCHER)
        message = (
            "the launcher has the default service account, so every pod without a service account may exec into pods"
        )
        found.append(report_at(FURTHER, model, jobset, (*path, ACCOUNT), message, found=account))
    return tuple(finding for finding in found if finding is not None)


def _of_pod(model: Model, jobset: Object, name: str, path: Path, account: str) -> Finding | None:
    spec = as_object(get(jobset.data, *path))
    token, at = spec.get(TOKEN), (*path, TOKEN)
    if name == LAUNCHER:
        message = "the launcher needs the token of its service account to run kubectl"
        return report_at(NO_TOKEN, model, jobset, at, message) if token is False else None
    if token is False or (spec.get(ACCOUNT) or DEFAULT) != account:
        return None
    message = f"the pods of job {name!r} have the launcher's service account and its token, so they may exec into pods"
    return report_at(FURTHER, model, jobset, at, message)


# The pods of the JobSet: tokens, and kubectl.

ACCOUNT: Final = "serviceAccountName"
TOKEN: Final = "automountServiceAccountToken"
FOLDER: Final = "/opt/kube"
"""The folder in which the scripts look for kubectl first."""

VOLUME: Final = "mpi-kubectl"
_JOBS: Final[Path] = ("spec", "replicatedJobs")
_POD: Final[Path] = ("template", "spec", "template", "spec")
_COPY: Final = f'cp -f "$(command -v kubectl)" {FOLDER}/kubectl && chmod 0555 {FOLDER}/kubectl'
"""-f: if the sandbox of a pod is created again, init containers run again with the existing folder."""


def launcher_path(jobset: JsonObject) -> Path | None:
    """Return the path of the launcher's pod spec, or None."""
    return next((path for name, path, _ in replicated_pods(jobset) if name == LAUNCHER), None)


def account_of(jobset: JsonObject) -> str | None:
    """Return the launcher's service account in the runtime, or None."""
    for name, _, spec in replicated_pods(jobset):
        if name == LAUNCHER:
            return str(spec.get(ACCOUNT) or spec.get("serviceAccount") or "") or None
    return None


def shaped(jobset: JsonObject, account: str, image: str | None) -> JsonObject:
    """Return the JobSet with a service account and its token in the launcher's pods, and no token in others.

    Pods keep their own setting of the token. ``image`` contains kubectl; None if the launcher's image does.
    """
    jobs: list[Json] = [_job(job, account, image) for job in objects(get(jobset, *_JOBS))]
    return {**jobset, "spec": {**as_object(jobset["spec"]), "replicatedJobs": jobs}}


def _job(job: JsonObject, account: str, image: str | None) -> JsonObject:
    pod_spec = as_object(get(job, *_POD))
    if job.get("name") == LAUNCHER:
        pod_spec = {TOKEN: True, **pod_spec, ACCOUNT: account}
        pod_spec = pod_spec if image is None else _with_kubectl(pod_spec, image)
    else:
        pod_spec = {TOKEN: False, **pod_spec}
    return put(job, _POD, pod_spec)


def _with_kubectl(pod: JsonObject, image: str) -> JsonObject:
    """Return the launcher's pod with an init container that copies kubectl to a folder of container node."""
    mount: JsonObject = {"name": VOLUME, "mountPath": FOLDER}
    containers: list[Json] = [
        {**container, "volumeMounts": [*as_list(container.get("volumeMounts")), {**mount, "readOnly": True}]}
        if container.get("name") == NODE
        else container
        for container in objects(pod.get("containers"))
    ]
    copy = small_container(VOLUME, image, ["/bin/sh", "-c", _COPY], [mount])
    copy["securityContext"] = {**as_object(copy["securityContext"]), **user_context(NOBODY)}
    volume: JsonObject = {"name": VOLUME, "emptyDir": {"sizeLimit": "256Mi"}}
    return {
        **pod,
        "containers": containers,
        "initContainers": [*as_list(pod.get("initContainers")), copy],
        "volumes": [*as_list(pod.get("volumes")), volume],
    }


# The rights of the launcher: to list pods, and to exec.
#
# kubectl opens the connection by WebSocket, a GET that needs verb get, or by SPDY, which needs create; from Kubernetes
# 1.35 on both need create.

_RULES: Final[list[Json]] = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]},
]


def origin(model: Model) -> Origin:
    """Return the origin of the transport: the runtime's annotation, or the environment."""
    if get(model.runtime.data, *ANNOTATIONS, TRANSPORT) is not None:
        return Origin("plugin", model.runtime, (*ANNOTATIONS, TRANSPORT), "kubexec")
    return environment_origin("transport", model, "mode")


# The pass that allows the launcher to exec into the nodes, for jobs with this transport (docs/kubexec.md).
#
# The plugin adds scripts and variables, the pass the rights. Kubernetes cannot limit exec to pods whose names are not
# yet known, so the launcher may exec into every pod of the namespace.

OPTION: Final = "transport"


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with the launcher's rights, and with the token only in its pods."""
    jobset = jobset_of(objects) if by_kubexec(model) else None
    if jobset is None or launcher_path(jobset.data) is None:
        return objects
    account = account_of(jobset.data)
    data = shaped(jobset.data, account or kubexec_name(model), model.options.settings.transport.image or None)
    added = (
        Object(each, lambda: origins_of(model, origin(model)))
        for each in rights(model, kubexec_name(model), _RULES, account)
    )
    return (*with_jobset(objects, data), *added)


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of additions to pods: for kubectl, the environment's image."""
    if model.options.settings.transport.image and ("initContainers" in path or "volumes" in path):
        return environment_origin(OPTION, model, "image")
    return origin(model)


PASS: Final = Pass("kubexec", shape, cause, check, check_objects)
