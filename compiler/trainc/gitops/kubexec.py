"""MPI jobs without ssh: what lets their launcher run kubectl exec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, existing, get, objects, put
from trainc.findings import Finding, report, suggest
from trainc.gitops.base import Pass, environment_origin, jobset_of, origins_of, rights, with_jobset
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.plugins.mpi.transport import ANNOTATIONS, TRANSPORTS, by_kubexec, kubexec_name, sshd_place
from trainc.plugins.origins import report_at
from trainc.upstream import LAUNCHER, NODE, TRAINC, TRANSPORT

# What cannot work, or reaches further than meant, where a launcher runs kubectl exec.

UNKNOWN, SSHD, NO_TOKEN, FURTHER = "TC620", "TC621", "TC622", "TC623"
DEFAULT: Final = "default"


def check(model: Model) -> Findings:
    """Refuse a transport that is none, and one without ssh whose nodes run sshd."""
    annotations = as_object(get(model.runtime.data, *ANNOTATIONS))
    wrong = [(key, value) for key, value in annotations.items() if key.startswith(TRAINC)]
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
    message = f"the pods of job {name!r} have the launcher's account and its token, and may exec into pods, too"
    return report_at(FURTHER, model, jobset, at, message)


# The pods of a JobSet whose launcher runs kubectl exec: who has a token, and where kubectl comes from.

ACCOUNT: Final = "serviceAccountName"
TOKEN: Final = "automountServiceAccountToken"
FOLDER: Final = "/opt/kube"
"""Where the scripts look for kubectl first."""

VOLUME: Final = "mpi-kubectl"
NOBODY: Final = 65534
_JOBS: Final[Path] = ("spec", "replicatedJobs")
_POD: Final[Path] = ("template", "spec", "template", "spec")
_RESOURCES: Final[JsonObject] = {"cpu": "100m", "memory": "128Mi"}
_COPY: Final = f'cp -f "$(command -v kubectl)" {FOLDER}/kubectl && chmod 0555 {FOLDER}/kubectl'
"""-f: where the sandbox of a pod is made anew, init containers run once more over a folder that is there."""


def pods(jobset: JsonObject) -> Iterator[tuple[str, Path, JsonObject]]:
    """Yield name of the replicated job, path and value of every pod's spec."""
    for index, job in enumerate(objects(get(jobset, *_JOBS))):
        yield str(job.get("name")), (*_JOBS, index, *_POD), as_object(get(job, *_POD))


def launcher_place(jobset: JsonObject) -> Path | None:
    """Return the path of the launcher's pod spec, or None."""
    return next((path for name, path, _ in pods(jobset) if name == LAUNCHER), None)


def account_of(jobset: JsonObject) -> str | None:
    """Return the service account that the runtime gives the launcher, or None."""
    for name, _, spec in pods(jobset):
        if name == LAUNCHER:
            return str(spec.get(ACCOUNT) or spec.get("serviceAccount") or "") or None
    return None


def shaped(jobset: JsonObject, account: str, image: str | None) -> JsonObject:
    """Return the JobSet with that account and a token in the launcher's pods, and a token in no others.

    What a pod says itself of its token stays. ``image`` has kubectl, None where the launcher's own has it.
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
    copy: JsonObject = {
        "name": VOLUME,
        "image": image,
        "command": ["/bin/sh", "-c", _COPY],
        "resources": {"requests": {**_RESOURCES}, "limits": {**_RESOURCES}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": NOBODY,
            "runAsGroup": NOBODY,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [mount],
    }
    volume: JsonObject = {"name": VOLUME, "emptyDir": {"sizeLimit": "256Mi"}}
    return {
        **pod,
        "containers": containers,
        "initContainers": [*as_list(pod.get("initContainers")), copy],
        "volumes": [*as_list(pod.get("volumes")), volume],
    }


# The rights of the launcher: to look for pods, and to exec.
#
# kubectl opens the connection by WebSocket, a GET that needs verb get, or by SPDY, which needs create; from Kubernetes
# 1.35 on both need create.

_RULES: Final[list[Json]] = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]},
]


def origin(model: Model) -> Origin:
    """Return what has chosen kubectl exec: the runtime's annotation, or the environment."""
    if get(model.runtime.data, *ANNOTATIONS, TRANSPORT) is not None:
        return Origin("plugin", model.runtime, (*ANNOTATIONS, TRANSPORT), "kubexec")
    return environment_origin("transport", model, "mode")


# The pass that lets mpirun's launcher exec into the nodes, where that is a job's transport (docs/kubexec.md).
#
# The plugin has brought scripts and variables already; this adds what a cluster has to allow. Kubernetes cannot limit
# the right to exec to pods whose names nobody knows yet: it holds for every pod of the namespace.

OPTION: Final = "transport"


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with the launcher's rights, and the token in its pod only."""
    jobset = jobset_of(objects) if by_kubexec(model) else None
    if jobset is None or launcher_place(jobset.data) is None:
        return objects
    own = account_of(jobset.data)
    data = shaped(jobset.data, own or kubexec_name(model), model.options.settings.transport.image or None)
    given = (
        Object(each, lambda: origins_of(model, origin(model)))
        for each in rights(model, kubexec_name(model), _RULES, own)
    )
    return (*with_jobset(objects, data), *given)


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of what the pass brings to pods: kubectl comes from the environment's image."""
    if model.options.settings.transport.image and ("initContainers" in path or "volumes" in path):
        return environment_origin(OPTION, model, "image")
    return origin(model)


PASS: Final = Pass("kubexec", shape, cause, check, judge)
