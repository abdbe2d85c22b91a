"""Assignability of types, bindings of type variables, and the choice of overloads.

The rules are cel-go's (checker/types.go, checker/mapping.go, common/types/types.go v0.26.0), oddities included: null
fits any struct and opaque type, types of types fit each other, and a wrapper is its primitive except for null.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainc.cel import types
from trainc.cel.functions import Overload, Signature
from trainc.cel.types import Kind, Type

_PRIMITIVE = {
    each.name: each.kind for each in (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES)
}
_SCALARS = frozenset({*_PRIMITIVE.values(), Kind.ANY, Kind.DURATION, Kind.TIMESTAMP, Kind.STRUCT})
_COMPOSED = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})
_NULLABLE = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP, Kind.WRAPPER, Kind.NULL})
WORK = 1_000_000
"""The limit of type parts examined for one expression."""
LARGEST = 2_000
"""The limit of parts of one type. Nested maps double them per level; no schema comes near."""
DEEPEST = 300
"""The nesting limit of types: beyond that of literals, but safe for Python's stack."""

_DYNAMIC = frozenset({Kind.DYN, Kind.ANY})
_ANYTHING = frozenset({Kind.DYN, Kind.ANY, Kind.ERROR})


def kind(type_: Type) -> Kind:
    """Return the kind as in cel-go: that of its primitive for a wrapper."""
    return _PRIMITIVE[type_.name] if type_.kind is Kind.WRAPPER else type_.kind


def is_dynamic(type_: Type) -> bool:
    """Return whether the type is dyn or any."""
    return type_.kind in _DYNAMIC


def is_optional(type_: Type) -> bool:
    """Return whether the type is optional_type(T)."""
    return type_.kind is Kind.OPAQUE and type_.name == "optional_type"


def unwrap(type_: Type) -> tuple[Type, bool]:
    """Return the type inside an optional and True, or the type itself and False."""
    return (type_.parameters[0], True) if is_optional(type_) else (type_, False)


def exact(left: Type, right: Type) -> bool:
    """Return whether two types are the same; a wrapper is the same as its primitive."""
    if left is right or left == right:
        return True
    return (
        kind(left) is kind(right)
        and left.name == right.name
        and len(left.parameters) == len(right.parameters)
        and all(map(exact, left.parameters, right.parameters))
    )


def _is_general(left: Type, right: Type) -> bool:
    """Return whether ``left`` is the same as ``right``, or more general."""
    if left.kind in _DYNAMIC or left.kind is Kind.PARAMETER:
        return True
    if right.kind in _DYNAMIC or right.kind is Kind.PARAMETER or kind(left) is not kind(right):
        return False
    if left.kind is Kind.TYPE:
        return True
    if left.kind not in _COMPOSED:
        return exact(left, right)
    if left.name != right.name or len(left.parameters) != len(right.parameters):
        return False
    return all(map(_is_general, left.parameters, right.parameters))


def general(left: Type, right: Type) -> Type:
    """Return the more general of two types that are assignable to each other."""
    return left if _is_general(left, right) else right


class TooLarge(Exception):
    """The types of an expression are too large to be compared or printed."""


class Bindings:
    """The bindings of type variables in one expression."""

    __slots__ = ("_bound", "_count", "_trail", "_work")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._trail: list[tuple[str, Type | None]] = []
        self._count = 0
        self._work = WORK

    def fresh(self) -> Type:
        """Return a new type variable, named as in cel-go."""
        self._count += 1
        return types.parameter(f"_var{self._count - 1}")

    def assignable(self, left: Type, right: Type) -> bool:
        """Return whether ``left`` is assignable to ``right``; binds type variables only if it is."""
        return self.all_assignable((left,), (right,))

    def all_assignable(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        """Return whether types are assignable pairwise; their numbers must be equal."""
        self._trail.clear()
        if self._assign_all(left, right):
            return True
        for name, before in reversed(self._trail):
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return False

    def substitute(self, type_: Type, to_dyn: bool = False) -> Type:
        """Return the type with bound variables replaced, and with ``to_dyn`` unbound ones by dyn. Raises TooLarge."""
        if type_.kind is Kind.PARAMETER:
            bound = self._bound.get(type_.name)
            if bound is not None:
                return self.substitute(bound, to_dyn)
            return types.DYN if to_dyn else type_
        if not type_.parameters:
            return type_
        self._work -= 1
        if self._work < 0:
            raise TooLarge
        return type_.mapped(lambda each: self.substitute(each, to_dyn))

    def bounded(self, type_: Type) -> Type:
        """Return the type. Raises TooLarge if it has too many parts, or nests too deeply."""
        parts, pending = 0, [(type_, 0)]
        while pending:
            found, depth = pending.pop()
            parts += 1
            if parts > LARGEST or depth > DEEPEST:
                raise TooLarge
            pending.extend([(each, depth + 1) for each in found.parameters])
        return type_

    def _bind(self, name: str, type_: Type) -> None:
        self._trail.append((name, self._bound.get(name)))
        self._bound[name] = type_

    def _assign(self, left: Type, right: Type) -> bool:
        if right.kind is Kind.PARAMETER:
            valid, bound = self._stands_for(left, right)
            if valid or bound:
                return valid
        if left.kind is Kind.PARAMETER:
            return self._stands_for(right, left)[0]
        if left.kind in _ANYTHING or right.kind in _ANYTHING:
            return True
        if left.kind is Kind.NULL:
            return right.kind in _NULLABLE
        if right.kind is Kind.NULL:
            return left.kind in _NULLABLE
        if left.kind in _COMPOSED:
            same = left.kind is right.kind and left.name == right.name
            return same and self._assign_all(left.parameters, right.parameters)
        if left.kind is Kind.TYPE:
            return right.kind is Kind.TYPE
        return kind(left) in _SCALARS and kind(left) is kind(right) and left.name == right.name

    def _assign_all(self, left: Sequence[Type], right: Sequence[Type]) -> bool:
        return len(left) == len(right) and all(map(self._assign, left, right))

    def _stands_for(self, type_: Type, variable: Type) -> tuple[bool, bool]:
        """Return whether the variable can be bound to the type, and whether it was bound before."""
        if type_ == variable:
            return True, True
        bound = self._bound.get(variable.name)
        if bound is not None:
            if exact(type_, bound):
                return True, True
            if not self._assign(type_, bound):
                return False, True
            wider = general(type_, bound)
            if self._absent(variable, wider):
                self._bind(variable.name, wider)
            return True, True
        if self._absent(variable, type_):
            self._bind(variable.name, type_)
            return True, False
        return False, False

    def _absent(self, variable: Type, within: Type) -> bool:
        """Return whether the variable is absent from a type, so that it is not bound to itself."""
        if variable == within:
            return False
        if within.kind is Kind.PARAMETER:
            bound = self._bound.get(within.name)
            return bound is None or self._absent(variable, bound)
        if within.kind in _COMPOSED or within.kind is Kind.TYPE:
            return all(self._absent(variable, each) for each in within.parameters)
        return True


# Overloads: checker/checker.go, resolveOverload


def select(
    overloads: Sequence[Overload], member: bool, given: Sequence[Type], bindings: Bindings
) -> tuple[Type | None, tuple[str, ...]]:
    """Return the type of a call and the ids of the overloads that fit its arguments; None without any.

    The receiver of a member is the first of ``given``. The type is that of the first overload, or dyn if another
    differs. Each fitting overload narrows the type variables for the next ones.
    """
    result: Type | None = None
    chosen = []
    for overload in overloads:
        if overload.signature.member is not member:
            continue
        args, returned = _instantiate(overload.signature, bindings)
        if not bindings.all_assignable(given, args):
            continue
        chosen.append(overload.id)
        returned = bindings.substitute(returned)
        if result is None:
            result = returned
        elif not is_dynamic(result) and not exact(returned, result):
            result = types.DYN
    return result, tuple(chosen)


def application(given: Sequence[Type], member: bool, bindings: Bindings) -> str:
    """Return the arguments as in messages: ``(int, string)``, or ``list(int).(string)`` for a member."""
    texts = [str(bindings.substitute(each, to_dyn=True)) for each in given]
    target = f"{texts.pop(0)}." if member else ""
    return f"{target}({', '.join(texts)})"


def _instantiate(signature: Signature, bindings: Bindings) -> tuple[tuple[Type, ...], Type]:
    """Return an overload's arguments and result with new type variables."""
    if not signature.variables:
        return signature.args, signature.result
    fresh = {variable: bindings.fresh() for variable in signature.variables}

    def replaced(type_: Type) -> Type:
        return fresh[type_.name] if type_.kind is Kind.PARAMETER else type_.mapped(replaced)

    return tuple(map(replaced, signature.args)), replaced(signature.result)
