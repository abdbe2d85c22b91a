"""The judgments of the checker that look at types only, not at the tree: cel-go v0.26.0 checker/checker.go."""

from __future__ import annotations

from msgspec import Struct

from trainc.cel import types
from trainc.cel.ast import Call, Node
from trainc.cel.declarations import Environment, Names
from trainc.cel.escaping import RESERVED
from trainc.cel.functions import Overload
from trainc.cel.issues import Issue
from trainc.cel.types import Kind, Type
from trainc.cel.unification import Bindings, application, general, is_dynamic, select, unwrap
from trainc.cel.values import Value


class Reference(Struct, frozen=True):
    """What a node refers to.

    ``name``: the full name of an identifier or of a message's type. ``overloads``: the ids of those overloads of a call
    that its static types allow, in order. ``value``: the constant that an identifier is, a type or an enum's number;
    an identifier of kind type without a value is one that the server cannot plan.
    """

    name: str = ""
    overloads: tuple[str, ...] = ()
    value: Value = None


class Judge:
    """What is known of one expression so far: types, references and errors. Errors do not end the checking."""

    __slots__ = ("bindings", "environment", "issues", "names", "references", "types")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.names = Names(environment)
        self.bindings = Bindings()
        self.types: dict[Node, Type] = {}
        self.references: dict[Node, Reference] = {}
        self.issues: list[Issue] = []

    def error(self, position: int, message: str) -> None:
        """Note an error."""
        self.issues.append(Issue(position, message))

    def undeclared(self, node: Node, name: str) -> None:
        """Note that nothing has a name."""
        container = self.environment.container
        self.error(node.position, f"undeclared reference to '{name}' (in container '{container}')")
        self.types[node] = types.ERROR

    def mismatch(self, position: int, expected: Type, found: Type) -> None:
        """Note a type where another is expected."""
        self.error(position, f"expected type '{expected}' but found '{found}'")

    def require(self, node: Node, expected: Type) -> None:
        """Note if a node is not of a type."""
        if not self.bindings.assignable(expected, self.types[node]):
            self.mismatch(node.position, expected, self.types[node])

    def selected(self, position: int, operand: Node, name: str, optional: bool = False) -> Type:
        """Return the type of a field of an operand; that of an optional's, or after ``.?``, is optional."""
        target, inside = unwrap(self.bindings.substitute(self.types[operand]))
        result = types.DYN
        if target.kind is Kind.MAP:
            result = target.parameters[1]
        elif target.kind is Kind.STRUCT:
            result = self.declared_field(position, target.name, name)
        elif target.kind is Kind.PARAMETER:
            self.bindings.assignable(types.DYN, target)
        elif not is_dynamic(target) and target.kind is not Kind.ERROR:
            self.error(position, f"type '{target}' does not support field selection")
        return types.optional_of(result) if inside or optional else result

    def declared_field(self, position: int, struct: str, name: str) -> Type:
        """Return the declared type of a struct's field, or that of errors.

        Fields named like a word that CEL reserves are declared as ``__word__`` and found under both names
        (k8s.io/apiserver pkg/cel/types.go, FindStructFieldType).
        """
        fields = self.environment.objects.get(struct)
        if fields is None:
            fields = self.environment.messages.get(struct)
        if fields is None:
            self.error(position, f"unexpected failed resolution of '{struct}'")
            return types.ERROR
        found = fields.get(name)
        if found is None and name in RESERVED:
            found = fields.get(f"__{name}__")
        if found is None:
            self.error(position, f"undefined field '{name}'")
            return types.ERROR
        return found

    def resolve(self, node: Call, name: str, overloads: tuple[Overload, ...]) -> None:
        """Find what a call may mean, by the types of its arguments."""
        if name in ("_&&_", "_||_"):
            self._logical(node, overloads[0].id)
            return
        member = node.target is not None
        given = [self.types[each] for each in ((node.target, *node.args) if node.target is not None else node.args)]
        result, chosen = select(overloads, member, given, self.bindings)
        if result is None:
            applied = application(given, member, self.bindings)
            self.error(node.position, f"found no matching overload for '{name}' applied to '{applied}'")
            self.types[node] = types.ERROR
            return
        self.types[node] = self.bindings.bounded(result)
        self.references[node] = Reference(overloads=chosen)

    def _logical(self, node: Call, overload: str) -> None:
        wrong = False
        for arg in node.args:
            if not self.bindings.assignable(self.types[arg], types.BOOL):
                self.mismatch(arg.position, types.BOOL, self.types[arg])
                wrong = True
        self.types[node] = types.ERROR if wrong else types.BOOL
        if not wrong:
            self.references[node] = Reference(overloads=(overload,))

    def element(self, node: Node, optional: bool) -> Type:
        """Return the type that an element adds to its list or map: behind a question mark it must be optional."""
        type_ = self.types[node]
        if not optional:
            return type_
        inner, inside = unwrap(type_)
        if not inside and not is_dynamic(inner):
            self.mismatch(node.position, types.optional_of(inner), inner)
        return inner

    def join(self, before: Type | None, type_: Type) -> Type:
        """Return the type of elements of a list or map, one more included; dyn if they differ (see validators.py)."""
        if before is None:
            return type_
        return general(before, type_) if self.bindings.assignable(before, type_) else types.DYN

    def fit(self, position: int, struct: str, name: str, given: Type) -> None:
        """Note if a value does not fit the field of a message."""
        wanted = self.declared_field(position, struct, name)
        if not self.bindings.assignable(wanted, given):
            self.error(position, f"expected type of field '{name}' is '{wanted}' but provided type is '{given}'")

    def iterated(self, over: Node, two: bool) -> tuple[Type, Type]:
        """Return the types of a macro's variables over a range; the second counts only if there are two."""
        ranged = self.bindings.substitute(self.types[over])
        if ranged.kind is Kind.LIST:
            [element] = ranged.parameters
            return (types.INT, element) if two else (element, element)
        if ranged.kind is Kind.MAP:
            return ranged.parameters[0], ranged.parameters[1]
        if ranged.kind in (Kind.DYN, Kind.ERROR, Kind.PARAMETER):
            self.bindings.assignable(types.DYN, ranged)
            return types.DYN, types.DYN
        message = f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.error(over.position, message)
        return types.ERROR, types.ERROR
