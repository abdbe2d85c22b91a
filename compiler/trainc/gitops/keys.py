"""SSH keys of MPI jobs: never in git, made once in the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, objects, put
from trainc.data import load_text
from trainc.gitops.base import Pass, environment_origin, jobset_of, origins_of, rights
from trainc.gitops.pods import with_pods
from trainc.inputs.settings import SshKeys
from trainc.plugins.base import manifest
from trainc.plugins.model import Model, Object, Objects, Origin
from trainc.plugins.mpi.transport import secret_name
from trainc.plugins.origins import nearest
from trainc.upstream import LAUNCHER, NODE

# The pods of a JobSet that mount the keys, and the one that they are made for.


class Launcher(Struct, frozen=True):
    """A pod's spec, and its container that runs MPI, with their paths in the JobSet."""

    path: Path
    spec: JsonObject
    container_path: Path
    container: JsonObject


def launcher_of(jobset: JsonObject, secret: str) -> Launcher | None:
    """Return the launcher if it mounts a Secret, else the first pod that does, or None."""
    found = list(mounting(jobset, secret))
    if not found:
        return None
    index = next((i for i, job in found if job.get("name") == LAUNCHER), found[0][0])
    path: Path = ("spec", "replicatedJobs", index, "template", "spec", "template", "spec")
    spec = as_object(get(jobset, *path))
    containers = objects(spec.get("containers"))
    number = next((i for i, container in enumerate(containers) if container.get("name") == NODE), 0)
    return Launcher(path, spec, (*path, "containers", number), containers[number])


def mounting(jobset: JsonObject, secret: str) -> Iterator[tuple[int, JsonObject]]:
    """Yield index and replicated job where a volume is the Secret of that name."""
    for index, job in enumerate(objects(get(jobset, "spec", "replicatedJobs"))):
        for volume in objects(get(job, "template", "spec", "template", "spec", "volumes")):
            if "secret" in volume and get(volume["secret"], "secretName") == secret:
                yield index, job
                break


def keys_name(model: Model) -> str:
    """Return the name of the objects that make the keys of a job."""
    return f"{model.name}-mpi-ssh-keys"


# The pod that makes keys: small, without rights on its node (Pod Security's profile restricted), without disk.

SCRIPT: Final = "mpi_ssh_keys.py"
FOLDER: Final = "/etc/mpi-ssh-keys"
COMPONENT: Final[JsonObject] = {"app.kubernetes.io/component": "mpi-ssh-keys"}
"""What a NetworkPolicy can select the pod by, which has to reach the API server."""

NOBODY: Final = 65534
"""A user that images have beside root: ssh-keygen runs only for one that /etc/passwd knows."""

_COPIED: Final = ("imagePullSecrets", "tolerations")
"""What the launcher's pod needs to get a node and its image, and this one as well."""

_PLATFORM: Final = ("kubernetes.io/arch", "kubernetes.io/os")
# Isolated and without site-packages: the image's Python is a stranger's, only its library is wanted.
_COMMAND: Final[list[Json]] = ["python3", "-I", "-S", "-B", f"{FOLDER}/{SCRIPT}"]
_AMOUNTS: Final[JsonObject] = {"cpu": "100m", "memory": "128Mi"}
_RESOURCES: Final[JsonObject] = {"requests": _AMOUNTS, "limits": _AMOUNTS}
_CONTEXT: Final[JsonObject] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_MOUNTS: Final[list[Json]] = [
    {"name": "script", "mountPath": FOLDER, "readOnly": True},
    {"name": "tmp", "mountPath": "/tmp"},
]
_TMP: Final[JsonObject] = {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}


def pod_template(name: str, secret: str, launcher: Launcher, keys: SshKeys) -> JsonObject:
    """Return the template of a pod that fills a Secret, under a service account and with a script of that name."""
    user = _user(launcher) if not keys.image else NOBODY
    spec: JsonObject = {
        "restartPolicy": "Never",
        "serviceAccountName": name,
        "automountServiceAccountToken": True,
        "enableServiceLinks": False,
        **{field: value for field in _COPIED if (value := launcher.spec.get(field))},
        "containers": [_container(secret, keys.image or str(launcher.container.get("image", "")))],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": user,
            "runAsGroup": user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumes": [
            {"name": "script", "configMap": {"name": name, "defaultMode": 0o444}},
            _TMP,
        ],
    }
    if not keys.image and (platform := _platform(launcher)):
        spec["nodeSelector"] = platform
    return {"metadata": {"labels": {**COMPONENT}}, "spec": spec}


def _container(secret: str, image: str) -> JsonObject:
    return {
        "name": "ssh-keys",
        "image": image,
        "command": _COMMAND,
        "args": [f"--secret={secret}"],
        "resources": _RESOURCES,
        "securityContext": _CONTEXT,
        "volumeMounts": _MOUNTS,
    }


def _user(launcher: Launcher) -> int:
    """Return the user that the launcher runs as: ssh needs one that its image knows, as ssh-keygen does; not root."""
    for context in (launcher.container.get("securityContext"), launcher.spec.get("securityContext")):
        user = get(context, "runAsUser")
        if isinstance(user, int):
            return user or NOBODY
    return NOBODY


def _platform(launcher: Launcher) -> JsonObject:
    """Return what the launcher asks of a node that its image cannot do without."""
    selector = as_object(launcher.spec.get("nodeSelector"))
    return {key: selector[key] for key in _PLATFORM if key in selector}


# Keys that a Job makes in the cluster: a Secret without data, and all that the Job needs to fill it.
#
# Argo CD owns the Secret and sees no difference when its data comes. The Role lets the Job get and patch that one
# name; get and patch of a name need no list, no watch and no create. Jobs cannot be changed, and the script is
# mounted by one, so both have a hash of their content in the name: a new script is a new Job, which finds the
# keys and ends.

DEADLINE = 3600
"""Seconds for the Job in all: time to find a node and to pull a large image; the script itself waits ten minutes."""

RETRIES = 4


def made_by_job(model: Model, jobset: Object, launcher: Launcher) -> Objects:
    """Return Secret, ServiceAccount, Role, RoleBinding, script and Job. The last two get a hash at the end."""
    name, secret = keys_name(model), secret_name(model)
    rule: JsonObject = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "verbs": ["get", "patch"],
        "resourceNames": [secret],
    }
    script: JsonObject = {SCRIPT: load_text(f"scripts/{SCRIPT}")}
    spec: JsonObject = {  # without ttlSecondsAfterFinished: the next commit would make a Job that is gone anew
        "backoffLimit": RETRIES,
        "activeDeadlineSeconds": DEADLINE,
        "template": pod_template(name, secret, launcher, model.options.settings.ssh_keys),
    }
    plain = (
        manifest(model, "v1", "Secret", secret, type="Opaque"),  # kubernetes.io/ssh-auth demands its key on creation
        *rights(model, name, [rule]),
    )
    hashed = (
        manifest(model, "v1", "ConfigMap", name, immutable=True, data=script),
        manifest(model, "batch/v1", "Job", name, spec=spec),
    )
    maker = Origin("plugin", model.runtime, ("spec", "mlPolicy", "mpi"), "sshKeys")
    return (
        *(Object(data, lambda: origins_of(model, maker)) for data in plain),
        *(Object(data, lambda: _origins(model, maker, jobset, launcher), stem=name) for data in hashed),
    )


def _origins(model: Model, maker: Origin, jobset: Object, launcher: Launcher) -> Mapping[Path, Origin]:
    """Return the origins of an object; the image of the Job comes from where the launcher's does."""
    if model.options.settings.ssh_keys.image:
        origin: Origin | None = environment_origin("sshKeys", model)
    else:
        origin = nearest(jobset.origins(), (*launcher.container_path, "image"))
    image = ("spec", "template", "spec", "containers", 0, "image")
    return {**origins_of(model, maker), **({} if origin is None else {image: origin})}


# Keys that the External Secrets Operator makes: its generator of SSH keys, and what puts them into a Secret.
#
# Source: the CRDs of external-secrets v1.3.2 (SSHKey is there since v0.19). Every default is written, since a server
# would add it. Each time the generator is asked it makes another pair; CreatedOnce is what asks it once.

GENERATORS = "generators.external-secrets.io/v1alpha1"
SKIP_DRY_RUN: JsonObject = {"argocd.argoproj.io/sync-options": "SkipDryRunOnMissingResource=true"}
_PUBLIC = "{{ .publicKey | trim }}"


def made_by_operator(model: Model) -> Objects:
    """Return the generator, and the ExternalSecret of upstream's name."""
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
            "template": _template(),
        },
    }
    objects: tuple[JsonObject, ...] = (
        manifest(model, GENERATORS, "SSHKey", name, spec={"keyType": "ed25519"}),
        manifest(model, "external-secrets.io/v1", "ExternalSecret", secret, spec=spec),
    )
    if model.options.settings.ssh_keys.skip_dry_run:
        objects = tuple(put(data, ("metadata", "annotations"), {**SKIP_DRY_RUN}) for data in objects)
    return tuple(Object(data, lambda: origins_of(model, environment_origin("sshKeys", model))) for data in objects)


def _template() -> JsonObject:
    """Return how the pair becomes a Secret as Trainer's own is, with known_hosts as the key Job writes them."""
    return {
        "engineVersion": "v2",
        "mergePolicy": "Replace",
        "type": "kubernetes.io/ssh-auth",
        "data": {
            "ssh-privatekey": "{{ .privateKey }}",
            "ssh-publickey": "{{ .publicKey }}",
            "known_hosts": f"* {_PUBLIC}\n[*]:* {_PUBLIC}\n",
        },
    }


# Pods that mount keys which are in the cluster already.


def renamed(objs: Objects, secret: str, name: str) -> Objects:
    """Return the objects with the volumes of one Secret as volumes of another."""

    def change(spec: JsonObject) -> JsonObject:
        volumes: list[Json] = [
            put(volume, ("secret", "secretName"), name) if get(volume, "secret", "secretName") == secret else volume
            for volume in objects(spec.get("volumes"))
        ]
        return {**spec, "volumes": volumes} if volumes else spec

    return objs if secret == name else with_pods(objs, change)


# The pass that brings SSH keys: who makes them is sshKeys of the environment.
#
# job (the default): a Secret without data, and a Job that fills it once (docs/ssh-keys.md). external-secrets: the
# External Secrets Operator makes Secret and keys. existing: the pods mount a Secret that is there already.
#
# Nothing is in a sync wave: pods wait until the items of their volume are there, and a key Job that waits or fails
# holds back no other object of the commit.

OPTION = "sshKeys"


def shape(model: Model, objects: Objects) -> Objects:
    """Return the objects with those that bring the keys, where the JobSet's pods mount upstream's Secret.

    A Secret of that name among the documents is in the cluster: its keys count, as with a running controller (M7).
    """
    keys, secret = model.options.settings.ssh_keys, secret_name(model)
    jobset = jobset_of(objects)
    launcher = launcher_of(jobset.data, secret) if jobset is not None else None
    if jobset is None or launcher is None:
        return objects
    if keys.mode == "existing":
        return renamed(objects, secret, keys.secret) if keys.secret else objects
    if any(("v1/Secret", place, secret) in model.cluster for place in (model.home, model.namespace)):
        return objects
    if keys.mode == "external-secrets":
        return (*objects, *made_by_operator(model))
    return (*objects, *made_by_job(model, jobset, launcher))


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin of the name of a Secret that is there already."""
    return environment_origin(OPTION, model)


PASS: Final = Pass(OPTION, shape, cause)
