"""MPI jobs without ssh: the rights and the pods of a launcher that runs kubectl exec."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, existing, get, objects, put
from trainc.findings import Finding, report, suggest
from trainc.gitops.base import (
    NOBODY,
    Pass,
    jobset_of,
    labels_without_effect,
    option_origin,
    origins_of,
    rights,
    small_container,
    user_context,
    with_jobset,
)
from trainc.gitops.pods import replicated_pods
from trainc.plugins.base import POD_SPEC
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.plugins.mpi.implementations import HOSTFILE_DIRECTORY
from trainc.plugins.mpi.transport import ANNOTATIONS, KUBEXEC_VOLUME, TRANSPORTS, by_kubexec, kubexec_name, sshd_path
from trainc.plugins.origins import report_at
from trainc.upstream import DESCRIPTION, LAUNCHER, NODE, TRAINC, TRANSPORT

# Settings that prevent kubectl exec, or allow it to more pods than intended.

UNKNOWN, SSHD, NO_TOKEN, FURTHER = "TC620", "TC621", "TC622", "TC623"
DEFAULT: Final = "default"


def check(model: Model) -> Iterator[Finding]:
    """Refuse an unknown transport, and kubexec for nodes that run sshd."""
    annotations = as_object(get(model.runtime.data, *ANNOTATIONS))
    for key, value in annotations.items():
        path: Path = (*ANNOTATIONS, key)
        if key.startswith(TRAINC) and key not in (TRANSPORT, DESCRIPTION):
            hint = suggest(key, (TRANSPORT, DESCRIPTION), by_words=True)
            yield report(UNKNOWN, model.runtime, path, f"unknown annotation {key!r}", hint=hint)
        elif key == TRANSPORT and value not in TRANSPORTS:
            expected = " or ".join(TRANSPORTS)
            yield report(UNKNOWN, model.runtime, path, "unknown transport", found=str(value), expected=expected)
        elif key == TRANSPORT and not model.uses("mpi"):
            yield report(UNKNOWN, model.runtime, path, f"{TRANSPORT} is for runtimes with mlPolicy.mpi")
    yield from labels_without_effect(model.runtime, UNKNOWN, TRANSPORT)
    if by_kubexec(model):
        yield from _hidden(model)
    sshd = sshd_path(model) if by_kubexec(model) else None
    if sshd is not None:
        source = "the runtime's annotation" if TRANSPORT in annotations else "trainc.yaml"
        path = existing(model.runtime.data, ("spec", "template", *sshd))
        yield report(SSHD, model.runtime, path, f"job 'node' runs sshd, but {source} sets transport kubexec")


def _hidden(model: Model) -> Iterator[Finding]:
    """Refuse a volume or mount of the runtime that the one with the scripts would replace."""
    for number, job in enumerate(model.jobs):
        pod = as_object(get(job, *POD_SPEC) if job.get("name") in (NODE, LAUNCHER) else None)
        volumes = enumerate(objects(pod.get("volumes")))
        found: list[Path] = [("volumes", i) for i, volume in volumes if volume.get("name") == KUBEXEC_VOLUME]
        for index, container in enumerate(objects(pod.get("containers"))):
            mounts = enumerate(objects(container.get("volumeMounts")) if container.get("name") == NODE else ())
            at_folder = (i for i, mount in mounts if str(mount.get("mountPath")).rstrip("/") == HOSTFILE_DIRECTORY)
            found += (("containers", index, "volumeMounts", i) for i in at_folder)
        for inside in found:
            path = ("spec", "template", "spec", "replicatedJobs", number, *POD_SPEC, *inside)
            message = f"transport kubexec replaces this: it mounts volume {KUBEXEC_VOLUME} at {HOSTFILE_DIRECTORY}"
            hint = f"choose another {'name' if inside[0] == 'volumes' else 'folder'}"
            yield report("TC806", model.runtime, existing(model.runtime.data, path), message, hint=hint)


def check_objects(model: Model, objects: Objects) -> Iterator[Finding]:
    """Refuse a launcher without a token, and warn about other pods with its rights."""
    if (found := _launcher(model, objects)) is None:
        return
    jobset, launcher_path, launcher = found
    account = account_of(launcher) or DEFAULT
    for name, path, spec in replicated_pods(jobset.data):
        if name == LAUNCHER and spec.get(TOKEN) is False:
            message = "the launcher needs the token of its service account to run kubectl"
            yield report_at(NO_TOKEN, model, jobset, (*path, TOKEN), message)
        elif name != LAUNCHER and (token := _token(spec)) and (account_of(spec) or DEFAULT) == account:
            message = f"the pods of job {name!r} have the launcher's service account and its token"
            yield report_at(FURTHER, model, jobset, (*path, *token), f"{message}, so they may exec into pods")
    if account == DEFAULT:
        message = "the launcher has the default service account"
        message = f"{message}, so every pod without a service account may exec into pods"
        yield report_at(FURTHER, model, jobset, (*launcher_path, ACCOUNT), message, found=account)


# The pods of the JobSet: tokens, and kubectl.

ACCOUNT: Final = "serviceAccountName"
TOKEN: Final = "automountServiceAccountToken"
FOLDER: Final = "/opt/kube"
"""The folder in which the scripts look for kubectl first."""

VOLUME: Final = "mpi-kubectl"
_COPY: Final = f'cp -f "$(command -v kubectl)" {FOLDER}/kubectl && chmod 0555 {FOLDER}/kubectl'
"""-f: if the sandbox of a pod is created again, init containers run again with the existing folder."""


def _launcher(model: Model, objects: Objects) -> tuple[Object, Path, JsonObject] | None:
    """Return the JobSet of a job with this transport, and path and value of its launcher's pod spec, or None."""
    if not by_kubexec(model) or (jobset := jobset_of(objects)) is None:
        return None
    return next(((jobset, path, pod) for name, path, pod in replicated_pods(jobset.data) if name == LAUNCHER), None)


def account_of(pod: JsonObject) -> str | None:
    """Return the service account in a pod spec, or None."""
    return str(pod.get(ACCOUNT) or pod.get("serviceAccount") or "") or None


def _token(pod: JsonObject) -> Path:
    """Return the field that brings a pod the token of its account; () if none does."""
    if pod.get(TOKEN) is not False:
        return (TOKEN,)
    volumes = enumerate(objects(pod.get("volumes")))
    sources = ((index, source) for index, volume in volumes for source in objects(get(volume, "projected", "sources")))
    return next((("volumes", index) for index, source in sources if "serviceAccountToken" in source), ())


def with_token(jobset: JsonObject, account: str, image: str | None) -> JsonObject:
    """Return the JobSet with a service account and its token in the launcher's pods, and no token in others.

    Pods keep their own setting of the token. ``image`` contains kubectl; None if the launcher's image does.
    """
    for name, path, spec in replicated_pods(jobset):
        if name == LAUNCHER:
            changed = {TOKEN: True, **spec, ACCOUNT: account}
            changed = changed if image is None else _with_kubectl(changed, image)
        else:
            changed = {TOKEN: False, **spec}
        jobset = put(jobset, path, changed)
    return jobset


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
    return option_origin(model.options, "transport", "mode")


# The pass that allows the launcher to exec into the nodes, for jobs with this transport (docs/kubexec.md).
#
# The plugin adds scripts and variables, the pass the rights. Kubernetes cannot limit exec to pods whose names are not
# yet known, so the launcher may exec into every pod of the namespace.


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with the launcher's rights, and with the token only in its pods."""
    if (found := _launcher(model, objects)) is None:
        return objects
    jobset, _, launcher = found
    account = account_of(launcher)
    data = with_token(jobset.data, account or kubexec_name(model), model.options.settings.transport.image or None)
    added = (
        Object(each, lambda: origins_of(model, origin(model)))
        for each in rights(model, kubexec_name(model), _RULES, account)
    )
    return (*with_jobset(objects, data), *added)


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of additions to pods: for kubectl, the environment's image."""
    if model.options.settings.transport.image and ("initContainers" in path or "volumes" in path):
        return option_origin(model.options, "transport", "image")
    return origin(model)


def _as_patched(model: Model, objects: Objects) -> Objects:
    """Return the objects with the rights of the account that the launcher has after the environment's patches."""
    found = _launcher(model, objects) if model.options.settings.patches else None
    if found is None:
        return objects
    account, path = account_of(found[2]) or DEFAULT, ("subjects", 0, "name")
    own = ("RoleBinding", kubexec_name(model))
    return tuple(replace(o, data=put(o.data, path, account)) if (o.kind, o.name) == own else o for o in objects)


PASS: Final = Pass("kubexec", shape, cause, check, check_objects)
PATCHED: Final = Pass("kubexec", _as_patched, lambda model, *_: option_origin(model.options, "patches"))
