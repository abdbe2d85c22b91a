"""The suites: each turns random numbers into questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle.celgen import documents, pools
from oracle.celgen.catalogue import Overload, fill, overloads
from oracle.celgen.typed import Maker, quoted, render
from oracle.generator.rng import Rng

Question = dict[str, Any]
_FREE = {"i": 3, "s": "abc", "d": 1.5, "b": True, "l": [3, 1, 2], "m": {"a": 1, "name": "x"}, "n": None}
_FREE_NAMES = {"dyn": ("i", "s", "d", "b", "l", "m", "n", "l[0]", "m.a", "m.missing", "m.?a")}


def functions(rng: Rng, rounds: int) -> Iterator[Question]:
    """Call every overload with fitting arguments, with dynamic ones, with a wrong one and with nested ones."""
    for overload in overloads():
        for turn in range(rounds):
            yield _call(rng, overload, turn)


def _call(rng: Rng, overload: Overload, turn: int) -> Question:
    maker = Maker(rng, _FREE_NAMES, wrong=0)
    bound = {f"<{letter}>": rng.pick(("int", "string", "uint", "bool", "double")) for letter in "ABKTV"}
    if turn == 3:
        return {"env": "dyn", "expr": maker.call(overload, bound, 2), "vars": _FREE}
    args = [maker.argument(overload, i, fill(arg, bound), 0) for i, arg in enumerate(overload.args)]
    if turn == 1:
        args = [arg if arg.startswith("authorizer") else f"dyn({arg})" for arg in args]
    if turn == 2 and args:
        args[rng.below(len(args))] = maker.leaf(maker.any_type())
    if "authoriz" in "".join(overload.args):
        return {"env": "vap", "expr": render(overload, args), "vars": {}}
    return {"env": "dyn", "expr": render(overload, args), "vars": _used(args)}


def _used(args: list[str]) -> dict[str, Any]:
    return _FREE if any(name in args for name in _FREE_NAMES["dyn"]) else {}


# By pool: what to ask of each text, as a constant (then the compiler may refuse it) or as the variable x.
_LIBRARIES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (
        pools.QUANTITIES,
        (
            "isQuantity({})",
            "quantity({})",
            "quantity({}).asApproximateFloat()",
            "quantity({}).isInteger()",
            "quantity({}).asInteger()",
            "sign(quantity({}))",
            "quantity({}).add(quantity('1Ki'))",
            "quantity({}).compareTo(quantity('1k'))",
            "quantity({}).sub(1) == quantity({})",
        ),
    ),
    (
        pools.IPS,
        (
            "isIP({})",
            "ip({}).family()",
            "ip({})",
            "ip.isCanonical({})",
            "cidr('10.0.0.0/8').containsIP({})",
            "ip({}).isGlobalUnicast() || ip({}).isLoopback()",
            "string(ip({}))",
            "ip({}).isLinkLocalUnicast()",
        ),
    ),
    (
        pools.CIDRS,
        (
            "isCIDR({})",
            "cidr({})",
            "cidr({}).ip()",
            "cidr({}).masked()",
            "cidr({}).prefixLength()",
            "cidr('10.0.0.0/7').containsCIDR({})",
            "string(cidr({}))",
            "cidr({}) == cidr({}).masked()",
        ),
    ),
    (
        pools.URLS,
        (
            "isURL({})",
            "url({}).getHost()",
            "url({}).getHostname()",
            "url({}).getPort()",
            "url({}).getScheme()",
            "url({}).getEscapedPath()",
            "url({}).getQuery()",
            "url({})",
        ),
    ),
    (
        pools.SEMVERS,
        (
            "isSemver({})",
            "semver({})",
            "isSemver({}, true)",
            "semver({}, true)",
            "semver({}).major()",
            "semver({}).compareTo(semver('1.2.3'))",
            "semver({}, true).isLessThan(semver('1.2.3-beta'))",
        ),
    ),
    (
        pools.DURATIONS,
        (
            "duration({})",
            "duration({}).getMilliseconds()",
            "string(duration({}))",
            "duration({}).getHours()",
            "duration({}) + duration('1h')",
            "duration({}) > duration('1s')",
            "-duration({})",
        ),
    ),
    (
        pools.TIMESTAMPS,
        (
            "timestamp({})",
            "string(timestamp({}))",
            "timestamp({}).getDayOfYear()",
            "int(timestamp({}))",
            "timestamp({}).getMilliseconds()",
            "timestamp({}) - timestamp('2024-01-01T00:00:00Z')",
            "timestamp({}) + duration('1h')",
        ),
    ),
    (pools.NUMBERS, ("int({})", "uint({})", "double({})", "string(double({}))")),
    (pools.BOOLS, ("bool({})",)),
    (
        pools.REGEXES,
        ("'abc a1'.matches({})", "'abcABC é1'.find({})", "'abc ab a'.findAll({})", "'aXbX'.findAll({}, 1)"),
    ),
    (
        pools.ZONES,
        (
            "timestamp('2024-07-01T12:00:00.25Z').getHours({})",
            "timestamp('2024-01-01T00:30:00Z').getDate({})",
            "timestamp('2024-12-31T23:30:00Z').getFullYear({})",
            "timestamp('2024-03-10T10:00:00Z').getMinutes({})",
        ),
    ),
    (
        pools.NAMED_FORMATS,
        ("format.named({})", "format.named({}).hasValue()", "format.named({}).value().validate('x-')"),
    ),
    (pools.FORMATTED, tuple(f"format.{name}().validate({{}})" for name in pools.NAMED_FORMATS[:13])),
    (
        pools.FORMATS,
        (
            "{}.format(['abc', 1])",
            "{}.format([1.5])",
            "{}.format([42])",
            "{}.format([-7u])",
            "{}.format([true])",
            "{}.format([[1, 2]])",
            "{}.format([{{'a': b'x'}}])",
            "{}.format([null])",
            "{}.format([duration('90s')])",
            "{}.format([])",
            "{}.format([type(1)])",
            "{}.format([timestamp(0)])",
            "{}.format(['é', 2.0e10])",
        ),
    ),
)


def libraries(rng: Rng, count: int) -> Iterator[Question]:
    """Feed texts, good and bad, to the functions that read them."""
    for _ in range(count):
        texts, forms = rng.pick(_LIBRARIES)
        text, form = rng.pick(texts), rng.pick(forms)
        if rng.chance(50):
            yield {"env": "dyn", "expr": _put(form, quoted(text)), "vars": {}}
        else:
            yield {"env": "dyn", "expr": _put(form, "x"), "vars": {"x": text.replace("\\\\", "\\")}}


def _put(form: str, text: str) -> str:
    return form.replace("{}", text).replace("{{", "{").replace("}}", "}")


def escapes(rng: Rng, count: int) -> Iterator[Question]:
    """Ask what literals with escapes hold."""
    for _ in range(count):
        literal = rng.pick(pools.ESCAPES)
        form = rng.pick(("{}", "size({})", "{} + {}", "[{}]", "{} == 'a'", "strings.quote({})", "{}.upperAscii()"))
        yield {"env": "dyn", "expr": form.replace("{}", literal), "vars": {}}


def nested(rng: Rng, count: int) -> Iterator[Question]:
    """Make expressions of any type over dynamic variables."""
    for _ in range(count):
        maker = Maker(rng, _FREE_NAMES, wrong=rng.pick((0, 2, 6)))
        yield {"env": "dyn", "expr": maker.expr(maker.any_type(), 3), "vars": _FREE}


def policies(rng: Rng, count: int) -> Iterator[Question]:
    """Make validations of policies, some with variables and a messageExpression."""
    for _ in range(count):
        bindings, names = rng.pick(documents.POLICIES)
        maker = Maker(rng, names, wrong=rng.pick((0, 0, 3)))
        question: Question = {"env": "vap", "vars": bindings}
        if rng.chance(30):
            question["variables"] = _variables(maker)
            maker.variables = {**names, "dyn": (*names["dyn"], "variables.a", "variables.b"), "int": ("variables.a",)}
        question["expr"] = maker.expr("bool" if rng.chance(80) else maker.any_type(), 3)
        if rng.chance(25):
            question["messageExpression"] = maker.expr("string" if rng.chance(75) else "dyn", 2)
        yield question


def _variables(maker: Maker) -> list[dict[str, str]]:
    first = {"name": "a", "expression": maker.expr("int", 2)}
    maker.variables = {**maker.variables, "int": ("variables.a",)}
    return [first, {"name": "b", "expression": maker.expr(maker.any_type(), 2)}]


def rules(rng: Rng, count: int) -> Iterator[Question]:
    """Make rules over a schema that has a field of every kind."""
    for _ in range(count):
        maker = Maker(rng, documents.FIELDS, wrong=rng.pick((0, 0, 3)))
        question: Question = {"env": "crd", "vars": {"self": documents.SELF, "oldSelf": documents.OLD}}
        question["schema"] = documents.SCHEMA
        question["expr"] = maker.expr("bool" if rng.chance(85) else maker.any_type(), 2)
        if rng.chance(20):
            question["messageExpression"] = maker.expr("string" if rng.chance(75) else "int", 1)
        if rng.chance(15):
            question["fieldPath"] = rng.pick(
                (".name", ".items", "name", ".missing", "['foo-bar']", ".labels.k", ".labels['k']")
            )
        if rng.chance(10):
            question["reason"] = rng.pick(
                ("FieldValueInvalid", "FieldValueRequired", "Forbidden", "FieldValueDuplicate")
            )
        if rng.chance(5):
            question["message"] = rng.pick(("no", " ", "two\nlines"))
        yield narrowed(question)


def narrowed(question: Question) -> Question:
    """Keep of the schema and the values only the properties that the question's texts name, to keep it small."""
    texts = " ".join(str(question.get(key, "")) for key in ("expr", "messageExpression", "fieldPath"))
    escaped = {"foo-bar": "foo__dash__bar", "a.b/c": "a__dot__b", "x__y": "x__under"}
    named = [name for name in documents.SCHEMA["properties"] if escaped.get(name, name) in texts or name in texts]
    schema = dict(documents.SCHEMA)
    schema["properties"] = {name: documents.SCHEMA["properties"][name] for name in named} or {"on": {"type": "boolean"}}
    schema["required"] = [name for name in documents.SCHEMA["required"] if name in schema["properties"]]
    if not schema["required"]:
        del schema["required"]
    keep = schema["properties"].keys()
    values = {
        variable: {name: value for name, value in values.items() if name in keep}
        for variable, values in question["vars"].items()
    }
    return {**question, "schema": schema, "vars": values}
