"""What an expression looks at: the fields that it selects from a variable."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Path
from trainc.cel.ast import Call, Ident, Literal, Node, Select, postorder
from trainc.cel.escaping import unescape


def common_selection(root: Node, variable: str) -> Path:
    """Return the steps from a variable to what all of an expression is about: ``self.a.b > 1 && self.a.c`` gives a."""
    paths = list(selections(root, variable))
    if not paths:
        return ()
    common = paths[0]
    for path in paths[1:]:
        length = next((index for index, pair in enumerate(zip(common, path, strict=False)) if pair[0] != pair[1]), None)
        common = common[: min(len(common), len(path)) if length is None else length]
    return common


def selections(root: Node, variable: str) -> Iterator[Path]:
    """Yield the steps of every longest chain of fields and constant indexes that begins at a variable."""
    chains: dict[Node, Path] = {}
    inner: set[Node] = set()
    for node in postorder(root):
        if isinstance(node, Ident) and node.name == variable:
            chains[node] = ()
        elif (step := _step(node)) is not None and step[0] in chains:
            chains[node] = (*chains[step[0]], step[1])
            inner.add(step[0])
    yield from (path for node, path in chains.items() if node not in inner)


def _step(node: Node) -> tuple[Node, str | int] | None:
    """Return what a node selects from, and the field or index."""
    if isinstance(node, Select):
        name = unescape(node.field)
        return None if name is None else (node.operand, name)
    if isinstance(node, Call) and node.function in ("_[_]", "_[?_]", "_?._") and len(node.args) == 2:
        key = node.args[1]
        if isinstance(key, Literal) and key.value.__class__ in (str, int):
            return node.args[0], key.value
    return None
