"""Validates the literals of a checked expression like the API server: formats, durations, patterns, mixed lists.

Source: cel-go v0.26.0 cel/validator.go and, of ``format``, ext/formatting.go; k8s.io/apiserver v0.34
pkg/cel/environment/base.go for the validators and their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from trainc.cel.ast import Call, ListLiteral, Literal, MapLiteral, Node, children, postorder
from trainc.cel.declarations import Checked
from trainc.cel.gotext import utf8
from trainc.cel.issues import Issue
from trainc.cel.library import functions, regex
from trainc.cel.library.strings import CLAUSES, clauses
from trainc.cel.types import Kind, Type, type_name
from trainc.cel.unification import exact, kind, unwrap
from trainc.cel.values import NO_OVERLOAD, EvalError

EXEMPT = "format"
"""Literals below a call of this function may mix types."""
NO_OPTIONAL = "an element behind a question mark must be of type optional_type, not dyn, for the API server to check it"
"""The checker allows dyn, but the server's validator fails on it (cel/validator.go)."""


def validate(checked: Checked) -> list[Issue]:
    """Return the issues of literals in a checked expression, in cel-go's order."""
    calls: list[Call] = []
    literals: list[ListLiteral | MapLiteral] = []
    nodes = postorder(checked.root)
    for node in nodes:
        if isinstance(node, Call) and node.function in _VALIDATED:
            calls.append(node)
        elif isinstance(node, ListLiteral | MapLiteral):
            literals.append(node)
    if not calls and not literals:
        return []
    formats = [call for call in calls if call.function == EXEMPT]
    exempt = _exempt(nodes) if formats else frozenset()
    issues = list(_mixed(checked, [literal for literal in literals if literal not in exempt]))
    for name, validator in _ARGUMENTS.items():
        issues += _arguments(checked, calls, name, validator)
    for call in formats:
        issues += _format_issues(checked, call)
    return issues


def _arguments(
    checked: Checked, calls: Iterable[Call], name: str, validator: Callable[[Checked, Call, Literal], None]
) -> Iterator[Issue]:
    """Validate the first argument of every call of a function, if it is a literal."""
    for call in calls:
        if call.function != name or not call.args or not isinstance(call.args[0], Literal):
            continue
        try:
            validator(checked, call, call.args[0])
        except EvalError:
            yield Issue(call.args[0].position, f"invalid {name} argument")


def _convert(checked: Checked, call: Call, literal: Literal) -> None:
    """Run a conversion. Null passes the checker, as times may be null, but cannot be converted."""
    if literal.value is None:
        raise EvalError(NO_OVERLOAD)
    [chosen] = checked.references[call].overloads
    for overload in functions()[call.function].overloads:
        if overload.id == chosen and overload.run is not None:
            overload.run(literal.value)


def _compile(_: Checked, __: Call, literal: Literal) -> None:
    """Compile a regular expression; for ``matches(text, regex)`` that is the text, as in cel-go."""
    assert isinstance(literal.value, str)
    regex.check(literal.value)


_ARGUMENTS: Mapping[str, Callable[[Checked, Call, Literal], None]] = {
    "duration": _convert,
    "timestamp": _convert,
    "matches": _compile,
}
_VALIDATED = frozenset({*_ARGUMENTS, EXEMPT})


def _exempt(nodes: list[Node]) -> frozenset[Node]:
    """Return the nodes below calls of EXEMPT; ``nodes`` are in postorder."""
    found: set[Node] = set()
    for node in reversed(nodes):
        if node in found or (isinstance(node, Call) and node.function == EXEMPT):
            found.update(children(node))
    return frozenset(found)


def _mixed(checked: Checked, literals: Iterable[ListLiteral | MapLiteral]) -> Iterator[Issue]:
    """Check that elements of lists, then keys and values of maps, have one type."""
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
    """Return the type of an element; after a question mark that inside the optional, None for dyn."""
    type_ = checked.types[node]
    if not optional:
        return type_
    inner, inside = unwrap(type_)
    return inner if inside else None


def _mismatch(node: Node, expected: Type, found: Type) -> Issue:
    return Issue(node.position, f"expected type '{expected}' but found '{found}'")


# Formats


def _format_issues(checked: Checked, call: Call) -> Iterator[Issue]:
    """Yield the first issue of a call of format() on a literal with a literal list."""
    template = call.target
    if not isinstance(template, Literal) or not isinstance(template.value, str) or len(call.args) != 1:
        return
    given = call.args[0]
    if not isinstance(given, ListLiteral):
        return
    used = 0
    try:
        for _, letter, _ in clauses(utf8(template.value), len(given.elements), static=True):
            node = _misfit(checked, given.elements[used], letter) if letter else None
            if node is not None:
                words = f"{CLAUSES[letter].complaint}, was given {type_name(checked.types[node])}"
                yield Issue(node.position, f"error during formatting: {words}")
                return
            used += bool(letter)
    except EvalError as error:
        yield Issue(call.position, error.message)
        return
    if len(given.elements) > used:
        count = f"(expected {used}, got {len(given.elements)})"
        yield Issue(call.position, f"too many arguments supplied to string.format {count}")


def _misfit(checked: Checked, node: Node, letter: str) -> Node | None:
    """Return the node whose type a clause does not accept: the argument or, for ``%s``, an element inside it."""
    pending: list[Node] = [node]
    while pending:
        found = pending.pop()
        type_ = checked.types[found]
        if type_.kind is not Kind.DYN and kind(type_) not in CLAUSES[letter].kinds:
            return found
        if letter == "s":
            pending.extend(reversed(children(found) if isinstance(found, ListLiteral | MapLiteral) else ()))
    return None
