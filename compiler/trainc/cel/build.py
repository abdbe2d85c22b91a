"""Builds the tree of an expression: methods of Builder are named after the rules of the grammar.

Positions are those of cel-go (v0.26.0, parser/parser.go): of the operator, dot or opening parenthesis, or of a
literal's first token.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from trainc.basics.regex import lazy
from trainc.cel.ast import Call, Constant, Entry, Ident, ListLiteral, Literal, MapLiteral, Message, Node, Select
from trainc.cel.escaping import RESERVED
from trainc.cel.issues import Issue
from trainc.cel.lalr import Token, UnexpectedToken
from trainc.cel.macros import RECEIVER_MACROS, Budget, MacroError, Maker, has
from trainc.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

BINARY = {text: f"_{text}_" for text in ("<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "%")} | {"in": "@in"}
UNARY = {"!": "!_", "-": "-_"}
LISTS = ("exprlist", "listinits", "mapinits", "fieldinits")
RENAMING = frozenset(("expr", "conditionalor", "unary_not", "unary_neg", "literal", "ident", "optexpr", *LISTS))
"""Rules of one symbol that have a method."""


class Field(msgspec.Struct, frozen=True):
    """A field of a message, its offset, and the issue with its name, if any."""

    start: int
    entry: Entry
    issue: Issue | None


Optional: TypeAlias = tuple[Node, bool]
"""An expression, and whether a question mark precedes it."""


class Chain:
    """Operands of a run of ``&&`` or of ``||``, and the positions of the operators."""

    __slots__ = ("operands", "operator", "positions")

    def __init__(self, operator: str, first: Node) -> None:
        self.operator = operator
        self.operands = [first]
        self.positions: list[int] = []


Term: TypeAlias = Node | Chain


def linked(function: str, left: Term, operator: Token, right: Node) -> Chain:
    """Add an operand to the left chain, or start one."""
    chain = left if isinstance(left, Chain) else Chain(function, left)
    chain.operands.append(right)
    chain.positions.append(operator.start)
    return chain


def finished(term: Term) -> Node:
    """Return a chain as a balanced tree, like cel-go (parser/helper.go, logicManager)."""
    return _balanced(term, 0, len(term.positions) - 1) if isinstance(term, Chain) else term


def _balanced(chain: Chain, low: int, high: int) -> Node:
    middle = (low + high + 1) // 2
    left = chain.operands[middle] if middle == low else _balanced(chain, low, middle - 1)
    right = chain.operands[middle + 1] if middle == high else _balanced(chain, middle + 1, high)
    return Call(chain.positions[middle], chain.operator, None, (left, right))


class Builder:
    """Builds one tree. ``issues`` collects errors in cel-go's order."""

    def __init__(self, macros: frozenset[tuple[str, int]]) -> None:
        self.issues: list[Issue] = []
        self._macros = macros
        self._budget = Budget()
        self._nested: set[Node] = set()  # in parentheses, so not part of a message's name
        self._reserved: dict[Node, tuple[str, Issue]] = {}  # placeholders of reserved names

    def _wrong(self, position: int, message: str) -> Node:
        """Record an issue and return a placeholder."""
        self.issues.append(Issue(position, message))
        return Literal(position, None)

    # Operators

    def expr(
        self,
        condition: Term,
        operator: Token | None = None,
        then: Term | None = None,
        _: Token | None = None,
        otherwise: Node | None = None,
    ) -> Node:
        """``conditionalor ["?" conditionalor ":" expr]``."""
        if operator is None or then is None or otherwise is None:
            return finished(condition)
        return Call(operator.start, "_?_:_", None, (finished(condition), finished(then), otherwise))

    def conditionalor(self, left: Term, operator: Token | None = None, right: Term | None = None) -> Term:
        """``[conditionalor "||"] conditionaland``."""
        return finished(left) if operator is None or right is None else linked("_||_", left, operator, finished(right))

    def conditionaland(self, left: Term, operator: Token, right: Node) -> Chain:
        """``conditionaland "&&" relation``."""
        return linked("_&&_", left, operator, right)

    def _left(self, operand: Node, operator: Token) -> tuple[Node, Token]:
        return operand, operator

    relation_lt = relation_le = relation_gt = relation_ge = relation_eq = relation_ne = relation_in = _left
    addition_add = addition_sub = multiplication_mul = multiplication_div = multiplication_mod = _left

    def _binary(self, left: tuple[Node, Token], right: Node) -> Node:
        operand, operator = left
        return Call(operator.start, BINARY[operator.text], None, (operand, right))

    relation = addition = multiplication = _binary

    def unary_not(self, first: Any, operator: Token | None = None) -> list[Token]:
        """``"!" | unary_not "!"``."""
        if operator is None:
            return [first]
        first.append(operator)
        return first  # type: ignore[no-any-return]

    unary_neg = unary_not

    def unary(self, operators: list[Token], operand: Node) -> Node:
        """``unary_not member | unary_neg member``; an even number of operators cancels out."""
        if len(operators) % 2 == 0:
            return operand
        return Call(operators[0].start, UNARY[operators[0].text], None, (operand,))

    # Members

    def member_dot(self, operand: Node, dot: Token, *rest: Token) -> Node:
        """``member "." field | member "." "?" field``."""
        name = self._field(rest[-1])
        if len(rest) == 2:
            return Call(dot.start, "_?._", None, (operand, Literal(rest[-1].start, name)))
        return Select(dot.start, operand, name)

    def _field(self, token: Token) -> str:
        if token.kind == "ESC_IDENT":
            self._wrong(token.start, "unsupported syntax: '`'")
            return ""
        return token.text

    def member_dot_arg(self, target: Node, _: Token, name: Token, opening: Token, *rest: list[Node] | Token) -> Node:
        """``member "." IDENT "(" [exprlist] ")"``."""
        args = tuple(rest[0]) if isinstance(rest[0], list) else ()
        macro = (name.text, len(args))
        if macro not in self._macros or macro not in RECEIVER_MACROS:
            return Call(opening.start, name.text, target, args)
        try:
            return RECEIVER_MACROS[macro](Maker(opening.start, name.text, self._budget), target, args)
        except MacroError as error:
            return self._wrong(error.position, error.message)

    def member_index(self, operand: Node, bracket: Token, index: Optional, _: Token) -> Node:
        """``member "[" optexpr "]"``."""
        node, marked = index
        return Call(bracket.start, "_[?_]" if marked else "_[_]", None, (operand, node))

    def member_object(self, operand: Node, brace: Token, *rest: list[Field] | Token) -> Node:
        """``member "{" [fieldinits] [","] "}"``, where the member must be a name."""
        fields = []
        first = operand
        while isinstance(first, Select) and not first.test_only and first not in self._nested:
            fields.append(first.field)
            first = first.operand
        if first in self._reserved:  # part of a type name, not a variable
            name, issue = self._reserved[first]
            self.issues.remove(issue)
            fields.append(name)
        elif isinstance(first, Ident) and first not in self._nested:
            fields.append(first.name)
        else:
            raise UnexpectedToken(brace)
        return Message(brace.start, ".".join(reversed(fields)), tuple(self._entries(rest[0])))

    def _entries(self, fields: list[Field] | Token) -> Iterator[Entry]:
        if not isinstance(fields, list):
            return
        for field in fields:
            if field.issue is not None:  # cel-go reports it at the start of the list
                index = self.issues.index(field.issue)
                self.issues[index] = Issue(fields[0].start, field.issue.message)
            yield field.entry

    def fieldinit(self, *parts: Token | Node) -> Field:
        """``field ":" expr | "?" field ":" expr``."""
        first, (name, colon, value) = parts[0], parts[-3:]
        assert isinstance(first, Token) and isinstance(name, Token) and isinstance(colon, Token)
        assert not isinstance(value, Token)
        key = Literal(colon.start, self._field(name))
        issue = self.issues[-1] if name.kind == "ESC_IDENT" else None
        return Field(first.start, Entry(colon.start, key, value, len(parts) == 4), issue)

    # Primaries

    def ident(self, name: Token) -> Node:
        """``IDENT``."""
        return self._ident(name.start, "", name)

    def dot_ident(self, dot: Token, name: Token) -> Node:
        """``"." IDENT``."""
        return self._ident(dot.start, ".", name)

    def _ident(self, start: int, dot: str, name: Token) -> Node:
        if name.text in RESERVED:
            node = self._wrong(start, f"reserved identifier: {name.text}")
            self._reserved[node] = (dot + name.text, self.issues[-1])
            return node
        return Ident(name.start, dot + name.text)

    def ident_arg(self, name: Token, opening: Token, *rest: list[Node] | Token) -> Node:
        """``IDENT "(" [exprlist] ")"``."""
        args = tuple(rest[0]) if isinstance(rest[0], list) else ()
        if name.text == "has" and len(args) == 1 and ("has", 1) in self._macros:
            try:
                return has(opening.start, args[0])
            except MacroError as error:
                return self._wrong(error.position, error.message)
        return self._call(name.start, "", name, opening, args)

    def dot_ident_arg(self, dot: Token, name: Token, opening: Token, *rest: list[Node] | Token) -> Node:
        """``"." IDENT "(" [exprlist] ")"``."""
        return self._call(dot.start, ".", name, opening, tuple(rest[0]) if isinstance(rest[0], list) else ())

    def _call(self, start: int, dot: str, name: Token, opening: Token, args: tuple[Node, ...]) -> Node:
        if name.text in RESERVED:  # cel-go then ignores its arguments
            while self.issues and self.issues[-1].position >= start:
                self.issues.pop()
            return self._wrong(start, f"reserved identifier: {name.text}")
        return Call(opening.start, dot + name.text, None, args)

    def paren_expr(self, _: Token, node: Node, closing: Token) -> Node:
        """``"(" expr ")"``."""
        self._nested.add(node)
        return node

    def literal(self, token: Token) -> Node:
        """Any constant."""
        try:
            return Literal(token.start, READERS[token.kind](token.text))
        except ValueError as error:
            return self._wrong(token.start, str(error))

    def list_lit(self, bracket: Token, *rest: list[Optional] | Token) -> Node:
        """``"[" [listinits] [","] "]"``."""
        elements = rest[0] if isinstance(rest[0], list) else []
        optional = tuple(index for index, (_, marked) in enumerate(elements) if marked)
        return ListLiteral(bracket.start, tuple(node for node, _ in elements), optional)

    def map_lit(self, brace: Token, *rest: list[Entry] | Token) -> Node:
        """``"{" [mapinits] [","] "}"``."""
        return MapLiteral(brace.start, tuple(rest[0]) if isinstance(rest[0], list) else ())

    def _collect(self, items: Any, _: Token | None = None, item: Any = None) -> list[Any]:
        """``item | items "," item``."""
        if item is None:
            return [items]
        items.append(item)
        return items  # type: ignore[no-any-return]

    exprlist = listinits = mapinits = fieldinits = _collect

    def mapinit(self, key: Optional, colon: Token, value: Node) -> Entry:
        """``optexpr ":" expr``."""
        node, marked = key
        return Entry(colon.start, node, value, marked)

    def optexpr(self, *parts: Any) -> Optional:
        """``expr | "?" expr``."""
        return parts[-1], len(parts) == 2


# Literals (parser/parser.go and parser/unescape.go)

CONTROL_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
ONE_CHARACTER_ESCAPES = frozenset((*CONTROL_ESCAPES, *"\"'\\?`"))
ESCAPE = lazy(r"\\([xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|[\s\S])")


def _integer(text: str) -> int:
    """Return the value of a signed decimal or hexadecimal number; raises ValueError beyond 64 bits."""
    value = _number(text)
    if not INT_MIN <= value <= INT_MAX:
        raise ValueError("invalid int literal")
    return value


def _unsigned(text: str) -> Uint:
    """Return the value of a number that ends in u; raises ValueError beyond 64 bits."""
    value = _number(text[:-1])
    if value > UINT_MAX:
        raise ValueError("invalid uint literal")
    return Uint(value)


def _number(text: str) -> int:
    digits = text.lstrip("-")
    base = 16 if digits.startswith("0x") else 10
    significant = digits.removeprefix("0x").lstrip("0") or "0"
    # Python rejects thousands of decimal digits, and more than 20 never fit anyway.
    value = int(significant, base) if len(significant) <= 20 else UINT_MAX + 1
    return -value if text.startswith("-") else value


def _double(text: str) -> float:
    """Return the value of a number with a fraction or an exponent; raises ValueError if it is too large."""
    value = float(text)
    if math.isinf(value):
        raise ValueError("invalid double literal")
    return value


def _string(text: str) -> str:
    """Return the string of a quoted literal; raises ValueError for an invalid code point."""
    body, raw = _body(text)
    return body if raw else ESCAPE.sub(_character, body)


def _byte_string(text: str) -> bytes:
    """Return the bytes of a literal that starts with b; raises ValueError for an escape that bytes do not support."""
    body, raw = _body(text[1:])
    parts = [body] if raw else ESCAPE.split(body)  # texts and escapes in turn
    plain = (part.encode("utf-8", "surrogatepass") for part in parts[::2])
    return next(plain) + b"".join(_octets(code) + text for code, text in zip(parts[1::2], plain, strict=True))


def _body(text: str) -> tuple[str, bool]:
    """Return the text between the quotes, with line ends as ``\\n``, and whether it is raw."""
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if len(quoted) >= 6 and quoted[:3] in ("'''", '"""') else 1
    return quoted[width:-width].replace("\r\n", "\n").replace("\r", "\n"), raw


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 1:
        return CONTROL_ESCAPES.get(code, code)
    value = int(code, 8) if code[0] in "0123" else int(code[1:], 16)
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(value)


def _octets(code: str) -> bytes:
    if len(code) == 1:
        return CONTROL_ESCAPES.get(code, code).encode()
    if code[0] in "uU":
        raise ValueError("unable to unescape string")
    return bytes((int(code, 8) if code[0] in "0123" else int(code[1:], 16),))


CONSTANTS: Mapping[str, Constant] = {"true": True, "false": False, "null": None}
READERS: Mapping[str, Callable[[str], Constant]] = {
    "INT_LIT": _integer,
    "UINT_LIT": _unsigned,
    "FLOAT_LIT": _double,
    "STRING_LIT": _string,
    "MLSTRING_LIT": _string,
    "BYTES_LIT": _byte_string,
    "BOOL_LIT": CONSTANTS.__getitem__,
    "NULL_LIT": CONSTANTS.__getitem__,
}
