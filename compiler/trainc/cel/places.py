"""What the expressions of admission policies may refer to, and of which type each kind must be.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/cel/compile.go and composition.go, and the ReturnTypes of
pkg/admission/plugin/policy/validating/accessor.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from trainc.cel import types
from trainc.cel.declarations import Environment
from trainc.cel.environments import AnyField, declared
from trainc.cel.types import Kind, Type
from trainc.cel.typetext import spell
from trainc.cel.unification import exact

VARIABLES: Final = "kubernetes.variables"
REQUEST: Final = "kubernetes.AdmissionRequest"
NAMESPACE: Final = "kubernetes.Namespace"

_TEXTS: Final = types.list_of(types.STRING)
_LABELS: Final = types.map_of(types.STRING, types.STRING)
_KIND: Final = types.struct("kubernetes.GroupVersionKind")
_RESOURCE: Final = types.struct("kubernetes.GroupVersionResource")

STRUCTS: Final[Mapping[str, Mapping[str, Type]]] = {
    REQUEST: {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": types.STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": types.STRING,
        "name": types.STRING,
        "namespace": types.STRING,
        "operation": types.STRING,
        "userInfo": types.struct("kubernetes.UserInfo"),
        "dryRun": types.BOOL,
        "options": types.DYN,
    },
    _KIND.name: dict.fromkeys(("group", "version", "kind"), types.STRING),
    _RESOURCE.name: dict.fromkeys(("group", "version", "resource"), types.STRING),
    "kubernetes.UserInfo": {
        "username": types.STRING,
        "uid": types.STRING,
        "groups": _TEXTS,
        "extra": types.map_of(types.STRING, _TEXTS),
    },
    NAMESPACE: {
        "metadata": types.struct("kubernetes.NamespaceMetadata"),
        "spec": types.struct("kubernetes.NamespaceSpec"),
        "status": types.struct("kubernetes.NamespaceStatus"),
    },
    "kubernetes.NamespaceMetadata": {
        "name": types.STRING,
        "generateName": types.STRING,
        "namespace": types.STRING,
        "labels": _LABELS,
        "annotations": _LABELS,
        "UID": types.STRING,
        "creationTimestamp": types.TIMESTAMP,
        "deletionGracePeriodSeconds": types.INT,
        "deletionTimestamp": types.TIMESTAMP,
        "generation": types.INT,
        "resourceVersion": types.STRING,
        "finalizers": _TEXTS,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceStatus": {
        "conditions": types.list_of(types.struct("kubernetes.NamespaceCondition")),
        "phase": types.STRING,
    },
    "kubernetes.NamespaceCondition": {
        "status": types.STRING,
        "type": types.STRING,
        "lastTransitionTime": types.TIMESTAMP,
        "message": types.STRING,
        "reason": types.STRING,
    },
}
"""The fields of what a policy is told of the request and of its namespace."""

CONDITION: Final = (types.BOOL,)
MESSAGE: Final = (types.STRING,)
ANNOTATION: Final = (types.STRING, types.NULL)
VARIABLE: Final = (types.ANY, types.DYN)
"""The types that an expression may have: validations and match conditions, messageExpressions, values of audit
annotations, variables."""


def admission(
    *,
    new: bool = False,
    params: bool = False,
    authorizer: bool = True,
    variables: Mapping[str, Type | None] | None = None,
) -> Environment:
    """Return what an expression of a policy may refer to.

    ``params``: the policy has a paramKind. ``authorizer``: all but messageExpressions have it. ``variables``: those of
    the policy that stand before the expression, each with the type of its expression, None if that does not compile;
    match conditions have none at all, which is ``variables=None``.
    """
    found = {
        "object": types.DYN,
        "oldObject": types.DYN,
        "namespaceObject": types.struct(NAMESPACE),
        "request": types.struct(REQUEST),
    }
    if params:
        found["params"] = types.DYN
    if authorizer:
        found["authorizer"] = types.struct("kubernetes.authorization.Authorizer")
        found["authorizer.requestResource"] = types.struct("kubernetes.authorization.ResourceCheck")
    lists_and_maps = _places()
    objects: dict[str, Mapping[str, Type]] = {
        name: AnyField(type_.parameters[1]) if type_.kind is Kind.MAP else {} for name, type_ in lists_and_maps.items()
    }
    objects.update(STRUCTS)
    if variables is not None:
        found["variables"] = types.struct(VARIABLES)
        objects[VARIABLES] = {name: _field(type_) for name, type_ in variables.items()}
    return declared(found, objects, {name: types.type_of(type_) for name, type_ in lists_and_maps.items()}, new=new)


@cache
def _places() -> Mapping[str, Type]:
    """Return the lists and maps of request and namespace by the way that leads to them.

    The server registers them as types of these names (pkg/cel/types.go, buildDeclTypes), though it can plan none.
    """
    return {name: type_ for root in (REQUEST, NAMESPACE) for name, type_ in _below(root, root)}


def _below(path: str, struct: str) -> Iterator[tuple[str, Type]]:
    for field, type_ in STRUCTS[struct].items():
        if type_.kind is Kind.STRUCT:
            yield from _below(f"{path}.{field}", type_.name)
        elif type_.kind in (Kind.LIST, Kind.MAP):
            yield f"{path}.{field}", type_


def _field(type_: Type | None) -> Type:
    """Return the type of a variable as a field: what is neither simple, nor a list or map of such, is dyn."""
    if type_ is None:
        return types.DYN
    if type_.kind in (Kind.LIST, Kind.MAP):
        return Type(type_.kind, type_.name, tuple(map(_field, type_.parameters)))
    return type_ if type_.kind in _SIMPLE else types.DYN


_SIMPLE = frozenset(
    {Kind.ANY, Kind.BOOL, Kind.BYTES, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.NULL, Kind.STRING, Kind.TIMESTAMP}
    | {Kind.UINT}
)


def refusal(type_: Type, allowed: tuple[Type, ...]) -> str | None:
    """Return why the server refuses an expression of a type where others are allowed, or None if it does not."""
    if any(each.kind is Kind.ANY or exact(each, type_) for each in allowed):
        return None
    if len(allowed) == 1:
        return f"must evaluate to {spell(allowed[0])} but got {spell(type_)}"
    return f"must evaluate to one of [{' '.join(map(spell, allowed))}] but got {spell(type_)}"
