"""Which overloads of a function a call may mean: cel-go v0.26.0 checker/checker.go, resolveOverload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainc.cel import types
from trainc.cel.declarations import Overload
from trainc.cel.types import Kind, Type
from trainc.cel.unification import Bindings, exact, is_dynamic


def select(
    overloads: Sequence[Overload], member: bool, given: Sequence[Type], bindings: Bindings
) -> tuple[Type | None, tuple[str, ...]]:
    """Return the call's type and the ids of the overloads that its arguments' types allow; None if there is none.

    The receiver of a member is the first of ``given``. The type is that of the first overload, or dyn where another's
    differs. Each overload that fits narrows the type variables for those after it.
    """
    result: Type | None = None
    chosen = []
    for overload in overloads:
        if overload.member is not member:
            continue
        args, returned = _instantiate(overload, bindings)
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
    """Return how a message shows arguments: ``(int, string)``, or ``list(int).(string)`` for a member."""
    spelt = [str(bindings.substitute(each, to_dyn=True)) for each in given]
    target = f"{spelt.pop(0)}." if member else ""
    return f"{target}({', '.join(spelt)})"


def _instantiate(overload: Overload, bindings: Bindings) -> tuple[tuple[Type, ...], Type]:
    """Return an overload's arguments and result with new type variables."""
    if not overload.variables:
        return overload.args, overload.result
    fresh = {variable: bindings.fresh() for variable in overload.variables}
    return tuple([_replace(arg, fresh) for arg in overload.args]), _replace(overload.result, fresh)


def _replace(type_: Type, fresh: Mapping[str, Type]) -> Type:
    if type_.kind is Kind.PARAMETER:
        return fresh[type_.name]
    if not type_.parameters:
        return type_
    return Type(type_.kind, type_.name, tuple([_replace(each, fresh) for each in type_.parameters]))
