"""SSH keys of MPI jobs, which are created once, in the cluster, and never stored in git."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.data import load_text
from trainc.findings import Finding
from trainc.gitops.base import (
    NOBODY,
    Pass,
    jobset_of,
    option_origin,
    origins_of,
    rights,
    small_container,
    user_context,
    with_jobset,
)
from trainc.gitops.pods import replicated_pods, with_pods
from trainc.inputs.settings import SshKeys
from trainc.plugins.base import manifest
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.plugins.mpi.transport import (
    FIX,
    PRIVATE_KEY,
    SSH_VOLUME,
    by_kubexec,
    command_line,
    key_mode,
    pod_of,
    secret_name,
    serves_own_key,
    strict,
)
from trainc.plugins.origins import nearest, report_at
from trainc.upstream import FIXES, LAUNCHER, NODE

# The pods of a JobSet that mount the keys.


class Launcher(Struct, frozen=True):
    """A pod spec, and its container that runs MPI, with the path of the container in the JobSet."""

    spec: JsonObject
    container_path: Path
    container: JsonObject


def launcher_of(jobset: JsonObject, secret: str) -> Launcher | None:
    """Return the launcher if it mounts a Secret, else the first pod that does, or None."""
    found = [
        (name, path, spec)
        for name, path, spec in replicated_pods(jobset)
        if any(get(volume, "secret", "secretName") == secret for volume in objects(spec.get("volumes")))
    ]
    if not found:
        return None
    _, path, spec = next((pod for pod in found if pod[0] == LAUNCHER), found[0])
    containers = objects(spec.get("containers"))
    index = next((i for i, container in enumerate(containers) if container.get("name") == NODE), 0)
    return Launcher(spec, (*path, "containers", index), containers[index] if containers else {})


def keys_name(model: Model) -> str:
    """Return the name of the objects that create the keys of a job."""
    return f"{model.name}-mpi-ssh-keys"


# The pod that creates keys: small, without rights on its node (Pod Security profile restricted), without disk.

SCRIPT: Final = "mpi_ssh_keys.py"
FOLDER: Final = "/etc/mpi-ssh-keys"
COMPONENT: Final[JsonObject] = {"app.kubernetes.io/component": "mpi-ssh-keys"}
"""The label by which a NetworkPolicy can select the pod, which must reach the API server."""

_COPIED: Final = ("imagePullSecrets", "tolerations")
"""The fields of the launcher's pod that this pod needs to get a node and an image."""

_PLATFORM: Final = ("kubernetes.io/arch", "kubernetes.io/os")
# Isolated and without site-packages, since the image is not ours and only Python's standard library is needed.
_COMMAND: Final[list[Json]] = ["python3", "-I", "-S", "-B", f"{FOLDER}/{SCRIPT}"]
_MOUNTS: Final[list[Json]] = [
    {"name": "script", "mountPath": FOLDER, "readOnly": True},
    {"name": "tmp", "mountPath": "/tmp"},
]
_TMP: Final[JsonObject] = {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


def pod_template(name: str, secret: str, launcher: Launcher, keys: SshKeys) -> JsonObject:
    """Return the template of a pod that fills a Secret; ``name`` is that of its service account and script."""
    image, user = keys.image, NOBODY
    selector: JsonObject = {}
    if not image:  # the launcher's, with its user, who exists in it, unless that is root
        image = str(launcher.container.get("image", ""))
        contexts = (launcher.container.get("securityContext"), launcher.spec.get("securityContext"))
        users = [found for context in contexts if isinstance(found := get(context, "runAsUser"), int)]
        user = users[0] or NOBODY if users else NOBODY
        existing = as_object(launcher.spec.get("nodeSelector"))
        selector = {key: existing[key] for key in _PLATFORM if key in existing}
    spec: JsonObject = {
        "restartPolicy": "Never",
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        **{field: value for field in _COPIED if (value := launcher.spec.get(field))},
        **({"nodeSelector": selector} if selector else {}),
        "containers": [small_container("ssh-keys", image, _COMMAND, _MOUNTS, args=[f"--secret={secret}"])],
        "securityContext": user_context(user),
        "volumes": [{"name": "script", "configMap": {"name": name, "defaultMode": 0o444}}, _TMP],
    }
    return {"metadata": {"labels": {**COMPONENT}}, "spec": spec}


# Keys from a Job in the cluster: a Secret without data, and the objects of the Job that fills it.
#
# Argo CD owns the Secret and ignores its data. The Role allows the Job to get and patch this one Secret. Jobs are
# immutable, so Job and script have a hash of their content in the name: a new script results in a new Job, which finds
# the keys and completes.

DEADLINE = 3600
"""The seconds of the Job, with time to find a node and to pull a large image. The script waits ten minutes."""

RETRIES = 4


def job_objects(model: Model, jobset: Object, launcher: Launcher) -> Objects:
    """Return Secret, ServiceAccount, Role, RoleBinding, script and Job. The names of the last two get a hash."""
    name, secret = keys_name(model), secret_name(model)
    rule: JsonObject = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "verbs": ["get", "patch"],
        "resourceNames": [secret],
    }
    script: JsonObject = {SCRIPT: load_text(f"scripts/{SCRIPT}")}
    spec: JsonObject = {  # without ttlSecondsAfterFinished, since the next commit would create a deleted Job again
        "backoffLimit": RETRIES,
        "activeDeadlineSeconds": DEADLINE,
        "template": pod_template(name, secret, launcher, model.options.settings.ssh_keys),
    }
    plain = (
        manifest(model, "v1", "Secret", secret, type="Opaque"),  # kubernetes.io/ssh-auth requires a key on creation
        *rights(model, name, [rule]),
    )
    hashed = (
        manifest(model, "v1", "ConfigMap", name, immutable=True, data=script),
        manifest(model, "batch/v1", "Job", name, spec=spec),
    )
    origins = partial(origins_of, model, Origin("plugin", model.runtime, ("spec", "mlPolicy", "mpi"), "sshKeys"))

    def with_image() -> dict[Path, Origin]:
        """Return the origins of the Job, whose image has the origin of the launcher's."""
        if model.options.settings.ssh_keys.image:
            origin: Origin | None = option_origin(model.options, "sshKeys")
        else:
            origin = nearest(jobset.origins(), (*launcher.container_path, "image"))
        image = ("spec", "template", "spec", "containers", 0, "image")
        return {**origins(), **({} if origin is None else {image: origin})}

    return (*(Object(data, origins) for data in plain), *(Object(data, with_image, stem=name) for data in hashed))


# Keys from the External Secrets Operator: its generator of SSH keys, and the ExternalSecret that stores them.
#
# Source: the CRDs of external-secrets v1.3.2 (SSHKey exists since v0.19). Defaults are included, since a server would
# add them. The generator creates a new pair on each refresh, so refreshPolicy is CreatedOnce.

EXTERNAL_SECRETS = "external-secrets.io/v1"
GENERATORS = "generators.external-secrets.io/v1alpha1"
SKIP_DRY_RUN: JsonObject = {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"}
_PUBLIC = "{{ .publicKey | trim }}"
_SECRET: Final[JsonObject] = {
    "engineVersion": "v2",
    "mergePolicy": "Replace",
    "type": "kubernetes.io/ssh-auth",
    "data": {
        "ssh-privatekey": "{{ .privateKey }}",
        "ssh-publickey": "{{ .publicKey }}",
        "known_hosts": f"* {_PUBLIC}\n[*]:* {_PUBLIC}\n",
    },
}
"""The template of a Secret like Trainer's own, with known_hosts as the key Job writes it."""


def operator_objects(model: Model) -> Objects:
    """Return the generator, and the ExternalSecret with upstream's name."""
    name, secret = keys_name(model), secret_name(model)
    spec: JsonObject = {
        "refreshPolicy": "CreatedOnce",
        "refreshInterval": "0s",  # the default is an hour; CreatedOnce ignores it
        "dataFrom": [{"sourceRef": {"generatorRef": {"apiVersion": GENERATORS, "kind": "SSHKey", "name": name}}}],
        "target": {
            "name": secret,
            "creationPolicy": "Owner",
            "deletionPolicy": "Retain",
            "immutable": True,
            "template": _SECRET,
        },
    }
    objects: tuple[JsonObject, ...] = (
        manifest(model, GENERATORS, "SSHKey", name, spec={"keyType": "ed25519"}),
        manifest(model, EXTERNAL_SECRETS, "ExternalSecret", secret, spec=spec),
    )
    if model.options.settings.ssh_keys.skip_dry_run:
        objects = tuple(put(data, ("metadata", "annotations"), {**SKIP_DRY_RUN}) for data in objects)
    return tuple(Object(data, lambda: origins_of(model, option_origin(model.options, "sshKeys"))) for data in objects)


def operator_secret(external: JsonObject) -> JsonObject:
    """Return the Secret that the operator stores for an ExternalSecret of ``operator_objects``, without its data."""
    target, metadata = as_object(get(external, "spec", "target")), as_object(external.get("metadata"))
    name: JsonObject = {"name": target.get("name"), "namespace": metadata.get("namespace")}
    secret: JsonObject = {"apiVersion": "v1", "kind": "Secret", "metadata": name}
    return {**secret, "type": get(target, "template", "type") or "Opaque"}


# Pods that mount existing keys.


def renamed(objs: Objects, secret: str, name: str) -> Objects:
    """Return the objects with volumes of another Secret."""

    def change(spec: JsonObject) -> JsonObject:
        volumes: list[Json] = [
            put(volume, ("secret", "secretName"), name) if get(volume, "secret", "secretName") == secret else volume
            for volume in objects(spec.get("volumes"))
        ]
        return {**spec, "volumes": volumes} if volumes else spec

    return objs if secret == name else with_pods(objs, change)


# The pass, configured by sshKeys of the environment.
#
# job (the default): a Secret without data, and a Job that fills it once (docs/ssh-keys.md). external-secrets: the
# External Secrets Operator creates Secret and keys. existing: the pods mount an existing Secret.
#
# There are no sync waves: pods wait for the items of their volume, and a key Job that waits or fails must not delay
# other objects of the commit.


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with those that create the keys, if the JobSet's pods mount upstream's Secret.

    A Secret with that name among the documents exists in the cluster and is used, as by a running controller (M7).
    """
    keys, secret = model.options.settings.ssh_keys, secret_name(model)
    jobset = jobset_of(objects)
    launcher = launcher_of(jobset.data, secret) if jobset is not None else None
    if jobset is None or launcher is None:
        return objects
    if keys.mode == "existing":
        return renamed(objects, secret, keys.secret) if keys.secret else objects
    if model.in_cluster("v1/Secret", secret) is not None:
        return objects
    if keys.mode == "external-secrets":
        return (*objects, *operator_objects(model))
    return (*objects, *job_objects(model, jobset, launcher))


def _as_patched(model: Model, objs: Objects) -> Objects:
    """Return the objects with key mode, and pod of the key Job, for the pods after the environment's patches."""
    keys, jobset = model.options.settings.ssh_keys, jobset_of(objs)
    if jobset is None or not model.options.settings.patches:
        return objs
    objs = with_jobset(objs, _with_key_modes(model, jobset.data))
    launcher = launcher_of(jobset.data, secret_name(model))
    if launcher is None:
        return objs
    template = pod_template(keys_name(model), secret_name(model), launcher, keys)
    path: Path = ("spec", "template", "spec", "containers", 0, "image")

    def changed(obj: Object) -> Object:
        if obj.kind != "Job":
            return obj
        data = put(obj.data, path[:2], template)
        return replace(obj, data=put(data, path, get(obj.data, *path)) if keys.image else data)

    return tuple(map(changed, objs))


def _with_key_modes(model: Model, jobset: JsonObject) -> JsonObject:
    """Return a patched JobSet in which the mode of the private key suits the user, unless a patch sets another one."""
    for name, path, pod in replicated_pods(jobset):
        before, after = key_mode(model, pod_of(model, name)), key_mode(model, pod)
        for number, volume in enumerate(objects(pod.get("volumes")) if before != after else ()):
            for index, item in enumerate(objects(get(volume, "secret", "items"))):
                if volume.get("name") == SSH_VOLUME and (item.get("path"), item.get("mode")) == (PRIVATE_KEY, before):
                    jobset = put(jobset, (*path, "volumes", number, "secret", "items", index, "mode"), after)
    return jobset


def _check_sshd(model: Model, objs: Objects) -> Iterator[Finding]:
    """Warn if the launcher checks host keys, and a patch replaces the command line with which sshd uses the key."""
    jobset, policy = jobset_of(objs), model.policy("mpi")
    if jobset is None or policy is None or not model.options.settings.patches:
        return
    if by_kubexec(model) or not strict(model, policy):
        return
    for name, path, pod in replicated_pods(jobset.data):
        for index, container in enumerate(objects(pod.get("containers")) if name == NODE else ()):
            if container.get("name") == NODE and not serves_own_key(command_line(container)):
                message = "after the patches, sshd does not use the job's key (-h .../id_rsa): ssh refuses its host key"
                field = "args" if container.get("args") else "command"
                where = (*path, "containers", index, field, 0)
                yield report_at(FIXES[FIX].code, model, jobset, where, message, hint="keep the option in the patch")


PASS: Final = Pass("sshKeys", shape, lambda model, *_: option_origin(model.options, "sshKeys"))
"""The cause is that of the name of an existing Secret, since created objects have origins of their own."""
PATCHED: Final = Pass(
    "sshKeys",
    _as_patched,
    lambda model, *_: option_origin(model.options, "patches"),
    check_objects=_check_sshd,
)
