"""Selects the implementation of a call, evaluates calls of constants, and generates the code of all others.

The only overload that fits the static types is called, else one by the arguments. The comparison of simple values is
inlined: without that, evaluations take 15 % longer. A call whose cost depends on its arguments or its result costs 1 at
the start of the block, and the rest afterwards. The cost of traversing a string is (size + 9) // 10.

Sources: interpreter/planner.go (planCall), optimizations.go and common/decls/decls.go (Bindings, guards) of cel-go
v0.26.0, pkg/cel/library/regex.go of k8s.io/apiserver v0.34.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias, Union

from msgspec import Struct
from msgspec.structs import replace

from trainc.cel.ast import Call, ListLiteral, Node
from trainc.cel.functions import Cost, Overload, Run, Work
from trainc.cel.issues import PlanError
from trainc.cel.library import functions, regex
from trainc.cel.library.conversions import double_to_int, double_to_uint, int_to_uint, uint_to_int
from trainc.cel.library.operators import refuse
from trainc.cel.maps import equal, is_list, is_map, key_form
from trainc.cel.runtime import mismatch
from trainc.cel.types import Kind, Type, type_name
from trainc.cel.values import EvalError, Uint, Value, type_of
from trainc.cel.work import fresh
from trainc.cel.writer import CHECK, Steps, Term, Writer, joined

Guard: TypeAlias = Union[type, Callable[[Value], bool], None]  # noqa: UP007 - as the other aliases
"""The class or the predicate that a value must match; None for any value."""

_CLASSES: Final = {Kind.BOOL: bool, Kind.INT: int, Kind.DOUBLE: float, Kind.STRING: str, Kind.BYTES: bytes}
_CONVERSIONS: Final = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_PATTERNS: Final = frozenset(("matches", "find", "findAll"))
_SMALL: Final = (bool, int, float)
"""Classes of results that take no work to create."""


class _Implementation(Struct, frozen=True, eq=False):
    """What a call runs. ``guards``: what each argument must match before ``run`` is called.

    ``work`` spends the work of the call; ``metered``: ``run`` also takes the meter. ``kind``: the class of the result,
    if certain. ``terse``: its error for wrong types does not name them.
    """

    function: str
    run: Run
    cost: Cost | int = 1
    work: Work | None = None
    guards: tuple[Guard, ...] = ()
    metered: bool = False
    kind: type | None = None
    terse: bool = False


def call(writer: Writer, node: Call) -> Steps:
    """Write a call. Raises PlanError for a constant that is not valid, and where no overload fits."""
    reference = writer.checked.references.get(node)
    function = node.function.removeprefix(".")
    overload = reference.overloads[0] if reference is not None and len(reference.overloads) == 1 else ""
    parts = node.args if node.target is None else (node.target, *node.args)
    if function in ("or", "orValue") and len(parts) == 2:
        return (yield from _or(writer, parts[0], parts[1], unwraps=function == "orValue"))
    if overload == "in_list" and parts[1].__class__ is ListLiteral and not parts[1].elements:
        with writer.block("if False:"):
            yield parts[0]
        return writer.known(False)
    args = []
    for part in parts:
        arg = yield part
        args.append(arg)
    if function in ("_==_", "_!=_"):
        return _equality(writer, args[0], args[1], negates=function == "_!=_")
    chosen = _find(writer, node, function, overload, len(args))
    if len(args) == 1 and function in _CONVERSIONS and args[0].constant:
        return writer.known(_at(node, _converted, chosen, args[0].value))
    if overload == "in_list" and args[1].constant and _HASHED.issuperset(map(type, args[1].value)):
        return _membership(writer, args[0], args[1].value)
    if function in _PATTERNS and len(args) > 1 and args[1].value.__class__ is str:
        _at(node, regex.check, args[1].value)
        pattern = regex.with_pattern(function, args[1].value)
        chosen = replace(chosen, run=pattern, metered=True, guards=(), work=None)
    return _written(writer, chosen, args)


def _at(node: Node, evaluate: Callable[..., Value], *args: Value) -> Value:
    """Evaluate a constant. Raises PlanError."""
    try:
        return evaluate(*args)
    except EvalError as error:
        raise PlanError(node.position, error.message) from None


# Implementations


def _find(writer: Writer, node: Call, function: str, overload: str, count: int) -> _Implementation:
    """Return the implementation of a call with ``count`` arguments; ``overload`` is "" if several fit."""
    overloads = writer.environment.functions.get(function, ())
    chosen = [each for each in overloads if each.id == overload] or overloads
    runs = [each for each in chosen if each.run is not None]
    row = functions()[function] if overloads else None
    if row is None or (row.run is None and not runs):
        if not count:
            raise PlanError(node.position, f"no such overload: {function}()")
        return _Implementation(function, lambda first, *_: refuse(function, first))
    cost = row.cost if chosen[0].cost is None or not overload else chosen[0].cost
    kinds = {each.signature.result.kind for each in overloads}
    found = _Implementation(function, row.run or _several(function, runs), cost, row.work, terse=row.terse)
    found = replace(found, kind=_CLASSES.get(kinds.pop()) if len(kinds) == 1 else None)
    if row.run is not None:
        found, counts = replace(found, metered=row.metered), {len(each.signature.args) for each in overloads}
    elif len(runs) > 1:
        fits = any(len(each.signature.args) == count for each in runs)  # else the call is an error when it is evaluated
        work = row.work if fits else None
        found, counts = replace(found, work=work, metered=any(each.metered for each in runs)), {count}
    else:
        [only] = runs
        guards = tuple(map(_guard, only.signature.args))
        found, counts = replace(found, run=only.run, guards=guards, metered=only.metered), {len(guards)}
    if count not in counts:
        arguments = {0: "", 1: "arg", 2: "lhs, rhs"}.get(count, "...")
        raise PlanError(node.position, f"no such overload: {function}({arguments})")
    return found


def _several(function: str, overloads: Sequence[Overload]) -> Run:
    candidates = [(tuple(map(_guard, each.signature.args)), each.run, each.metered) for each in overloads]
    metered = any(each.metered for each in overloads)

    def call(*args: Value) -> Value:
        given = args[:-1] if metered else args
        for guards, run, takes_meter in candidates:
            if len(guards) == len(given) and all(map(_fits, guards, given)) and run is not None:
                return run(*(args if takes_meter else given))
        raise mismatch(function, given)

    return call


def _fits(guard: Guard, value: Value) -> bool:
    if guard is None or isinstance(guard, type):
        return guard is None or value.__class__ is guard
    return guard(value)


def _guard(declared: Type) -> Guard:
    """Return the guard of a declared type; it inspects only the first entry of lists."""
    kind = declared.kind
    if kind in (Kind.DYN, Kind.ANY, Kind.PARAMETER):
        return None
    if kind is Kind.LIST:
        [element] = map(_guard, declared.parameters)
        return lambda value: is_list(value) and (len(value) == 0 or _fits(element, next(iter(value))))
    if kind is Kind.MAP:
        return is_map  # no function takes only maps of certain types
    name = type_name(declared)
    return _CLASSES.get(kind) or (lambda value: type_name(type_of(value)) == name)


# Constants


def _converted(chosen: _Implementation, value: Value) -> Value:
    if not all(_fits(guard, value) for guard in chosen.guards):
        raise mismatch(chosen.function, (value,))
    if chosen.work is not None:
        chosen.work((value,), fresh())
    return chosen.run(value)


_HASHED: Final = frozenset((str, bool, int, float, Uint))
_OTHERS: Final[Mapping[type, tuple[Callable[..., Value], ...]]] = {
    int: (float, int_to_uint),
    Uint: (lambda number: float(number.value), uint_to_int),
    float: (double_to_int, double_to_uint),
}


def _membership(writer: Writer, argument: Term, values: list[Value]) -> Term:
    """Write ``argument in [constants]``."""
    name, forms = writer.name(), frozenset(form for value in values for form in _forms(value))
    writer.put(f"{name} = member({argument.text}, {writer.constant(forms)})")
    return Term(name, bool)


def _forms(value: Value) -> list[object]:
    """Return the forms of a value and of equal numbers of other types (maps.key_form)."""
    found = [key_form(value)]
    for convert in _OTHERS.get(value.__class__, ()):
        with suppress(EvalError):
            other = convert(value)
            if value.__class__ is not float or equal(value, other):
                found.append(key_form(other))
    return found


# Code


def _written(writer: Writer, chosen: _Implementation, args: list[Term]) -> Term:
    """Write the call of an implementation."""
    given, name = joined(args), writer.name()
    checks = [_check(writer, guard, arg) for guard, arg in zip(chosen.guards, args, strict=False)]
    if any(checks):
        error = f"mismatch({writer.constant(chosen.function)}, ({given}))"
        error = "no_overload()" if chosen.terse else error
        writer.put(f"if not ({' and '.join(filter(None, checks))}): raise {error}")
    if chosen.work is not None:
        writer.put(f"{writer.constant(chosen.work)}(({given}), f)")
    writer.put(f"{name} = {writer.constant(chosen.run)}({given}{'f' if chosen.metered else ''})")
    if chosen.work is not None and chosen.kind not in _SMALL:
        writer.put(f"pay({name}, f)")
    if isinstance(chosen.cost, int):
        writer.charge(chosen.cost)
    else:
        writer.charge(1)
        writer.put(f"c += {writer.constant(chosen.cost)}(({given}), {name}) - 1")
        writer.put(CHECK)
    return Term(name, chosen.kind)


def _check(writer: Writer, guard: Guard, arg: Term) -> str:
    """Return the condition under which an argument fits; empty where it always does."""
    if guard is None or arg.kind is guard:
        return ""
    if isinstance(guard, type):
        return f"{arg.text}.__class__ is {guard.__name__}"
    return f"{writer.constant(guard)}({arg.text})"


def _equality(writer: Writer, left: Term, right: Term, *, negates: bool) -> Term:
    one, two, name, sign = left.text, right.text, writer.name(), "!=" if negates else "=="
    writer.charge(1)
    unsure = [f"{term.text}.__class__ is str" for term in (left, right) if term.kind is not str]
    writer.put(f"if {' and '.join(unsure) or True}:")
    writer.put(f"    {name} = {one} {sign} {two}; c += (min(len({one}), len({two})) - 1) // 10")
    if len(unsure) == 2:  # neither is certain to be a string
        writer.put(f"elif {one}.__class__ is {two}.__class__ in ONE: {name} = {one} {sign} {two}")
    writer.put(f"else: {name} = compare({one}, {two}, {negates}, f); c += equality_cost({one}, {two}, {negates}) - 1")
    return Term(name, bool)


def _or(writer: Writer, left: Node, right: Node, *, unwraps: bool) -> Steps:
    """Write ``optional.or(optional)``, or with ``unwraps`` ``optional.orValue(value)``."""
    optional, name = (yield left), writer.name()
    writer.put(f"{name} = {optional.text}")
    with writer.block(f"if {name}.__class__ is Optional:"):
        with writer.block(f"if not {name}.present:"):
            other = yield right
            writer.put(f"{name} = {other.text}")
        if unwraps:
            writer.put(f"else: {name} = {name}.value if {name}.value.__class__ is not EvalError else inside({name})")
    return Term(name)
