"""Expressions that mix what the other suites ask for one by one, over values whose types only the run shows.

Almost everything is dyn, so that the checker lets it pass: every function meets every kind of value, ternaries and maps
mix kinds, variables shadow each other and fail when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from oracle.celgen.documents import JOBSET, NAMESPACE, REQUEST, TRAINJOB
from oracle.generator.rng import Rng

Question = dict[str, Any]

POD: Any = {
    "metadata": {"name": "p-0", "annotations": {"a/b": "1", "ünï": "日本👍", "": "empty"}},
    "spec": {
        "containers": [
            {"name": "main", "image": "r/i@sha256:0", "env": [{"name": "A", "value": "1"}, {"name": "B"}], "ports": []},
            {"name": "side", "resources": {"limits": {"cpu": "1500m", "n/gpu": 8}, "requests": {"cpu": 1.5}}},
        ],
        "hostNetwork": None,
        "volumes": [{"emptyDir": {}}, {"name": "v", "configMap": {"name": "c", "items": [[1, 2], []]}}],
    },
}
ODD: Any = {
    "u": {"t": "uint", "v": "18446744073709551615"},
    "y": {"t": "bytes", "v": [0, 255, 97]},
    "ts": {"t": "timestamp", "v": [1719835200, 250000000]},
    "du": {"t": "duration", "v": [-90, -500000000]},
    "k": {"t": "map", "v": [[1, "one"], [True, "yes"], ["s", 2.5], [{"t": "uint", "v": 2}, None]]},
    "oo": {"t": "optional", "v": {"a": [1, {"b": None}]}},
    "on": {"t": "optional", "v": None},
    "ty": {"t": "type", "v": "int"},
}
_PODS = ("pod.spec.containers", "pod.spec.volumes", "pod.metadata.annotations", "pod.spec.containers[1].resources")
_JOBS = ("object.spec.replicatedJobs", "object.metadata.labels", "object.spec", "object.spec.replicatedJobs[0].limits")
_PLACES = {
    "dyn": (*_PODS, "job.spec.trainer", "job.spec", "u", "y", "ts", "du", "k", "oo", "on", "ty"),
    "vap": (*_JOBS, "oldObject", "request.userInfo", "namespaceObject.metadata", "params"),
}
_STEPS = (
    *(
        ".name",
        ".?name",
        "[0]",
        "[?0]",
        "['a/b']",
        "[?'image']",
        ".limits",
        ".?limits.?cpu",
        "[1]",
        ".env",
        ".?env[?1]",
    ),
    *("['cpu']", ".spec", ".items", "[-1]", "[1.0]", "[1u]", "[true]", "[null]", "['']", ".value()", ".?x.orValue(7)"),
)
_CONSTANTS = (
    *("0", "1", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615u", "0u", "2u", "1.0"),
    *("-0.0", "0.1", "9007199254740993", "9007199254740992.0", "9223372036854775807.0", "1e308", "5e-324", "0.0/0.0"),
    *("1.0/0.0", "true", "false", "null", "''", "'a'", "'👍é'", "'\\u0000'", "'1'", "'true'", "'Grüße 日本👍x'"),
    *("b''", "b'\\xff'", "b'a'", "[]", "{}", "[1, 2]", "['b', 'a']", "{'a': 1}", "{1: 2}", "int", "type([])"),
    *("timestamp('0001-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59.999999999Z')", "duration('1ns')"),
    *("duration('2562047h47m16.854775807s')", "duration('-1.5s')", "optional.none()", "optional.of(1)"),
    *("quantity('1Ki')", "ip('::1')", "cidr('10.0.0.0/8')", "semver('1.2.3-a')", "url('http://a:1/b?c=d')", "'3s'"),
)
_BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||")
_NAMES = ("x", "y", "i", "object", "pod", "u")
_LOOPS = (
    *("{0}.all({1}, {3})", "{0}.exists({1}, {3})", "{0}.exists_one({1}, {3})", "{0}.map({1}, {4})"),
    *("{0}.map({1}, {3}, {4})", "{0}.filter({1}, {3})", "{0}.all({1}, {2}, {3})", "{0}.exists({1}, {2}, {3})"),
    *("{0}.existsOne({1}, {2}, {3})", "{0}.transformList({1}, {2}, {4})", "{0}.transformMap({1}, {2}, {4})"),
    *("{0}.transformList({1}, {2}, {3}, {4})", "{0}.transformMap({1}, {2}, {3}, {4})", "{0}.sortBy({1}, {4})"),
    *("{0}.transformMapEntry({1}, {2}, {{{4}: {2}}})", "{0}.transformMapEntry({1}, {2}, {3}, {{{1}: {4}}})"),
    *("optional.of({0}).optMap({1}, {4})", "optional.ofNonZeroValue({0}).optFlatMap({1}, optional.of({4}))"),
)
_CALLS = (
    *("size({0})", "{0}.size()", "string({0})", "int({0})", "uint({0})", "double({0})", "bytes({0})", "bool({0})"),
    *("type({0})", "timestamp({0})", "duration({0})", "dyn({0})", "-({0})", "!({0})", "[{0}, {1}]", "{{{0}: {1}}}"),
    *("{0}.substring({1})", "{0}.substring({1}, {2})", "{0}.charAt({1})", "{0}.indexOf({1})", "{0}.indexOf({1}, {2})"),
    *("{0}.lastIndexOf({1})", "{0}.replace({1}, {2})", "{0}.replace('', {1}, 2)", "{0}.split({1})", "{0}.split('', 2)"),
    *("{0}.join({1})", "{0}.lowerAscii()", "{0}.upperAscii()", "{0}.trim()", "strings.quote({0})", "{0}.find({1})"),
    *("{0}.contains({1})", "{0}.startsWith({1})", "{0}.endsWith({1})", "{0}.matches({1})", "{0}.findAll('[a-z]|👍')"),
    *("{0}.first()", "{0}.last()", "{0}.reverse()", "{0}.distinct()", "{0}.sort()", "{0}.flatten()", "{0}.flatten(2)"),
    *(
        "{0}.slice({1}, {2})",
        "{0}.sum()",
        "{0}.min()",
        "{0}.max()",
        "{0}.isSorted()",
        "lists.range(size({0}))",
        "{0}[{1}]",
    ),
    *("sets.contains({0}, {1})", "sets.equivalent([{0}], [{1}])", "sets.intersects({0}, {1})", "{0}[?{1}]"),
    *("{0}.hasValue()", "{0}.value()", "{0}.orValue({1})", "{0}.or({1})", "optional.of({0})", "{0} ? {1} : {2}"),
    *(
        "optional.ofNonZeroValue({0})",
        "optional.unwrap([{0}, optional.of({1})])",
        "[?optional.of({0}), {1}]",
        "{{?'a': optional.of({0})}}",
    ),
    *("quantity({0})", "isQuantity({0})", "{0}.compareTo({1})", "{0}.add({1})", "{0}.isLessThan({1})", "isIP({0})"),
    *(
        "{0}.getHours()",
        "{0}.getFullYear('+05:30')",
        "{0}.getMilliseconds()",
        "{0}.getDate({1})",
        "{0}.containsIP({1})",
    ),
    *("'%s'.format([{0}])", "'%d|%x'.format([{0}, {1}])", "'%f %e'.format([{0}, {0}])", "'%.3f'.format([{0}])"),
    *(
        "'%b%o%X'.format([{0}, {1}, {2}])",
        "'%s %s'.format([[{0}], {{'k': {1}}}])",
        "'%s'.format({0})",
        "'%d%%'.format([])",
    ),
    *("has({0}.a)", "has({0}.name)", "has({0}.?spec.x)", "[{0}] + [{1}]", "[[{0}], [{1}]].flatten() == [{0}, {1}]"),
)


class Mixer:
    """Makes expressions; ``places``: what there is to reach into."""

    def __init__(self, rng: Rng, places: tuple[str, ...]) -> None:
        self._rng = rng
        self._places = places
        self._bound: list[str] = []

    def value(self, depth: int) -> str:
        """Return an expression of type dyn, in most cases."""
        made = self._any(depth)
        return f"dyn({made})" if self._rng.chance(85) else made if made.isidentifier() else f"({made})"

    def truth(self, depth: int) -> str:
        """Return an expression that is a bool where all goes well."""
        operator = self._rng.pick(("==", "!=", "<", ">=", "in"))
        compared = f"{self.value(depth - 1)} {operator} {self.value(depth - 1)}"
        return self._rng.pick((compared, compared, f"!({compared})", f"({compared}) == true", f"has({self._path()}.a)"))

    def _any(self, depth: int) -> str:
        if depth <= 0:
            return self._leaf()
        make: Callable[[int], str] = self._rng.pick((self._call, self._call, self._loop, self._operation))
        return make(depth - 1)

    def _leaf(self) -> str:
        if self._bound and self._rng.chance(40):
            return self._rng.pick(self._bound)
        return self._path() if self._rng.chance(45) else self._rng.pick(_CONSTANTS)

    def _path(self) -> str:
        return self._rng.pick(self._places) + "".join(self._rng.pick(_STEPS) for _ in range(self._rng.below(3)))

    def _operation(self, depth: int) -> str:
        return f"{self.value(depth)} {self._rng.pick(_BINARY)} {self.value(depth)}"

    def _call(self, depth: int) -> str:
        return self._rng.pick(_CALLS).format(*(self.value(depth) for _ in range(3)))

    def _loop(self, depth: int) -> str:
        first, second = self._rng.pick(_NAMES), self._rng.pick(_NAMES)
        ranged = self.value(depth)
        self._bound += (first, second)
        body = self.truth(depth), self.value(depth)
        del self._bound[-2:]
        return self._rng.pick(_LOOPS).format(ranged, first, second, *body)


def mixed(rng: Rng, count: int) -> Iterator[Question]:
    """Make expressions over free names and validations of policies, with variables and messages, in turn."""
    for turn in range(count):
        yield _policy(rng) if turn % 3 == 0 else _free(rng, typed=turn % 3 == 1)


def _free(rng: Rng, *, typed: bool) -> Question:
    expr = Mixer(rng, _PLACES["dyn"]).value(1 + rng.below(3))
    question: Question = {"env": "dyn", "expr": expr, "vars": {"pod": POD, "job": TRAINJOB, **ODD}}
    if typed:
        types = {"u": "uint", "y": "bytes", "du": "google.protobuf.Duration", "oo": "optional_type(dyn)", "pod": "dyn"}
        question |= {"env": "spec", "type_env": types}
    question["vars"] = {name: value for name, value in question["vars"].items() if name in expr}
    return question


def _policy(rng: Rng) -> Question:
    names = {"object": JOBSET, "oldObject": rng.pick((None, JOBSET)), "request": REQUEST, "namespaceObject": NAMESPACE}
    params = rng.pick(({}, {"params": TRAINJOB}, {"params": None}))
    places = _PLACES["vap"] if params else _PLACES["vap"][:-1]
    rows = []
    for name in rng.some(("a", "b", "c")):
        rows.append({"name": name, "expression": Mixer(rng, places).value(1 + rng.below(2))})
        places = (*places, *[f"variables.{name}"] * 4)
    mixer = Mixer(rng, places)
    question: Question = {"env": "vap", "expr": mixer.truth(3), "vars": {**names, **params}}
    if rows:
        question["variables"] = rows
    if rng.chance(25):
        question["messageExpression"] = f"{mixer.value(0)} + string({mixer.value(1)})"
    return question
