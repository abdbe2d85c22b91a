"""The environments of expressions: Kubernetes' base environment, and those of rules and policies.

Sources: k8s.io/apiserver v0.34 pkg/cel/environment/base.go, extracted by compiler/tools/celfunctions.py (names of
types, and protobuf messages of cel-go; functions are the rows of library/); for policies
pkg/admission/plugin/cel (compile.go, composition.go) and pkg/admission/plugin/policy/validating/accessor.go.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from trainc.cel import types
from trainc.cel.declarations import Environment, Lookup
from trainc.cel.library import functions
from trainc.cel.macros import MACROS, NOT_NEW
from trainc.cel.types import Kind, Type, parse_type, spell
from trainc.cel.unification import exact
from trainc.cel.values import TypeValue, Value
from trainc.data import load_json

FILE = "cel_names.json"
Structs = Mapping[str, Mapping[str, Type]]
"""The fields of struct types."""


@cache
def base(new: bool) -> Environment:
    """Return the environment of stored expressions, or of ``new`` ones, which have fewer functions."""
    data = load_json(FILE)
    structs = frozenset([*data["structs"], *data["messages"]])
    names = {name: parse_type(text, structs) for name, text in data["names"].items()}
    messages = {
        name: {field: parse_type(text, structs) for field, text in fields.items()}
        for name, fields in data["messages"].items()
    }
    constants: dict[str, Value] = {name: TypeValue(_erased(names[name].parameters[0])) for name in data["values"]}
    return Environment(
        functions={name: row.overloads for name, row in functions().items() if not (new and row.stored)},
        macros=MACROS - NOT_NEW if new else MACROS,
        objects=messages,
        names=names,
        messages=messages,
        constants={**constants, **data["enums"]},
    )


def _erased(type_: Type) -> Type:
    """Return a type as a value: the parameters of ``list`` and ``map`` are dyn."""
    return Type(type_.kind, type_.name, tuple(types.DYN for _ in type_.parameters))


def free(names: Mapping[str, Type], *, new: bool = False, container: str = "") -> Environment:
    """Return an environment with variables and a container for unqualified names."""
    return replace(base(new), variables=dict(names), container=container)


def _any_field(type_: Type) -> Mapping[str, Type]:
    return Lookup(lambda _: type_)


_SCALARS = ("bool", "bytes", "double", "duration", "int", "null_type", "string", "timestamp", "uint", "list")


def declared(
    variables: Mapping[str, Type],
    objects: Structs,
    names: Mapping[str, Type] = MappingProxyType({}),
    *,
    new: bool = False,
) -> Environment:
    """Return an environment of policies and rules, with variables, struct types and further names of types.

    With struct types, ``duration`` and ``timestamp`` are names of types that cannot be evaluated, and the names of
    scalars are messages without fields; map has any field (pkg/cel/types.go, findScalar).
    """
    known = base(new)
    times = {name: types.type_of(parse_type(name)) for name in ("duration", "timestamp")}
    scalars = {"map": _any_field(types.ANY), **{name: {} for name in _SCALARS}}
    return replace(
        known,
        variables=dict(variables),
        objects=ChainMap(objects, known.messages),  # type: ignore[arg-type]  # never written to
        names={**known.names, **times, **names},
        messages={**known.messages, **scalars},
    )


# Policies

VARIABLES: Final = "kubernetes.variables"
REQUEST: Final = "kubernetes.AdmissionRequest"
NAMESPACE: Final = "kubernetes.Namespace"

_TEXTS: Final = types.list_of(types.STRING)
_LABELS: Final = types.map_of(types.STRING, types.STRING)
_KIND: Final = types.struct("kubernetes.GroupVersionKind")
_RESOURCE: Final = types.struct("kubernetes.GroupVersionResource")

STRUCTS: Final[Structs] = {
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
"""The fields of a request and of its namespace that policies can access."""

CONDITION: Final = (types.BOOL,)
MESSAGE: Final = (types.STRING,)
ANNOTATION: Final = (types.STRING, types.NULL)
VARIABLE: Final = (types.ANY, types.DYN)
"""Allowed types of validations and match conditions, of messageExpressions, of values of audit annotations, and of
variables."""


def admission(
    *,
    new: bool = False,
    params: bool = False,
    authorizer: bool = True,
    variables: Mapping[str, Type | None] | None = None,
) -> Environment:
    """Return the environment of an expression of a policy.

    ``params``: the policy has a paramKind. ``authorizer``: for all but messageExpressions. ``variables``: the types of
    the variables before the expression, None for one that does not compile; ``variables=None`` is for match
    conditions, which have none.
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
    lists_and_maps = _lists_and_maps()
    objects: dict[str, Mapping[str, Type]] = {
        name: _any_field(type_.parameters[1]) if type_.kind is Kind.MAP else {}
        for name, type_ in lists_and_maps.items()
    }
    objects.update(STRUCTS)
    if variables is not None:
        found["variables"] = types.struct(VARIABLES)
        objects[VARIABLES] = {name: _field(type_) for name, type_ in variables.items()}
    return declared(found, objects, {name: types.type_of(type_) for name, type_ in lists_and_maps.items()}, new=new)


@cache
def _lists_and_maps() -> Mapping[str, Type]:
    """Return the types of the lists and maps of request and namespace by path.

    The server registers types of these names (pkg/cel/types.go, buildDeclTypes), although it cannot evaluate them.
    """
    return {name: type_ for root in (REQUEST, NAMESPACE) for name, type_ in _below(root, root)}


def _below(path: str, struct: str) -> Iterator[tuple[str, Type]]:
    for field, type_ in STRUCTS[struct].items():
        if type_.kind is Kind.STRUCT:
            yield from _below(f"{path}.{field}", type_.name)
        elif type_.kind in (Kind.LIST, Kind.MAP):
            yield f"{path}.{field}", type_


def _field(type_: Type | None) -> Type:
    """Return the type of a variable as a field: simple types and lists and maps of them, else dyn."""
    if type_ is None:
        return types.DYN
    if type_.kind in (Kind.LIST, Kind.MAP):
        return Type(type_.kind, type_.name, tuple(map(_field, type_.parameters)))
    return types.DYN if type_.kind in _NOT_SIMPLE else type_


_NOT_SIMPLE = frozenset({Kind.DYN, Kind.ERROR, Kind.OPAQUE, Kind.PARAMETER, Kind.STRUCT, Kind.TYPE, Kind.WRAPPER})


def refusal(type_: Type, allowed: tuple[Type, ...]) -> str | None:
    """Return the server's error for a type that is not allowed, else None."""
    if any(each.kind is Kind.ANY or exact(each, type_) for each in allowed):
        return None
    if len(allowed) == 1:
        return f"must evaluate to {spell(allowed[0])} but got {spell(type_)}"
    return f"must evaluate to one of [{' '.join(map(spell, allowed))}] but got {spell(type_)}"
