"""Makes random expressions that are mostly well typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from oracle.celgen import pools
from oracle.celgen.catalogue import Overload, fill, parts, yielding
from oracle.generator.rng import Rng

_INFIX = {"@in": "in"} | {
    f"_{op}_": op for op in ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||")
}
# What a string argument should hold: by function, and the argument's index where it is not the only string.
_TEXTS: dict[str, Sequence[str]] = {
    "quantity": pools.QUANTITIES,
    "isQuantity": pools.QUANTITIES,
    "ip": pools.IPS,
    "isIP": pools.IPS,
    "ip.isCanonical": pools.IPS,
    "containsIP": pools.IPS,
    "cidr": pools.CIDRS,
    "isCIDR": pools.CIDRS,
    "containsCIDR": pools.CIDRS,
    "url": pools.URLS,
    "isURL": pools.URLS,
    "semver": pools.SEMVERS,
    "isSemver": pools.SEMVERS,
    "duration": pools.DURATIONS,
    "timestamp": pools.TIMESTAMPS,
    "int": pools.NUMBERS,
    "uint": pools.NUMBERS,
    "double": pools.NUMBERS,
    "bool": pools.BOOLS,
    "format.named": pools.NAMED_FORMATS,
    "validate": pools.FORMATTED,
    "matches": pools.REGEXES,
    "find": pools.REGEXES,
    "findAll": pools.REGEXES,
}
_SMALL = ("0", "1", "2", "3", "-1", "4", "10")


class Maker:
    """Makes expressions of a type; ``wrong`` of a hundred parts are of some other type.

    ``variables`` maps a type to expressions that are there to use (``object.spec.replicas``).
    """

    def __init__(self, rng: Rng, variables: Mapping[str, Sequence[str]], wrong: int = 6) -> None:
        self.rng = rng
        self.variables = variables
        self.wrong = wrong
        self.scope: list[tuple[str, str]] = []

    def any_type(self) -> str:
        """Return some type."""
        choice = self.rng.below(10)
        if choice < 6:
            return self.rng.pick(pools.SIMPLE)
        return self.rng.pick(pools.NESTED if choice < 9 else pools.OPAQUE)

    def expr(self, type_: str, depth: int) -> str:
        """Return an expression that nests about so deep."""
        if self.rng.chance(self.wrong):
            type_ = self.any_type()
        if depth <= 0 or self.rng.chance(20):
            return self.leaf(type_)
        choice = self.rng.below(100)
        if choice < 8:
            return f"({self.expr('bool', depth - 1)} ? {self.expr(type_, depth - 1)} : {self.expr(type_, depth - 1)})"
        if choice < 28 and (made := self.macro(type_, depth)):
            return made
        return self.call_for(type_, depth) or self.leaf(type_)

    def leaf(self, type_: str) -> str:
        """Return a variable, a literal or a small collection."""
        usable = [name for name, of in self.scope if of == type_] * 3 + list(self.variables.get(type_, ()))
        if usable and self.rng.chance(60):
            return self.rng.pick(usable)
        if type_ in pools.LITERALS:
            return self.rng.pick(pools.LITERALS[type_])
        name, inner = parts(type_)
        if name == "list":
            return "[" + ", ".join(self.leaf(inner[0]) for _ in range(self.rng.below(4))) + "]"
        if name == "map":
            return (
                "{" + ", ".join(f"{self.leaf(inner[0])}: {self.leaf(inner[1])}" for _ in range(self.rng.below(3))) + "}"
            )
        if name == "optional_type":
            return f"optional.of({self.leaf(inner[0])})" if self.rng.chance(70) else "optional.none()"
        if name == "type":
            return f"type({self.leaf(self.any_type())})"
        return self.dynamic()

    def dynamic(self) -> str:
        """Return something of type dyn."""
        usable = self.variables.get("dyn", ())
        if usable and self.rng.chance(70):
            return self.rng.pick(usable)
        return f"dyn({self.leaf(self.any_type())})"

    def call_for(self, type_: str, depth: int) -> str | None:
        """Return a call whose result is of the type."""
        options = yielding(type_)
        if not options:
            return None
        overload, bound = self.rng.pick(options)
        return self.call(overload, dict(bound), depth - 1)

    def call(self, overload: Overload, bound: dict[str, str], depth: int) -> str:
        """Call the overload with arguments that suit it."""
        for letter in "ABKTV":
            bound.setdefault(f"<{letter}>", self.rng.pick(("int", "string", "bool", "string")))
        args = [self.argument(overload, i, fill(arg, bound), depth) for i, arg in enumerate(overload.args)]
        return render(overload, args)

    def argument(self, overload: Overload, index: int, type_: str, depth: int) -> str:
        """Return an argument: what the function reads from a string, a small number, or an expression of the type."""
        texts = self.texts(overload, index)
        if type_ == "string" and texts and self.rng.chance(75):
            return quoted(self.rng.pick(texts))
        # The true engine makes the list of lists.range at once, however long.
        if overload.function == "lists.range" or (type_ == "int" and index > 0 and self.rng.chance(70)):
            return self.rng.pick(_SMALL)
        if overload.function == "format" and index == 1:
            return "[" + ", ".join(self.leaf(self.any_type()) for _ in range(self.rng.below(3))) + "]"
        return self.expr(type_, depth)

    def texts(self, overload: Overload, index: int) -> Sequence[str]:
        """Return what a string argument should hold, if that matters."""
        name = overload.function
        if name.startswith("get") and index == 1:
            return pools.ZONES
        if name == "format" and index == 0:
            return pools.FORMATS
        if name in {"matches", "find", "findAll"} and index != 1:
            return ()
        return _TEXTS.get(name, ())

    def macro(self, type_: str, depth: int) -> str | None:
        """Return a comprehension of the type, if there is one."""
        source = self.rng.pick(("int", "string", "int", "dyn"))
        name, inner = parts(type_)[0], self.rng.pick(("x", "y", "v"))
        range_ = self.expr(f"list({source})", depth - 1)
        self.scope.append((inner, source))
        try:
            if type_ == "bool":
                verb = self.rng.pick(("all", "exists", "exists_one"))
                return f"{range_}.{verb}({inner}, {self.expr('bool', depth - 1)})"
            if name == "list":
                return self.list_macro(parts(type_)[1][0], range_, inner, source, depth)
            return None
        finally:
            self.scope.pop()

    def list_macro(self, element: str, range_: str, name: str, source: str, depth: int) -> str:
        """Return map, filter, a two-variable comprehension or sortBy."""
        choice = self.rng.below(6)
        if choice == 0 and element == source:
            return f"{range_}.filter({name}, {self.expr('bool', depth - 1)})"
        if choice == 1:
            return f"{range_}.map({name}, {self.expr('bool', depth - 1)}, {self.expr(element, depth - 1)})"
        if choice == 2:
            return f"{range_}.transformList(i, {name}, {self.expr(element, depth - 1)})"
        if choice == 3 and element == source:
            return f"{range_}.sortBy({name}, {self.expr(self.rng.pick(('int', 'string')), depth - 1)})"
        return f"{range_}.map({name}, {self.expr(element, depth - 1)})"


def quoted(text: str) -> str:
    """Write a text as a literal; what looks like an escape stays one."""
    return f"'{text}'" if "'" not in text else f'"{text}"'


def render(overload: Overload, args: Sequence[str]) -> str:
    """Write a call as the language has it."""
    name = overload.function
    if name in _INFIX:
        return f"({args[0]} {_INFIX[name]} {args[1]})"
    operators = {
        "!_": "!{}",
        "-_": "-({})",
        "_[_]": "{}[{}]",
        "_[?_]": "{}[?{}]",
        "_?._": "{}.?a",
        "_?_:_": "({} ? {} : {})",
    }
    if name in operators:
        return operators[name].format(*args)
    if overload.member:
        return f"{args[0]}.{name}({', '.join(args[1:])})"
    return f"{name}({', '.join(args)})"
