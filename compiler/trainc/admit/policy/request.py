"""The values that expressions of policies see: of the request, its objects, its namespace and params.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/cel/activation.go and condition.go (CreateAdmissionRequest,
CreateNamespaceObject), and what a server had filled in when it was asked: apart from what is given, an object has a
uid, creationTimestamp and managedFields, on update also resourceVersion, generation and status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from trainc.admit.policy.cluster import NAME_LABEL, Cluster
from trainc.admit.policy.decision import Request
from trainc.admit.policy.matching import GroupVersionName, Match, own
from trainc.admit.policy.partial import Partial, hiding
from trainc.cel.values import Undecided, Value
from trainc.source import Document, JsonObject, Path, as_object

_CREATED: Final = frozenset(("uid", "creationTimestamp", "managedFields"))
_STORED: Final = _CREATED | {"resourceVersion", "generation"}
_NAMESPACE: Final = _STORED | {"deletionTimestamp", "deletionGracePeriodSeconds", "finalizers"}
_STATUS: Final = frozenset(("status",))
_OFFLINE: Final = Undecided("authorizer: cannot be evaluated offline")
_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def object_names(request: Request, matched: Match) -> dict[str, Value]:
    """Return object and oldObject, of the version as which the request is judged."""
    version = matched.kind[1]
    if version != request.version:
        reason = f"{request.kind} of version {version}: not converted offline"
        return {"object": Undecided(f"object: {reason}"), "oldObject": Undecided(f"oldObject: {reason}")}
    created = request.operation == "CREATE"
    return {
        "object": _object(
            "object",
            request.object,
            _CREATED if created else _STORED,
            frozenset() if created else _STATUS,
            request.unknown,
        ),
        "oldObject": _object("oldObject", request.old_object, _STORED, _STATUS),
    }


def names(request: Request, matched: Match, objects: Mapping[str, Value], params: Document | None) -> dict[str, Value]:
    """Return all that expressions may refer to but namespaceObject and variables."""
    return {
        **objects,
        "request": request_value(request, matched),
        "params": params_value(params),
        "authorizer": _OFFLINE,
        "authorizer.requestResource": _OFFLINE,
    }


def params_value(params: Document | None) -> Value:
    """Return ``params``: null for a policy without any."""
    return _object("params", params.data, _STORED, _STATUS) if params is not None else None


def request_value(request: Request, matched: Match) -> Value:
    """Return ``request``. What is empty is absent, as in the JSON of the server's type."""
    made = own(request)
    known: dict[str, Value] = {
        "kind": _named("kind", matched.kind),
        "resource": _named("resource", matched.resource),
        "requestKind": _named("kind", made.kind),
        "requestResource": _named("resource", made.resource),
        "operation": request.operation,
        "userInfo": Partial("request.userInfo", {}, None),
        "options": _options(request.operation),
        "dryRun": False,
    }
    texts = {
        "subResource": request.sub_resource,
        "requestSubResource": request.sub_resource,
        "name": request.name,
        "namespace": request.scope,
    }
    known.update((name, text) for name, text in texts.items() if text)
    return Partial("request", known, frozenset(("uid", "object", "oldObject")))


def _options(operation: str) -> Value:
    kind = _OPTIONS.get(operation)
    if kind is None:
        return Undecided("request.options: not known offline")
    return Partial("request.options", {"kind": kind, "apiVersion": "meta.k8s.io/v1"}, None)


def namespace_value(request: Request, cluster: Cluster) -> Value:
    """Return ``namespaceObject``: null for what is in no namespace, and for namespaces."""
    if not request.scope or (request.version == "v1" and request.is_namespace):
        return None
    name = "namespaceObject.metadata"
    given = cluster.namespace(request.scope)
    if given is not None:
        metadata = as_object(given.get("metadata"))
    else:
        labels = Partial(f"{name}.labels", {NAME_LABEL: request.scope}, None)
        metadata = {"name": request.scope, "labels": labels}  # type: ignore[dict-item]  # a value, not JSON
    hidden = _NAMESPACE if given is not None else _NAMESPACE | {"annotations"}
    known: dict[str, Value] = {"apiVersion": "v1", "kind": "Namespace", **(given or {})}
    known["metadata"] = Partial(name, metadata, hidden)
    return Partial("namespaceObject", known, frozenset(("spec", "status")))


def _object(
    name: str,
    data: JsonObject | None,
    hidden: frozenset[str],
    top: frozenset[str],
    unknown: tuple[Path, ...] = (),
) -> Value:
    """Return an object of which ``hidden`` in metadata and ``top`` are not known unless given, ``unknown`` never."""
    if data is None:
        return None
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        return data
    inside = hidden - (metadata or {}).keys()
    if not unknown:
        seen: Value = Partial(f"{name}.metadata", metadata or {}, inside) if inside else metadata or {}
        known: dict[str, Value] = {**data, "metadata": seen}
        absent = top - data.keys()
        return Partial(name, known, absent) if absent else known
    shown: JsonObject = {**data, "metadata": metadata or {}}
    places: tuple[Path, ...] = (*((key,) for key in top - data.keys()), *(("metadata", key) for key in inside))
    return hiding(name, shown, (*places, *unknown))


def _named(field: str, names: GroupVersionName) -> dict[str, Value]:
    return dict(zip(("group", "version", field), names, strict=True))
