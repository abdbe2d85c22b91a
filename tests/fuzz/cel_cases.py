"""Makes expressions for the CEL targets: well typed and nearly so, and those of our corpora with parts exchanged.

All choices come from a ``random.Random`` (the fuzzer's bytes); the first choice everywhere is the shortest.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from functools import cache
from typing import NamedTuple

from fuzz.cel_worlds import World, worlds
from oracle import celgoldens
from oracle.celexpressions import Maker, soup_of
from trainc.cel import types
from trainc.cel.ast import Call, Literal, postorder
from trainc.cel.functions import Overload
from trainc.cel.issues import CompileError
from trainc.cel.lalr import Token, scan
from trainc.cel.library import functions
from trainc.cel.macros import MACROS
from trainc.cel.parser import parse
from trainc.cel.types import Kind, Type, list_of, map_of, opaque, optional_of

LONGEST = 400
"""Code points of an expression: longer ones find no more, and cost time."""

ENDLESS = re.compile(r"lists\.range|\d[eE][-+]?\d{4}")
"""Not fuzzed, because Go does not come to an end: it makes the whole list, and writes out a quantity such as
1e9999999999, before it counts the cost."""

NOT_WRITTEN = {
    "lists.range",
    "@not_strictly_false",
    "__not_strictly_false__",
    "cel.@mapInsert",
    "@sortByAssociatedKeys",
    "_in_",
    "in",
}
"""Functions that no expression can call."""

OPAQUE = tuple(map(opaque, ("kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.IP", "net.CIDR")))
SIMPLE = (
    *(types.INT, types.STRING, types.BOOL, types.DOUBLE, types.UINT, types.DYN, types.NULL, types.BYTES),
    *(types.TIMESTAMP, types.DURATION, *OPAQUE, types.TYPE),
)
LITERALS: dict[Kind, tuple[str, ...]] = {
    Kind.INT: (
        *("1", "0", "-1", "2", "3", "10", "-9223372036854775808", "9223372036854775807", "0x10", "63", "1000000007"),
        *("4611686018427387904", "-2", "86400", "253402300800", "-62135596801", "1e3", "3037000500", "32", "127"),
    ),
    Kind.UINT: ("1u", "0u", "18446744073709551615u", "9223372036854775808u", "0xFFu", "7u", "4294967296u"),
    Kind.DOUBLE: (
        *("1.0", "0.0", "-0.0", "0.5", "1e308", "-1e308", "5e-324", "9223372036854775807.0", "-9223372036854775808.0"),
        *("(0.0/0.0)", "(1.0/0.0)", "2.5", "1e21", "1e-7", "18446744073709551615.0", "0.1", "123456789.125", "1e100"),
    ),
    Kind.STRING: ('""', "'a'", "'b'", "'é😀'", r"'\x00'", "'1'", "'a,b,c'", "'abc'", "' '", "'%'", r"'\n\t'", "'ß'"),
    Kind.BOOL: ("true", "false"),
    Kind.NULL: ("null",),
    Kind.BYTES: ("b'a'", "b''", r"b'\xff\x00'", "b'é'"),
    Kind.TIMESTAMP: (
        "timestamp('2024-02-29T12:00:00Z')",
        "timestamp(0)",
        "timestamp('0001-01-01T00:00:00Z')",
        "timestamp('9999-12-31T23:59:59.999999999Z')",
        "timestamp('2023-06-14T02:00:00.123-07:30')",
    ),
    Kind.DURATION: (
        "duration('1h')",
        "duration('-1ns')",
        "duration('0')",
        "duration('2562047h47m16.8s')",
        "duration(1)",
    ),
    Kind.TYPE: ("int", "type(1)", "string", "list", "null_type", "type", "map", "double"),
}
TEXTS = {
    "kubernetes.Quantity": "quantity",
    "kubernetes.Semver": "semver",
    "kubernetes.URL": "url",
    "net.IP": "ip",
    "net.CIDR": "cidr",
}
INFIX = {f"_{sign}_": sign for sign in ("+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||")} | {
    "@in": "in"
}
FOLDS = ("all", "exists", "exists_one", "existsOne")
FORMATS = ("%s", "%d", "%f", "%.3f", "%e", "%x", "%X", "%o", "%b", "%%", "%.20e", "%v", "%.f", "%5d", "%s %s", "%")


class Pools(NamedTuple):
    """What the corpora hold: expressions, and the literals that are arguments of each function."""

    expressions: tuple[str, ...]
    arguments: dict[tuple[str, int], tuple[str, ...]]


@cache
def pools() -> Pools:
    """Read the recorded expressions."""
    found: dict[str, None] = {}
    for path in sorted([*celgoldens.GOLDENS.glob("*.jsonl"), *celgoldens.CASES.glob("*/*.jsonl")]):
        if path.stem != "costly":
            found.update((row.get("question", row)["expr"], None) for row in celgoldens.rows(path))
    texts = tuple(text for text in found if len(text) <= LONGEST)
    arguments: dict[tuple[str, int], dict[str, None]] = defaultdict(dict)
    for text in texts:
        try:
            root = parse(text, MACROS)
        except CompileError:
            continue
        for node in postorder(root):
            if isinstance(node, Call):
                for index, each in enumerate((node.target, *node.args) if node.target is not None else node.args):
                    if isinstance(each, Literal) and isinstance(each.value, str):
                        arguments[node.function, index][quoted(each.value)] = None
    return Pools(texts, {key: tuple(values) for key, values in arguments.items()})


def quoted(text: str) -> str:
    """Return a text as a literal."""
    simple = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\0": "\\x00"}
    return "'" + "".join(simple.get(letter, letter) for letter in text) + "'"


@cache
def producers(result: Type) -> tuple[tuple[str, Overload], ...]:
    """Return the overloads whose result may have a type."""
    rows = [row for name, row in functions().items() if name not in NOT_WRITTEN]
    return tuple(
        (row.name, each) for row in rows for each in row.overloads if _bound(each.signature.result, result) is not None
    )


def _bound(declared: Type, wanted: Type) -> dict[str, Type] | None:
    """Return the type variables that make a declared type the wanted one, None if there are none."""
    if declared.kind is Kind.PARAMETER:
        return {declared.name: wanted}
    if declared.kind is not wanted.kind or declared.name != wanted.name:
        return None
    found: dict[str, Type] = {}
    for one, other in zip(declared.parameters, wanted.parameters, strict=False):
        if (below := _bound(one, other)) is None:
            return None
        found |= below
    return found


class Typed:
    """Makes well typed expressions of a world, and with a small probability parts of another type."""

    def __init__(self, chance: random.Random, world: World) -> None:
        self.chance = chance
        self.operands: dict[Type, list[str]] = defaultdict(list)
        for text, type_ in world.operands:
            self.operands[type_].append(text)
        self.bound: list[tuple[str, Type]] = []
        self.left = 24
        """How many more parts may have parts of their own."""

    def any_type(self, depth: int = 1) -> Type:
        """Choose a type."""
        kind = self.chance.randrange(8) if depth else 0
        if kind == 5:
            return list_of(self.any_type(depth - 1))
        if kind == 6:
            key = (types.STRING, types.INT, types.BOOL, types.UINT)[self.chance.randrange(4)]
            return map_of(key, self.any_type(depth - 1))
        if kind == 7:
            return optional_of(self.any_type(depth - 1))
        if kind == 4:
            return self.chance.choice(tuple(self.operands))
        return self.chance.choice(SIMPLE)

    def of(self, type_: Type, depth: int) -> str:
        """Return an expression of a type."""
        kind = self.chance.randrange(20)
        if kind == 19:
            type_ = self.any_type()
        if depth <= 0 or kind < 4 or self.left <= 0:
            return self.leaf(type_, depth)
        self.left -= 1
        if kind == 4:
            condition = self.of(types.BOOL, depth - 1)
            return f"({condition} ? {self.of(type_, depth - 1)} : {self.of(type_, depth - 1)})"
        if kind == 5:
            return f"dyn({self.of(self.any_type(), depth - 1)})"
        if kind < 9 and (text := self.macro(type_, depth)) is not None:
            return text
        rows = producers(type_)
        return self.call(*self.chance.choice(rows), type_, depth) if rows else self.leaf(type_, depth)

    def leaf(self, type_: Type, depth: int = 0) -> str:
        """Return a variable or a literal of a type."""
        kind = self.chance.randrange(4)
        own = [text for text, each in self.bound if each == type_]
        if own and kind:
            return self.chance.choice(own)
        if kind > 1 and (texts := self.operands.get(type_)):
            return self.chance.choice(texts)
        if (literals := LITERALS.get(type_.kind)) is not None:
            return self.chance.choice(literals)
        below = max(depth - 1, 0)
        if type_.kind is Kind.LIST:
            return f"[{', '.join(self.entry(self.of(type_.parameters[0], below)) for _ in range(kind))}]"
        if type_.kind is Kind.MAP:
            key, value = type_.parameters
            return "{" + ", ".join(f"{self.entry(self.of(key, 0))}: {self.of(value, below)}" for _ in range(kind)) + "}"
        if type_.name == "optional_type":
            return f"optional.of({self.of(type_.parameters[0], below)})" if kind else "optional.none()"
        if type_.name in TEXTS:
            return f"{TEXTS[type_.name]}({self.text(TEXTS[type_.name], 0)})"
        if type_.kind in (Kind.DYN, Kind.ANY) or kind == 0:
            return self.leaf(self.chance.choice(SIMPLE[:5]))
        return self.chance.choice([text for texts in self.operands.values() for text in texts])

    def entry(self, text: str) -> str:
        """Return an element, now and then as an optional one."""
        return f"?{text}" if self.chance.randrange(32) == 31 else text

    def text(self, function: str, index: int) -> str:
        """Return a literal that is an argument of a function somewhere, or nearly."""
        literals = pools().arguments.get((function, index)) or LITERALS[Kind.STRING]
        literal = self.chance.choice(literals)
        if self.chance.randrange(4) == 3 and len(literal) > 2:
            at = self.chance.randrange(1, len(literal) - 1)
            other = self.chance.choice(("", "0", ".", "-", ":", "/", "1", "é", "%", "e", "Z", "9", " "))
            literal = literal[:at] + other + literal[at + self.chance.randrange(2) :]
        return literal

    def macro(self, type_: Type, depth: int) -> str | None:
        """Return a macro of a type, None if no macro has it."""
        name = ("x", "y", "v", "self")[self.chance.randrange(4)]
        element = self.any_type()
        if type_.kind is Kind.BOOL:
            return self.fold(name, element, depth)
        if type_.name == "optional_type":
            macro = self.chance.choice(("optMap", "optFlatMap"))
            target = self.of(optional_of(element), depth - 1)
            result = type_ if macro == "optFlatMap" else type_.parameters[0]
            return f"{target}.{macro}({name}, {self.within(((name, element),), result, depth)})"
        if type_.kind is Kind.LIST:
            return self.listing(name, element, type_.parameters[0], depth)
        if type_.kind is Kind.MAP:
            source = self.of(map_of(type_.parameters[0], element), depth - 1)
            names = (("k", type_.parameters[0]), (name, element))
            condition = f"{self.within(names, types.BOOL, depth - 1)}, " if self.chance.randrange(3) == 2 else ""
            return f"{source}.transformMap(k, {name}, {condition}{self.within(names, type_.parameters[1], depth)})"
        return None

    def fold(self, name: str, element: Type, depth: int) -> str:
        macro = self.chance.choice(FOLDS)
        kind = self.chance.randrange(4)
        if kind == 3:
            source, first = self.of(map_of(types.STRING, element), depth - 1), types.STRING
        else:
            source, first = self.of(list_of(element), depth - 1), types.INT
        if kind >= 2:
            return f"{source}.{macro}(i, {name}, {self.within((('i', first), (name, element)), types.BOOL, depth)})"
        return f"{source}.{macro}({name}, {self.within(((name, element),), types.BOOL, depth)})"

    def listing(self, name: str, element: Type, result: Type, depth: int) -> str:
        macro = self.chance.choice(("map", "filter", "sortBy", "transformList", "map2"))
        if macro in ("filter", "sortBy"):
            body = types.BOOL if macro == "filter" else self.chance.choice(SIMPLE[:5])
            source = self.of(list_of(result), depth - 1)
            return f"{source}.{macro}({name}, {self.within(((name, result),), body, depth)})"
        source = self.of(list_of(element), depth - 1)
        if macro == "transformList":
            names = (("i", types.INT), (name, element))
            return f"{source}.transformList(i, {name}, {self.within(names, result, depth)})"
        condition = f"{self.within(((name, element),), types.BOOL, depth - 1)}, " if macro == "map2" else ""
        return f"{source}.map({name}, {condition}{self.within(((name, element),), result, depth)})"

    def within(self, names: tuple[tuple[str, Type], ...], type_: Type, depth: int) -> str:
        """Return an expression in the scope of a macro."""
        self.bound.extend(names)
        text = self.of(type_, depth - 1)
        del self.bound[len(self.bound) - len(names) :]
        return text

    def call(self, name: str, overload: Overload, type_: Type, depth: int) -> str:
        """Return a call of an overload."""
        signature = overload.signature
        known = _bound(signature.result, type_) or {}
        for variable in signature.variables:
            known.setdefault(variable, self.any_type())
        args = [self.argument(name, index, _with(each, known), depth - 1) for index, each in enumerate(signature.args)]
        if name in INFIX:
            return f"({args[0]} {INFIX[name]} {args[1]})"
        if name in ("!_", "-_"):
            return f"{name[0]}{args[0]}"
        if name == "_?_:_":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if name in ("_[_]", "_[?_]"):
            return f"{args[0]}[{'?' if '?' in name else ''}{args[1]}]"
        if name == "_?._":
            return f"{args[0]}.?{self.chance.choice(('a', 'k', 'spec', 'b'))}"
        if signature.member:
            return f"{args[0]}.{name}({', '.join(args[1:])})"
        return f"{name}({', '.join(args)})"

    def argument(self, function: str, index: int, type_: Type, depth: int) -> str:
        if function == "format" and index == 0:
            return quoted("".join(self.chance.choice(FORMATS) for _ in range(self.chance.randrange(4))))
        if type_.kind is Kind.STRING and (function, index) in pools().arguments and self.chance.randrange(3):
            return self.text(function, index)
        return self.of(type_, depth)


def _with(type_: Type, known: dict[str, Type]) -> Type:
    if type_.kind is Kind.PARAMETER:
        return known[type_.name]
    return type_.mapped(lambda each: _with(each, known))


STARTS = {"IDENT", "LPAR", "LSQB", "LBRACE", "INT_LIT", "UINT_LIT", "FLOAT_LIT", "STRING_LIT", "BYTES_LIT", "BOOL_LIT"}
CLOSING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
WRAPPERS = (
    *("dyn({})", "[{}]", "optional.of({})", "type({})", "{{'k': {}}}", "{}.orValue(1)", "({}).size()", "string({})"),
    *("[{}].map(x, x)", "[1, 2].map(x, {})", "[{0}, {0}]", "({0} == {0})", "{}.?k", "!({})", "-({})", "({})[0]"),
    *("optional.ofNonZeroValue({})", "[{}, 1].exists(y, y == 1)", "(true || {})", "({} && false)", "({}).hasValue()"),
    *("({}).optMap(z, [z])", "({} in [{}])", "int({})", "'%s'.format([{}])", "[{}].distinct()", "[[{}]].flatten()"),
)


class Mutant:
    """Exchanges parts of recorded expressions."""

    def __init__(self, chance: random.Random, world: World) -> None:
        self.chance, self.typed = chance, Typed(chance, world)
        self.names = tuple(text for text, _ in world.operands)

    def text(self) -> str:
        """Return an expression of the corpora with up to four changes."""
        text = self.chance.choice(pools().expressions)
        for _ in range(self.chance.randrange(1, 5)):
            if len(text) > LONGEST:
                break
            text = self.changed(text)
        return text

    def changed(self, text: str) -> str:
        """Return an expression with one change."""
        tokens = scan(text)[:-1]
        starts = [
            at for at, token in enumerate(tokens) if token.kind in STARTS and not (at and tokens[at - 1].kind == "DOT")
        ]
        if not starts:
            return self.chance.choice(pools().expressions)
        at = self.chance.choice(starts)
        end = self.end(tokens, at)
        first, last = tokens[at].start, tokens[end].start + len(tokens[end].text)
        kind = self.chance.randrange(6)
        if kind == 0:
            part = self.typed.leaf(self.typed.any_type())
        elif kind == 1:
            part = self.chance.choice(WRAPPERS).replace("{0}", "{}").replace("{}", text[first:last])
            part = part.replace("{{", "{").replace("}}", "}")
        elif kind == 2:
            part = self.part_of_another()
        elif kind == 3:
            part = self.typed.of(self.typed.any_type(), 2)
        elif kind == 4:
            return self.renamed(text, tokens)
        else:
            part = f"{text[first:last]} {self.chance.choice(tuple(INFIX.values()))} {self.part_of_another()}"
        return text[:first] + part + text[last:]

    def end(self, tokens: list[Token], at: int) -> int:
        """Return the index of the last token of an operand, with some of the selections and calls that follow."""
        opened: list[str] = []
        while at < len(tokens):
            token = tokens[at]
            if token.kind in CLOSING:
                opened.append(CLOSING[token.kind])
            elif opened and token.kind == opened[-1]:
                opened.pop()
            following = tokens[at + 1].kind if at + 1 < len(tokens) else ""
            is_end = following not in ("DOT", "LPAR", "LSQB") or (following != "LPAR" and self.chance.randrange(2) == 0)
            if not opened and token.kind != "DOT" and is_end:
                return at
            at += 1
        return len(tokens) - 1

    def part_of_another(self) -> str:
        text = self.chance.choice(pools().expressions)
        tokens = scan(text)[:-1]
        starts = [at for at, token in enumerate(tokens) if token.kind in STARTS]
        if not starts:
            return "1"
        at = self.chance.choice(starts)
        last = tokens[self.end(tokens, at)]
        return text[tokens[at].start : last.start + len(last.text)]

    def renamed(self, text: str, tokens: list[Token]) -> str:
        """Return the text with another name, operator or literal."""
        token = self.chance.choice(tokens)
        if token.kind == "IDENT":
            name = self.chance.choice(_names() if self.chance.randrange(2) else self.names)
        elif token.kind.endswith("_LIT"):
            name = self.typed.leaf(self.chance.choice(SIMPLE[:5]))
        elif not token.text.isalnum():
            name = self.chance.choice((*INFIX.values(), ".", ",", "?", ":", ".?", "[?"))
        else:
            name = token.text
        return f"{text[: token.start]}{name}{text[token.start + len(token.text) :]}"


@cache
def _names() -> tuple[str, ...]:
    return (*(name for name in functions() if name[0].isalpha()), *(name for name, _ in sorted(MACROS)))


def typed(chance: random.Random) -> dict[str, str]:
    """Return a case whose expression is well typed, nearly so, or an expression of the corpora with changes."""
    name = chance.choice(tuple(worlds()))
    kind = chance.randrange(3)
    if kind == 1:
        text = Mutant(chance, worlds()[name]).text()
    else:
        maker = Typed(chance, worlds()[name])
        text = maker.of(maker.any_type(), 1 + chance.randrange(5))
    return {"world": name, "expr": "1" if ENDLESS.search(text) else text[:LONGEST]}


def any_text(chance: random.Random) -> str:
    """Return a text for the parser: an expression of the grammar or of the corpora, perhaps broken, or tokens."""
    kind, broken = chance.randrange(4), chance.randrange(2)
    maker = Maker(chance)
    if kind == 0:
        text = maker.expression(chance.choice((2, 4, 6, 8)))
    elif kind == 3:
        text = soup_of(chance)
    else:
        text = Mutant(chance, worlds()["free"]).text()
    return (maker.broken(text) if broken else text)[:LONGEST]
