"""Expressions whose cost matters: near and over the limit of an expression, of an object, and of a CRD's estimate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Question = dict[str, Any]

_NUMBERS = list(range(30))
_WORDS = [f"word-{n}" for n in range(20)]
_DYNAMIC = (
    "l.all(x, l.all(y, x + y >= 0))",
    "l.map(x, l.map(y, x * y))",
    "l.all(x, l.exists(y, x == y))",
    "l.all(x, l.all(y, l.all(z, l.all(a, x + y + z + a >= 0))))",
    "l.map(x, l.filter(y, x > y)).map(z, size(z))",
    "w.all(x, x.matches('^word-[0-9]+$'))",
    "w.map(x, w.map(y, x + y))",
    "w.map(x, x.upperAscii()).exists(x, x.contains('9'))",
    "w.all(x, w.exists_one(y, x == y))",
    "w.join(',').split(',') == w",
    "w.join(',').replace('word', 'w').size()",
    "w.map(x, x.find('[0-9]+')).map(x, int(x)).sum()",
    "w.join(' ').findAll('[a-z]+').size()",
    "s + s + s + s == s",
    "s.contains('zzz')",
    "s.matches('^(a|b)*$')",
    "s.indexOf('zzz')",
    "s.split('a').size()",
    "s.substring(10, 20)",
    "s.lowerAscii() == s.upperAscii()",
    "s.replace('a', 'bb').size()",
    "s == s && s < s + 'a'",
    "s in [s, 'a']",
    "[s, s] == [s, s]",
    "'%s %s'.format([s, l])",
    "string(bytes(s)) == s",
    "l == l && l + l != l",
    "l.isSorted() && l.max() > l.min() && l.sum() > 0",
    "l.indexOf(29) + l.lastIndexOf(29)",
    "29 in l",
    "sets.contains(l, l)",
    "sets.equivalent(l, [1])",
    "sets.intersects(w, w)",
    "w.sort() == w",
    "w.sortBy(x, x.size())",
    "l.distinct().size()",
    "l.reverse().slice(1, 3)",
    "[l, l].flatten().size()",
    "lists.range(1000).map(x, x * 2).size()",
    "lists.range(1000).map(x, lists.range(1000).size())",
    "lists.range(100).all(x, lists.range(100).all(y, lists.range(100).all(z, true)))",
    "m == m && m.size() == 3",
    "m.all(k, k != '')",
    "m.transformMap(k, v, v + 1) == m",
    "m.transformList(k, v, v).sum()",
    "m.exists(k, m[k] == 3) ? m : {}",
    "quantity('1Gi').add(quantity('1Mi')).isGreaterThan(quantity('1k'))",
    "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3')) && isIP('::1')",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
    "url('https://example.com/a').getHost() == 'example.com'",
    "format.dns1123Label().validate(s).hasValue()",
    "format.named('uuid').value().validate('x').value().size()",
    "semver('1.2.3').isLessThan(semver('1.2.4'))",
    "timestamp('2024-01-01T00:00:00Z').getHours('Europe/Berlin')",
    "optional.of(l).orValue([]).size()",
    "has(m.a) && has(m.b) || m.?z.hasValue()",
    "type(l) == list && dyn(s) != 1",
    "[1, 2, 3].map(x, [x, x].map(y, y))",
    "{'a': l, 'b': l}['a'].size()",
    "true ? 1 : l.size()",
    "false && l.all(x, x > 0)",
    "strings.quote(s).size()",
    "s.charAt(3) + s.trim()",
    "base.a.b.c + base['a'].b['c']",
)
_BINDINGS = {
    "l": _NUMBERS,
    "w": _WORDS,
    "s": "abcdefghij" * 30,
    "m": {"a": 1, "b": 2, "c": 3},
    "base": {"a": {"b": {"c": 1}}},
}
_SCHEMAS: tuple[tuple[dict[str, Any], Any], ...] = (
    ({"type": "array", "items": {"type": "string"}}, ["a", "b"]),
    ({"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 50}}, ["a", "b"]),
    ({"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 10, "enum": ["a", "b"]}}, ["a", "b"]),
    ({"type": "array", "maxItems": 100, "items": {"type": "string", "format": "uuid"}}, []),
)
_RULES = (
    "self.all(x, x != '')",
    "self.all(x, self.exists_one(y, x == y))",
    "self.all(x, self.all(y, self.all(z, x + y != z)))",
    "self.all(x, x.matches('^[a-z]*$'))",
    "self.map(x, x.upperAscii()).all(x, x in self)",
    "self.join(',').contains('a,b')",
    "self == self + self",
    "self.isSorted() || self.exists(x, x.startsWith('b'))",
    "self.filter(x, x > 'a').size() < 2",
    "self.all(x, format.dns1123Label().validate(x).hasValue() == false)",
    "sets.contains(self, ['a'])",
    "self.all(x, x.split('').size() < 100)",
    "self.all(x, x.replace('a', 'b').size() > 0)",
    "self.indexOf('a') >= 0",
    "self.sum() == ''",
)
_MAPS: tuple[tuple[dict[str, Any], str], ...] = (
    ({"type": "object", "additionalProperties": {"type": "string"}}, "self.all(k, k == self[k])"),
    (
        {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 3}},
        "self.all(k, k == self[k])",
    ),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, "self.all(k, self.all(j, self[k] == self[j]))"),
    ({"type": "string"}, "self.matches('^(a|b|c)+$')"),
    ({"type": "string", "maxLength": 20}, "self.matches('^(a|b|c)+$')"),
    ({"type": "string", "format": "date-time"}, "self > timestamp('2024-01-01T00:00:00Z')"),
    ({"type": "string", "enum": ["a", "bb"]}, "self.split('b').all(x, x.size() < 3)"),
    ({"x-kubernetes-int-or-string": True}, "type(self) == int ? self > 0 : self.matches('^[0-9]+%$')"),
    ({"type": "integer"}, "[1, 2, 3].all(x, x < self)"),
    ({"type": "string", "format": "byte"}, "size(self) < 10"),
    ({"type": "string", "format": "duration"}, "self < duration('1h')"),
)
_SAMPLES: dict[str, Any] = {
    "object": {"a": "a"},
    "integer": 4,
    "date-time": "2024-02-01T00:00:00Z",
    "byte": "aGk=",
    "duration": "1s",
}


def costly() -> Iterator[Question]:
    """Yield them all; they do not depend on chance."""
    for expr in _DYNAMIC:
        names = {name: value for name, value in _BINDINGS.items() if name in expr}
        yield {"env": "dyn", "expr": expr, "vars": names}
        yield {"env": "dyn", "expr": expr, "vars": names, "budget": 50}
    for schema, value in _SCHEMAS:
        for rule in _RULES:
            yield {"env": "crd", "expr": rule, "vars": {"self": value}, "schema": schema}
    for schema, rule in _MAPS:
        kind = schema.get("format", schema.get("type"))
        sample = _SAMPLES.get(kind, _SAMPLES.get(schema.get("type"), "a"))  # type: ignore[arg-type]
        sample = {"a": 1} if "integer" in str(schema) and schema.get("type") == "object" else sample
        yield {"env": "crd", "expr": rule, "vars": {"self": sample}, "schema": schema}
