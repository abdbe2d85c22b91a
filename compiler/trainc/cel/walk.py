"""Visits and copies trees without recursion: a tree may be deeper than Python's stack."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from trainc.cel.ast import Call, Comprehension, Entry, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below, in the order of evaluation as written."""
    match node:
        case Select():
            return (node.operand,)
        case Call(target=None):
            return node.args
        case Call(target=target):
            assert target is not None
            return (target, *node.args)
        case ListLiteral():
            return node.elements
        case MapLiteral() | Message():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case Comprehension():
            return (node.iter_range, node.accu_init, node.condition, node.step, node.result)
    return ()


def postorder(root: Node) -> list[Node]:
    """Return all nodes of a tree, each after those below it, from left to right."""
    order: list[Node] = []
    pending = [root]
    while pending:
        node = pending.pop()
        order.append(node)
        pending.extend(children(node))
    order.reverse()
    return order


def copied(root: Node, entry_position: int) -> Node:
    """Return a tree of new nodes, as cel-go's macros copy: positions stay, but entries of maps and messages move."""
    made: dict[Node, Node] = {}
    for node in postorder(root):
        made[node] = _copy(node, made, entry_position)
    return made[root]


def _copy(node: Node, made: Mapping[Node, Node], entry_position: int) -> Node:
    match node:
        case Literal() | Ident():
            return replace(node)
        case Select():
            return replace(node, operand=made[node.operand])
        case Call():
            target = None if node.target is None else made[node.target]
            return replace(node, target=target, args=tuple(made[arg] for arg in node.args))
        case ListLiteral():
            return replace(node, elements=tuple(made[element] for element in node.elements))
        case MapLiteral():
            return replace(node, entries=tuple(_entry(entry, made, entry_position) for entry in node.entries))
        case Message():
            return replace(node, entries=tuple(_field(entry, made, entry_position) for entry in node.entries))
        case Comprehension():
            return replace(
                node,
                iter_range=made[node.iter_range],
                accu_init=made[node.accu_init],
                condition=made[node.condition],
                step=made[node.step],
                result=made[node.result],
            )


def _entry(entry: Entry, made: Mapping[Node, Node], position: int) -> Entry:
    return replace(entry, position=position, key=made[entry.key], value=made[entry.value])


def _field(entry: Entry, made: Mapping[Node, Node], position: int) -> Entry:
    assert isinstance(entry.key, Literal)
    return replace(entry, position=position, key=Literal(position, entry.key.value), value=made[entry.value])
