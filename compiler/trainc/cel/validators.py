"""What the API server checks of an expression after its types: literals that can be judged without running anything.

Source: cel-go v0.26.0 cel/validator.go and, of ``format``, ext/formatting.go; k8s.io/apiserver v0.34
pkg/cel/environment/base.go says which validators there are, and in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from trainc.cel.ast import Call, ListLiteral, Literal, MapLiteral, Node, children, postorder
from trainc.cel.issues import Issue
from trainc.cel.library import functions
from trainc.cel.types import Type
from trainc.cel.unification import exact, unwrap
from trainc.cel.values import EvalError

if TYPE_CHECKING:
    from trainc.cel.checker import Checked

EXEMPT = "format"
"""Literals anywhere below a call of this function may mix types."""
NO_OPTIONAL = "an element behind a question mark must be of type optional_type, not dyn, for the API server to check it"
"""The checker allows dyn there, but the server's code fails on it (cel/validator.go looks for a type's parameter)."""


def validate(checked: Checked) -> list[Issue]:
    """Return what is wrong with literals of a checked expression, in cel-go's order."""
    calls: list[Call] = []
    literals: list[ListLiteral | MapLiteral] = []
    nodes = postorder(checked.root)
    for node in nodes:
        if isinstance(node, Call) and node.function in _JUDGED:
            calls.append(node)
        elif isinstance(node, ListLiteral | MapLiteral):
            literals.append(node)
    if not calls and not literals:
        return []
    formats = [call for call in calls if call.function == EXEMPT]
    exempt = _exempt(nodes) if formats else frozenset()
    issues = list(_mixed(checked, [literal for literal in literals if literal not in exempt]))
    for name, judge in _ARGUMENTS.items():
        issues += _arguments(checked, calls, name, judge)
    if formats:
        from trainc.cel.formatcheck import format_issues

        for call in formats:
            issues += format_issues(checked, call)
    return issues


def _arguments(
    checked: Checked, calls: Iterable[Call], name: str, judge: Callable[[Checked, Call, Literal], None]
) -> Iterator[Issue]:
    """Judge the first argument of every call of a function, where that is a literal."""
    for call in calls:
        if call.function != name or not call.args or not isinstance(call.args[0], Literal):
            continue
        try:
            judge(checked, call, call.args[0])
        except EvalError:
            yield Issue(call.args[0].position, f"invalid {name} argument")


def _convert(checked: Checked, call: Call, literal: Literal) -> None:
    """Run a conversion. Null passes the checker, as times may be null, but nothing converts it."""
    if literal.value is None:
        raise EvalError("no such overload")
    [chosen] = checked.references[call].overloads
    for overload in functions()[call.function].overloads:
        if overload.id == chosen and overload.run is not None:
            overload.run(literal.value)


def _compile(_: Checked, __: Call, literal: Literal) -> None:
    """Compile a regular expression; of ``matches(text, regex)`` it is the text, as in cel-go."""
    from trainc.cel.library.regex import check

    assert isinstance(literal.value, str)
    check(literal.value)


_ARGUMENTS: Mapping[str, Callable[[Checked, Call, Literal], None]] = {
    "duration": _convert,
    "timestamp": _convert,
    "matches": _compile,
}
_JUDGED = frozenset({*_ARGUMENTS, EXEMPT})


def _exempt(nodes: list[Node]) -> frozenset[Node]:
    """Return the nodes below calls of the function that takes mixed lists; nodes come after those below them."""
    found: set[Node] = set()
    for node in reversed(nodes):
        if node in found or (isinstance(node, Call) and node.function == EXEMPT):
            found.update(children(node))
    return frozenset(found)


def _mixed(checked: Checked, literals: Iterable[ListLiteral | MapLiteral]) -> Iterator[Issue]:
    """Judge lists, then maps: the types of elements, keys and values must be one each."""
    found = list(literals)
    for literal in found:
        if isinstance(literal, ListLiteral):
            yield from _mixed_list(checked, literal)
    for literal in found:
        if isinstance(literal, MapLiteral):
            yield from _mixed_map(checked, literal)


def _mixed_list(checked: Checked, literal: ListLiteral) -> Iterator[Issue]:
    first: Type | None = None
    for index, element in enumerate(literal.elements):
        type_ = _inner(checked, element, index in literal.optional)
        if type_ is None:
            yield Issue(element.position, NO_OPTIONAL)
            return
        if first is None:
            first = type_
        elif not exact(first, type_):
            yield _mismatch(element, first, type_)
            return


def _mixed_map(checked: Checked, literal: MapLiteral) -> Iterator[Issue]:
    keys: Type | None = None
    values: Type | None = None
    for entry in literal.entries:
        key, value = checked.types[entry.key], _inner(checked, entry.value, entry.optional)
        if value is None:
            yield Issue(entry.value.position, NO_OPTIONAL)
            return
        if keys is None or values is None:
            keys, values = key, value
            continue
        if not exact(keys, key):
            yield _mismatch(entry.key, keys, key)
        if not exact(values, value):
            yield _mismatch(entry.value, values, value)


def _inner(checked: Checked, node: Node, optional: bool) -> Type | None:
    """Return the type of an element; behind a question mark that of what is inside of the optional, None for dyn."""
    type_ = checked.types[node]
    if not optional:
        return type_
    inner, inside = unwrap(type_)
    return inner if inside else None


def _mismatch(node: Node, expected: Type, found: Type) -> Issue:
    return Issue(node.position, f"expected type '{expected}' but found '{found}'")
