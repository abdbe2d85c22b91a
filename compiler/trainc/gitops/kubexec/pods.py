"""The pods of a JobSet whose launcher runs kubectl exec: who has a token, and where kubectl comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from trainc.model import LAUNCHER, NODE
from trainc.source import Json, JsonObject, Path, as_list, as_object, get, objects

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
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod_spec = as_object(pod.get("spec"))
    if job.get("name") == LAUNCHER:
        pod_spec = {TOKEN: True, **pod_spec, ACCOUNT: account}
        pod_spec = pod_spec if image is None else _with_kubectl(pod_spec, image)
    else:
        pod_spec = {TOKEN: False, **pod_spec}
    return {**job, "template": {**template, "spec": {**spec, "template": {**pod, "spec": pod_spec}}}}


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
