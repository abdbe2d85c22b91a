"""The environments of expressions: Kubernetes' base environment, and those of rules and policies.

Sources: k8s.io/apiserver v0.34 pkg/cel/environment/base.go; for policies pkg/admission/plugin/cel (compile.go,
composition.go) and pkg/admission/plugin/policy/validating/accessor.go. compiler/tools/celfunctions.py extracts names of
types, cel-go's protobuf messages, and the types of a request and its namespace. Functions are the rows of library/.
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
    messages = _parsed(data["messages"], structs)
    # The parameters of ``list`` and ``map`` as values are dyn.
    constants: dict[str, Value] = {
        name: TypeValue(names[name].parameters[0].mapped(lambda _: types.DYN)) for name in data["values"]
    }
    return Environment(
        functions={name: row.overloads for name, row in functions().items() if not (new and row.stored)},
        macros=MACROS - NOT_NEW if new else MACROS,
        objects=messages,
        names=names,
        messages=messages,
        constants={**constants, **data["enums"]},
    )


def _parsed(texts: Mapping[str, Mapping[str, str]], structs: frozenset[str] | None = None) -> Structs:
    return {
        name: {field: parse_type(text, structs) for field, text in fields.items()} for name, fields in texts.items()
    }


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
    structs, lists_and_maps = _policy_types()
    objects: dict[str, Mapping[str, Type]] = {
        name: _any_field(type_.parameters[1]) if type_.kind is Kind.MAP else {}
        for name, type_ in lists_and_maps.items()
    }
    objects.update(structs)
    if variables is not None:
        found["variables"] = types.struct(VARIABLES)
        objects[VARIABLES] = {name: _field(type_) for name, type_ in variables.items()}
    return declared(found, objects, {name: types.type_of(type_) for name, type_ in lists_and_maps.items()}, new=new)


@cache
def _policy_types() -> tuple[Structs, Mapping[str, Type]]:
    """Return the struct types of request and namespace, and the types of the lists and maps in them by path.

    The server registers types of these paths (pkg/cel/types.go, buildDeclTypes), although it cannot evaluate them.
    """
    structs = _parsed(load_json(FILE)["policies"])
    return structs, {name: type_ for root in (REQUEST, NAMESPACE) for name, type_ in _below(root, root, structs)}


def _below(path: str, struct: str, structs: Structs) -> Iterator[tuple[str, Type]]:
    for field, type_ in structs[struct].items():
        if type_.kind is Kind.STRUCT:
            yield from _below(f"{path}.{field}", type_.name, structs)
        elif type_.kind in (Kind.LIST, Kind.MAP):
            yield f"{path}.{field}", type_


def _field(type_: Type | None) -> Type:
    """Return the type of a variable as a field: simple types and lists and maps of them, else dyn."""
    if type_ is None or type_.kind in _NOT_SIMPLE:
        return types.DYN
    return type_.mapped(_field)


_NOT_SIMPLE = frozenset({Kind.DYN, Kind.ERROR, Kind.OPAQUE, Kind.PARAMETER, Kind.STRUCT, Kind.TYPE, Kind.WRAPPER})


def refusal(type_: Type, allowed: tuple[Type, ...]) -> str | None:
    """Return the server's error for a type that is not allowed, else None."""
    if any(each.kind is Kind.ANY or exact(each, type_) for each in allowed):
        return None
    if len(allowed) == 1:
        return f"must evaluate to {spell(allowed[0])} but got {spell(type_)}"
    return f"must evaluate to one of [{' '.join(map(spell, allowed))}] but got {spell(type_)}"
