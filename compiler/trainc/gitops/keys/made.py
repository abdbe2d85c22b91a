"""Keys that a Job makes in the cluster: a Secret without data, and all that the Job needs to fill it.

Argo CD owns the Secret and sees no difference when its data comes. The Role lets the Job get and patch that one name;
get and patch of a name need no list, no watch and no create. Jobs cannot be changed, and the script is mounted by one,
so both have a hash of their content in the name (gitops/sealing.py): a new script is a new Job, which finds the keys
there and ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.data import load_text
from trainc.gitops.base import by_environment, namespace_origin
from trainc.gitops.keys.launcher import Launcher
from trainc.gitops.keys.names import keys_name, metadata
from trainc.gitops.keys.pod import SCRIPT, pod_template
from trainc.gitops.naming import name_place
from trainc.model import Model, Object, Objects, Origin
from trainc.origins import nearest
from trainc.plugins.mpi.plugin import secret_name
from trainc.source import JsonObject, Path

RBAC = "rbac.authorization.k8s.io"
DEADLINE = 3600
"""Seconds for the Job in all: time to find a node and to pull a large image; the script itself waits ten minutes."""

RETRIES = 4

Origins = Callable[[], Mapping[Path, Origin]]


def made_by_job(model: Model, jobset: Object, launcher: Launcher) -> Objects:
    """Return Secret, ServiceAccount, Role, RoleBinding, script and Job. The last two are named by sealing."""
    name = keys_name(model)
    plain = (_secret(model), _service_account(model), _role(model), _role_binding(model))
    sealed = (_script(model), _job(model, launcher))
    return (
        *(Object(data, _origins(model)) for data in plain),
        *(Object(data, _origins(model, jobset, launcher), stem=name) for data in sealed),
    )


def _secret(model: Model) -> JsonObject:
    # Opaque: kubernetes.io/ssh-auth demands its key when it is created.
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata(model, secret_name(model)), "type": "Opaque"}


def _service_account(model: Model) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata(model, keys_name(model)),
        "automountServiceAccountToken": False,
    }


def _role(model: Model) -> JsonObject:
    rule: JsonObject = {
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [secret_name(model)],
        "verbs": ["get", "patch"],
    }
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": metadata(model, keys_name(model)),
        "rules": [rule],
    }


def _role_binding(model: Model) -> JsonObject:
    name = keys_name(model)
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": metadata(model, name),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": model.namespace}],
    }


def _script(model: Model) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(model, keys_name(model)),
        "immutable": True,
        "data": {SCRIPT: load_text(f"scripts/{SCRIPT}")},
    }


def _job(model: Model, launcher: Launcher) -> JsonObject:
    # No ttlSecondsAfterFinished: a Job that is gone would be made anew by the next commit.
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(model, keys_name(model)),
        "spec": {
            "backoffLimit": RETRIES,
            "activeDeadlineSeconds": DEADLINE,
            "template": pod_template(keys_name(model), secret_name(model), launcher, model.options.settings.ssh_keys),
        },
    }


def _origins(model: Model, jobset: Object | None = None, launcher: Launcher | None = None) -> Origins:
    """Return the origins of an object; the image of the Job comes from where the launcher's does."""

    def origins() -> Mapping[Path, Origin]:
        found: dict[Path, Origin] = {
            (): Origin("plugin", model.runtime, ("spec", "mlPolicy", "mpi"), "sshKeys"),
            ("metadata", "name"): Origin("input", model.job, name_place(model)),
            ("metadata", "namespace"): namespace_origin(model),
        }
        if jobset is None or launcher is None:
            return found
        image: Path = ("spec", "template", "spec", "containers", 0, "image")
        if model.options.settings.ssh_keys.image:
            found[image] = by_environment("sshKeys", model)
        elif (origin := nearest(jobset.origins(), (*launcher.container_path, "image"))) is not None:
            found[image] = origin
        return found

    return origins
