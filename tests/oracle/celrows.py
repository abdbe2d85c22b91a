"""Trees of expressions as rows of JSON, as the oracle writes them."""

from __future__ import annotations

from collections.abc import Sequence

from trainc.basics.jsonvalues import Json
from trainc.cel.ast import (
    Call,
    Comprehension,
    Entry,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Message,
    Node,
    Select,
    postorder,
)
from trainc.cel.values import Uint


def dump(node: Node) -> Json:
    """Return the tree as a list of rows, a row for each node after those of the nodes below it, the root's last.

    A row begins with a kind and a position; where a node belongs it has the number of that node's row.
    """
    numbers: dict[Node, int] = {}
    rows: list[Json] = []
    for part in postorder(node):
        numbers[part] = len(rows)
        rows.append(_row(part, numbers))
    return rows


def _row(node: Node, numbers: dict[Node, int]) -> list[Json]:
    match node:
        case Literal():
            return _constant(node)
        case Ident(position, name):
            return ["ident", position, name]
        case Select(position, operand, field, test_only):
            return ["has" if test_only else "select", position, numbers[operand], field]
        case Call(position, function, target, args):
            return [
                "call",
                position,
                function,
                None if target is None else numbers[target],
                [numbers[arg] for arg in args],
            ]
        case ListLiteral(position, elements, optional):
            return ["list", position, [numbers[element] for element in elements], list(optional)]
        case MapLiteral(position, entries):
            return ["map", position, _entries(entries, numbers)]
        case Message(position, type_name, entries):
            return ["message", position, type_name, _entries(entries, numbers)]
        case Comprehension():
            parts = (node.accu_init, node.condition, node.step, node.result)
            names = (node.iter_var, node.iter_var2, node.accu_var)
            return [
                "fold",
                node.position,
                numbers[node.iter_range],
                *names,
                *(numbers[part] for part in parts),
                node.macro,
            ]


def _constant(node: Literal) -> list[Json]:
    match node.value:
        case Uint(value):
            return ["uint", node.position, value]
        case bytes(value):
            return ["bytes", node.position, value.decode("latin-1")]
        case float(value):
            return ["double", node.position, value]
        case other:
            return ["literal", node.position, other]


def _entries(entries: Sequence[Entry], numbers: dict[Node, int]) -> list[Json]:
    return [[entry.position, numbers[entry.key], numbers[entry.value], entry.optional] for entry in entries]
