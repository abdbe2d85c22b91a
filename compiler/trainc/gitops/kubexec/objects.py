"""The rights of the launcher: service account, Role and RoleBinding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainc.gitops.base import by_environment
from trainc.model import Model, Object, Objects, Origin
from trainc.plugins.mpi.kubexec import kubexec_name
from trainc.plugins.mpi.transport import ANNOTATIONS, TRANSPORT
from trainc.source import Json, JsonObject, Path, get

RBAC: Final = "rbac.authorization.k8s.io"


def rules() -> list[Json]:
    """Return what kubexec.sh may do: look for pods, and exec.

    kubectl opens the connection by WebSocket, a GET that asks for verb get, or by SPDY, which asks for create; from
    Kubernetes 1.35 on both ask for create.
    """
    return [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]},
    ]


def rights(model: Model, own: str | None) -> Objects:
    """Return Role and RoleBinding, and the service account unless the runtime names its own."""
    name = kubexec_name(model)
    account: JsonObject = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": _metadata(model),
        "automountServiceAccountToken": False,
    }
    role: JsonObject = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": _metadata(model),
        "rules": rules(),
    }
    binding: JsonObject = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": _metadata(model),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": own or name, "namespace": model.namespace}],
    }
    made = (role, binding) if own else (account, role, binding)
    return tuple(Object(data, lambda: _origins(model)) for data in made)


def origin(model: Model) -> Origin:
    """Return what has chosen kubectl exec: the runtime's annotation, or the environment."""
    if get(model.runtime.data, *ANNOTATIONS, TRANSPORT) is not None:
        return Origin("plugin", model.runtime, (*ANNOTATIONS, TRANSPORT), "kubexec")
    return by_environment("transport", model, "mode")


def _metadata(model: Model) -> JsonObject:
    return {"name": kubexec_name(model), "namespace": model.namespace}


def _origins(model: Model) -> Mapping[Path, Origin]:
    return {
        (): origin(model),
        ("metadata", "name"): Origin("input", model.job, ("metadata", "name")),
        ("metadata", "namespace"): Origin("input", model.job, ("metadata", "namespace")),
    }
