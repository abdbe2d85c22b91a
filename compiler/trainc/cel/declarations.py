"""Environments of expressions: what they declare, how names are found, and those of Kubernetes.

Sources: of the lookup, cel-go v0.26.0 checker/env.go, checker/scopes.go and common/containers/container.go; of the
environments, k8s.io/apiserver v0.34 pkg/cel/environment/base.go, and for policies pkg/admission/plugin/cel (compile.go,
composition.go) and pkg/admission/plugin/policy/validating/accessor.go. compiler/tools/celfunctions.py extracts names of
types, cel-go's protobuf messages, and the types of a request and its namespace. Functions are the rows of library/.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from trainc.cel import types
from trainc.cel.ast import Ident, Node, Select
from trainc.cel.functions import Overload
from trainc.cel.library import functions
from trainc.cel.macros import MACROS, NOT_NEW
from trainc.cel.types import Kind, Type, parse_type, spell
from trainc.cel.unification import exact
from trainc.cel.values import TypeValue, Value
from trainc.data import load_json

T = TypeVar("T")


class Lookup(Mapping[str, T]):
    """A mapping whose entries ``find`` returns by name (None: no entry). It does not list them."""

    def __init__(self, find: Callable[[str], T | None]) -> None:
        self._find = find

    def __getitem__(self, name: str) -> T:
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class Environment(Struct, frozen=True):
    """Everything that an expression may refer to.

    ``variables``: types by name, dots included; ``objects``: fields and their types by name of the struct type (besides
    ``messages``); ``container`` resolves unqualified names, as in cel-go.

    Common to all environments: ``functions``, overloads by name in cel-go's order of declaration,
    operators included; ``macros``, names with their number of arguments, ``("map", 3)``; ``names``, identifiers of
    types with the type of each (``type(int)``); ``messages``, as objects, of protobuf; ``constants``, values of
    identifiers: types, and numbers of enums. The name of a type without a constant passes the check, but cannot be
    evaluated.
    """

    functions: Mapping[str, tuple[Overload, ...]]
    macros: frozenset[tuple[str, int]]
    variables: Mapping[str, Type] = field(default_factory=dict)
    objects: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    container: str = ""
    names: Mapping[str, Type] = field(default_factory=dict)
    messages: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)
    constants: Mapping[str, Value] = field(default_factory=dict)


class Declared(Struct, frozen=True):
    """A declaration: its full name, its type, and its value if it is a type or a constant."""

    name: str
    type: Type
    value: Value = None


def candidates(container: str, name: str) -> tuple[str, ...]:
    """Return the possible full names of a name, innermost first; a name with a leading dot is already full."""
    if name.startswith("."):
        return (name[1:],)
    parts = container.split(".") if container else []
    return tuple(".".join([*parts[:length], name]) for length in range(len(parts), -1, -1))


def qualified(node: Node) -> str | None:
    """Return ``a.b.c`` if the node consists of names only, else None."""
    fields: list[str] = []
    while isinstance(node, Select):
        if node.test_only:
            return None
        fields.append(node.field)
        node = node.operand
    return ".".join([node.name, *reversed(fields)]) if isinstance(node, Ident) else None


class Reference(Struct, frozen=True):
    """The declaration that a node refers to.

    ``name``: the full name of an identifier or of a message's type. ``overloads``: the ids of the overloads of a call
    that fit its static types, in order. ``value``: the value of a constant, a type or an enum's number; the server
    cannot evaluate the name of a type without a value.
    """

    name: str = ""
    overloads: tuple[str, ...] = ()
    value: Value = None


class Checked(Struct, frozen=True):
    """An expression with its types. Names in ``root`` are full, and functions of a namespace have no target.

    ``types`` has every node of ``root``, ``references`` identifiers, calls and messages.
    """

    root: Node
    type: Type
    types: Mapping[Node, Type] = field(default_factory=dict)
    references: Mapping[Node, Reference] = field(default_factory=dict)


# Kubernetes' environments: the base of all, and those of rules and policies

FILE = "cel_names.json"
Structs = Mapping[str, Mapping[str, Type]]
"""The fields of struct types."""


@cache
def base(new: bool) -> Environment:
    """Return the environment of stored expressions, or of ``new`` ones, which have fewer functions."""
    data = load_json(FILE)
    names = {name: parse_type(text) for name, text in data["names"].items()}
    messages = _parsed(data["messages"])
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


def _parsed(texts: Mapping[str, Mapping[str, str]]) -> Structs:
    return {name: {field: parse_type(text) for field, text in fields.items()} for name, fields in texts.items()}


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
"""Allowed types of validations and match conditions, of messageExpressions, and of values of audit annotations."""


def admission(
    *,
    new: bool = False,
    params: bool = False,
    authorizer: bool = True,
    variables: Mapping[str, Type | None] | None = None,
) -> Environment:
    """Return the environment of an expression of a policy.

    ``params``: the policy has a paramKind. ``authorizer``: for all but messageExpressions. ``variables``: the types of
    the variables before the expression, None for one that does not compile. They are looked up when an expression is
    checked, so the caller may add to them between two expressions. ``variables=None`` is for match conditions, which
    have none.
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
        objects[VARIABLES] = Lookup(lambda name: _field(variables[name]) if name in variables else None)
    return declared(found, objects, {name: types.type_of(type_) for name, type_ in lists_and_maps.items()}, new=new)


@cache
def _policy_types() -> tuple[Structs, Mapping[str, Type]]:
    """Return the struct types of request and namespace, and the types of the lists and maps in them by path.

    The server registers types of these paths (pkg/cel/types.go, buildDeclTypes), although it cannot evaluate them.
    """
    structs = _parsed(load_json(FILE)["policies"])
    return structs, {name: type_ for root in (REQUEST, NAMESPACE) for name, type_ in _below(root, root, structs)}


def _below(path: str, struct: str, structs: Structs) -> Iterator[tuple[str, Type]]:
    for name, type_ in structs[struct].items():
        if type_.kind is Kind.STRUCT:
            yield from _below(f"{path}.{name}", type_.name, structs)
        elif type_.kind in (Kind.LIST, Kind.MAP):
            yield f"{path}.{name}", type_


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
