"""The greatest cost that an expression can have, estimated before it runs.

Kubernetes limits it when a CRD is created. Source: cel-go v0.26.0 checker/cost.go.
"""

from __future__ import annotations

from collections.abc import Callable

from trainc.cel import types
from trainc.cel.ast import Call, Comprehension, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select
from trainc.cel.callcost import Argument, CallCost
from trainc.cel.checker import Checked
from trainc.cel.estimatecalls import call_cost
from trainc.cel.schematypes import Declared
from trainc.cel.sizes import MOST, UNKNOWN, Range, exactly
from trainc.cel.types import DYN, Kind, Type
from trainc.records import NamedTuple, dataclass, field

LIST_COST, MAP_COST, MESSAGE_COST = 10, 30, 40
ACCUMULATORS = ("__result__", "@result")

_SCALARS = (Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT)
_NOTHING = exactly(0)
_ONE = exactly(1)


class Entries(NamedTuple):
    """Sizes of keys and values of a list or map that an expression makes."""

    kind: Kind
    key: Range
    value: Range

    def union(self, other: Entries) -> Entries:
        """Return the sizes of what is in either."""
        return Entries(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    path: tuple[str, ...]
    size: Range | None
    entries: Entries | None


def estimate(checked: Checked, self_: Declared | None = None) -> Range:
    """Return the least and the greatest cost of an expression.

    ``self_`` bounds the sizes of what is selected from the variables self and oldSelf; without it they are unlimited.
    """
    return _Coster(checked, self_).cost(checked.root)


def declared_size(self_: Declared | None, path: tuple[str, ...]) -> Range | None:
    """Return the bounds that a schema sets for the value at a path from a variable; None where it sets none."""
    if self_ is None or not path:
        return None
    found: Declared | None = self_
    for number, step in enumerate(path[1:], 2):
        assert found is not None
        if step == "@keys":  # strings without a limit, which counts as none
            return _NOTHING if found.type.kind is Kind.MAP and number == len(path) else None
        if step in ("@items", "@values"):
            found = found.element
        else:
            found = found.fields.get(step) if found.type.kind is Kind.STRUCT else None
        if found is None:
            return None
    assert found is not None
    return Range(0, found.max_elements)


@dataclass(slots=True)
class _Coster:
    checked: Checked
    self_: Declared | None
    paths: dict[Node, tuple[str, ...]] = field(default_factory=dict)
    sizes: dict[Node, Range] = field(default_factory=dict)
    entries: dict[Node, Entries] = field(default_factory=dict)
    locals: dict[str, list[_Local]] = field(default_factory=dict)

    def cost(self, node: Node) -> Range:
        """Return the cost of a node with all below it, and keep what it tells of sizes."""
        return _COSTS[type(node)](self, node)

    def literal(self, node: Literal) -> Range:
        return _NOTHING

    def ident(self, node: Ident) -> Range:
        local = self._local(node.name)
        self.paths[node] = local.path if local is not None else (node.name,)
        return _ONE

    def select(self, node: Select) -> Range:
        inner = self.cost(node.operand)
        if node.test_only:
            return inner  # Kubernetes: tests of presence are free
        if self._type(node.operand).kind in (Kind.MAP, Kind.STRUCT, Kind.PARAMETER):
            inner = inner.plus(_ONE)
        self.paths[node] = (*self._path(node.operand), node.field)
        return inner

    def list_literal(self, node: ListLiteral) -> Range:
        total, item = exactly(LIST_COST), _empty(node.elements)
        for element in node.elements:
            total = total.plus(self.cost(element))
            item = item.union(self._size_or_unknown(element))
        self.entries[node] = Entries(Kind.LIST, _ONE, item)
        return total

    def map_literal(self, node: MapLiteral) -> Range:
        total, key, value = exactly(MAP_COST), _empty(node.entries), _empty(node.entries)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self._size_or_unknown(entry.key))
            value = value.union(self._size_or_unknown(entry.value))
        self.entries[node] = Entries(Kind.MAP, key, value)
        return total

    def message(self, node: Message) -> Range:
        total = exactly(MESSAGE_COST)
        for entry in node.entries:
            total = total.plus(self.cost(entry.value))
        return total

    def call(self, node: Call) -> Range:
        if node.function == "dyn" and node.target is None:
            [arg] = node.args
            total = self.cost(arg).plus(_ONE)
            self._copy(node, arg)
            return total
        costs = []
        arguments = []
        for arg in node.args:
            costs.append(self.cost(arg))
            arguments.append(self._argument(arg))
        reference = self.checked.references.get(node)
        if reference is None or not reference.overloads:
            return _NOTHING
        before, target = _NOTHING, None
        if node.target is not None:
            before = self.cost(node.target)
            target = self._argument(node.target)
        total, size = Range(MOST, 0), None
        for overload in reference.overloads:
            found = self._overload(node, overload, target, arguments, costs)
            total = total.union(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.union(found.size)
            if overload in ("index_list", "index_map"):
                made = self._entries(node.args[0])
                size = made.value if made is not None else None
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node] = (*self._path(node.args[0]), step)
            if size is None:
                size = self._size(node)
        if size is not None:
            self.sizes[node] = size
        return before.plus(total)

    def _overload(
        self, node: Call, overload: str, target: Argument | None, arguments: list[Argument], costs: list[Range]
    ) -> CallCost:
        total = _NOTHING
        for cost in costs:
            total = total.plus(cost)
        if overload in ("logical_or", "logical_and"):
            return CallCost(Range(costs[0].least, costs[0].plus(costs[1]).most))
        if overload == "conditional":
            yes, no = self._entries(node.args[1]), self._entries(node.args[2])
            if yes is not None and no is not None:
                self.entries[node] = yes.union(no)
            size = self._size_or_unknown(node.args[1]).union(self._size_or_unknown(node.args[2]))
            return CallCost(costs[0].plus(costs[1].union(costs[2])), size)
        if overload in ("add_string", "add_bytes", "add_list"):
            one, two = self._entries(node.args[0]), self._entries(node.args[1])
            if one is not None and two is not None:
                self.entries[node] = one.union(two)
        own = call_cost(node.function, overload, target, arguments)
        return CallCost(own.cost.plus(total), own.size)

    def comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        if _is_bind(node):
            return self._bind(node, total)
        self._push(node.accu_var, self._accu(node.accu_init))
        if node.iter_var2:
            self._push(node.iter_var, self._iterated(node.iter_range, key=True))
            self._push(node.iter_var2, self._iterated(node.iter_range, key=False))
        else:
            self._push(node.iter_var, self._iterated(node.iter_range, key=None))
        loop = self.cost(node.condition)
        step = self.cost(node.step)
        self.locals[node.iter_var].pop()
        if node.iter_var2:
            self.locals[node.iter_var2].pop()
        total = total.plus(self.cost(node.result))
        self.locals[node.accu_var].pop()
        count = self._size_or_unknown(node.iter_range)
        total = total.plus(count.times(step.plus(loop)))
        self._made(node, count)
        return total

    def _made(self, node: Comprehension, count: Range) -> None:
        if isinstance(node.accu_init, Literal):
            if (size := self._size(node.accu_init)) is not None:
                self.sizes[node] = size
        elif isinstance(node.accu_init, ListLiteral | MapLiteral):
            self.sizes[node] = count
            if (made := self._entries(node.step)) is not None:
                self.entries[node] = made

    def _bind(self, node: Comprehension, total: Range) -> Range:
        self._push(node.accu_var, self._accu(node.accu_init))
        total = total.plus(self.cost(node.result))
        self.locals[node.accu_var].pop()
        self._copy(node, node.result)
        return total

    def _accu(self, init: Node) -> _Local:
        return _Local(self._path(init), self._size(init), self._entries(init))

    def _iterated(self, source: Node, *, key: bool | None) -> _Local:
        """Return what is known of a variable that goes over source: its keys, its values, or (None) what one has."""
        made = self._entries(source)
        kind = made.kind if made is not None else self._type(source).kind
        if key is None:
            key = kind is not Kind.LIST
        steps = ("@indices", "@keys") if key else ("@items", "@values")
        size = (made.key if key else made.value) if made is not None else None
        return _Local((*self._path(source), steps[kind is not Kind.LIST]), size, None)

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _type(self, node: Node) -> Type:
        return self.checked.types.get(node, DYN)

    def _path(self, node: Node) -> tuple[str, ...]:
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.path
        return self.paths.get(node, ())

    def _argument(self, node: Node) -> Argument:
        path = self._path(node)
        path = () if path and path[0] in ACCUMULATORS else path
        item = declared_size(self.self_, (*path, "@items")) if path else None
        return Argument(node, self._type(node), self._size(node), item)

    def _size(self, node: Node) -> Range | None:
        if (known := self.sizes.get(node)) is not None:
            return known
        if (own := _own_size(node)) is not None:
            return own
        if (declared := declared_size(self.self_, self._path(node))) is not None:
            self.sizes[node] = declared
            return declared
        if _scalar(self._type(node)):
            return _ONE
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.size if local is not None else None

    def _size_or_unknown(self, node: Node) -> Range:
        return self._size(node) or UNKNOWN

    def _entries(self, node: Node) -> Entries | None:
        if (known := self.entries.get(node)) is not None:
            return known
        local = self._local(node.name) if isinstance(node, Ident) else None
        return local.entries if local is not None else None

    def _copy(self, node: Node, source: Node) -> None:
        if (size := self._size(source)) is not None:
            self.sizes[node] = size
        if (made := self._entries(source)) is not None:
            self.entries[node] = made


_COSTS: dict[type, Callable[..., Range]] = {
    Literal: _Coster.literal,
    Ident: _Coster.ident,
    Select: _Coster.select,
    Call: _Coster.call,
    ListLiteral: _Coster.list_literal,
    MapLiteral: _Coster.map_literal,
    Message: _Coster.message,
    Comprehension: _Coster.comprehension,
}


def _empty(parts: tuple[object, ...]) -> Range:
    return Range(MOST, 0) if parts else _NOTHING


def _is_bind(node: Comprehension) -> bool:
    source, condition = node.iter_range, node.condition
    return (
        isinstance(source, ListLiteral)
        and not source.elements
        and isinstance(condition, Literal)
        and condition.value is False
        and node.accu_var != "__result__"
    )


def _own_size(node: Node) -> Range | None:
    if isinstance(node, Literal):
        return exactly(len(node.value) if isinstance(node.value, str | bytes) else 1)
    if isinstance(node, ListLiteral):
        return exactly(len(node.elements))
    return exactly(len(node.entries)) if isinstance(node, MapLiteral) else None


def _scalar(kind: Type) -> bool:
    if kind.kind is Kind.OPAQUE and kind.name == types.optional_of(DYN).name:
        return _scalar(kind.parameters[0])
    return kind.kind in _SCALARS
