"""Rules of CRDs written by hand: one for each way in which a schema changes what an expression means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle.celgen.documents import OLD, SCHEMA, SELF
from oracle.celgen.suites import narrowed

Question = dict[str, Any]

# Over documents.SCHEMA; the second element has more fields of the question.
_FIELDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("self.name == 'node'", {}), ("self.zz == 1", {}), ("has(self.maybe)", {}), ("has(self.zz)", {}), ("self.maybe == null", {}), ("self.count == 1.0", {}), ("self.ratio == 2", {}), ("self.ratio > 1", {}),
    ("self.port == 'http'", {}), ("self.port == 80", {}), ("self.port > 1", {}), ("self.port.startsWith('h')", {}), ("type(self.port) == string", {}), ("self.port", {}), ("self.port == oldSelf.port", {}),
    ("self.tags == oldSelf.tags", {}), ("oldSelf.tags == self.tags", {}), ("self.tags == ['a', 'b']", {}), ("['a', 'b'] == self.tags", {}), ("self.tags + oldSelf.tags", {}), ("self.tags + ['z', 'a']", {}), ("['z'] + self.tags", {}),
    ("self.list == oldSelf.list", {}), ("self.list + oldSelf.list", {}), ("self.items == oldSelf.items", {}), ("self.items + oldSelf.items", {}), ("self.items[0].name", {}), ("self.items.map(i, i.name)", {}), ("self.items[0].port == 80", {}),
    ("self.items.all(i, has(i.when) || has(i.port))", {}), ("self.items[1].when < timestamp('2025-01-01T00:00:00Z')", {}), ("self.items[0] == self.items[0]", {}), ("self.items[0] in self.items", {}), ("self.labels == oldSelf.labels", {}),
    ("self.labels.k", {}), ("self.labels.all(k, self.labels[k] == 'v')", {}), ("'k' in self.labels", {}), ("has(self.labels.k)", {}), ("has(self.labels.zz)", {}), ("self.labels.zz", {}), ("self.labels['zz']", {}), ("self.?labels[?'zz'].hasValue()", {}),
    ("self.when.getFullYear()", {}), ("self.when == '2024'", {}), ("self.day", {}), ("self.wait == duration('60m')", {}), ("self.wait", {}), ("self.blob", {}), ("self.blob == b'hi'", {}), ("size(self.blob)", {}),
    ("self.foo__dash__bar", {}), ("self.foo-bar", {}), ("self['foo-bar']", {}), ("self.a__dot__b__slash__c", {}), ("self.namespace", {}), ("self.__namespace__", {}), ("self.__in__", {}), ("self.in", {}), ("self.x__underscores__y", {}), ("self.x__y", {}),
    ("self.free", {}), ("self.free.a", {}), ("has(self.free.a)", {}), ("self.free == self.free", {}), ("self.loose == self.loose", {}), ("self.loose", {}), ("has(self.loose)", {}), ("self.pod.metadata.name", {}), ("self.pod.kind", {}), ("self.pod.spec.x", {}), ("self.pod.metadata.labels", {}),
    ("size(self) > 1", {}), ("self == oldSelf", {}), ("self", {}), ("oldSelf.zz", {}), ("type(self)", {}), ("self.all(k, k != '')", {}), ("'name' in self", {}), ("self.metadata.name", {}), ("dyn(self).name", {}), ("[self, self].size()", {}),
    ("self.name", {}), ("self.count > 1 ? self.name : 'x'", {}), ("self.count + self.ratio", {}), ("true", {"optionalOldSelf": True}), ("true", {"optionalOldSelf": False}), ("oldSelf.hasValue()", {"optionalOldSelf": True}),
    ("oldSelf.?count.orValue(0) <= self.count", {"optionalOldSelf": True}), ("oldSelf.value().count", {"optionalOldSelf": True}), ("oldSelf.count", {"optionalOldSelf": True}), ("self == oldSelf", {"optionalOldSelf": True}), ("!oldSelf.hasValue() || oldSelf.orValue(self).name == self.name", {"optionalOldSelf": True}),
    ("self.on", {"messageExpression": "self.name"}), ("self.on", {"messageExpression": "'count ' + string(self.count)"}), ("self.on", {"messageExpression": "self.count"}), ("self.on", {"messageExpression": "self.zz"}), ("self.on", {"messageExpression": " "}), ("self.on", {"messageExpression": "oldSelf.name"}), ("self.on", {"messageExpression": "dyn('x')"}),
    ("self.on", {"fieldPath": ".name"}), ("self.on", {"fieldPath": "name"}), ("self.on", {"fieldPath": ".zz"}), ("self.on", {"fieldPath": ".items[0]"}), ("self.on", {"fieldPath": ".labels['k']"}), ("self.on", {"fieldPath": ".labels.k"}), ("self.on", {"fieldPath": "['foo-bar']"}), ("self.on", {"fieldPath": ".foo-bar"}), ("self.on", {"fieldPath": " "}), ("self.on", {"fieldPath": ".name\n"}),
    ("self.on", {"fieldPath": "['a.b/c']"}), ("self.on", {"fieldPath": ".name[", "message": "x"}), ("self.on", {"reason": "FieldValueForbidden"}), ("self.on", {"reason": "Invalid"}), ("self.on", {"message": "x\ny"}), ("self.on", {"message": ""}), ("self.on", {"message": "  "}), ("self.on &&\nself.count > 0", {}), ("self.on &&\nself.count > 0", {"message": "why"}),
    ("[3, 1].sort() == [1, 3]", {}), ("['b'] + self.tags.sort() == []", {}), ("self.on && authorizer.allowed()", {}), ("object.x", {}), ("self.list.all(x, self.list.exists_one(y, x == y))", {}), ("self.count > 9223372036854775807", {}), ("int(self.name) == 1 || true", {}), ("self.name in ['node', 'launcher']", {}),
    ("self.list[5] == 1", {}), ("1 / (self.count - 3) == 1", {}), ("self.name.matches('[')", {}), ("self.name.matches(self.name + '[')", {}), ("duration(self.name) > duration('1s')", {}), ("quantity(self.labels.k).isGreaterThan(quantity('1'))", {}),
)  # fmt: skip

_LIST = {"type": "array", "maxItems": 5, "items": {"type": "integer"}}
_KEYED = {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b-c"],
          "items": {"type": "object", "required": ["a", "b-c"], "properties": {"a": {"type": "string", "maxLength": 9}, "b-c": {"type": "integer"}, "v": {"type": "integer"}}}}  # fmt: skip
_RESOURCE = {"type": "object", "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}, "spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}  # fmt: skip
_SMALL: tuple[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]], ...] = (
    ({"type": "integer"}, {"self": 5, "oldSelf": 4}, ("self >= oldSelf", "self == oldSelf", "self", "self + 1", "self / 0 == 1", "self == 5.0", "self in [5]")),
    ({"type": "integer", "format": "int32"}, {"self": 5}, ("self > 1", "type(self)", "oldSelf > 1")),
    ({"type": "number"}, {"self": 5}, ("self > 1", "self", "self + 1", "self + 1.0", "int(self)")),
    ({"type": "number", "format": "double"}, {"self": 2.5}, ("self * 2.0", "string(self)")),
    ({"type": "string", "maxLength": 9}, {"self": "ab", "oldSelf": "a"}, ("self.startsWith(oldSelf)", "self", "self == oldSelf || self.size() > 1", "self + 1")),
    ({"type": "string", "enum": ["a", "b"]}, {"self": "a"}, ("self == 'a'", "self in ['c']", "self == 'zz'")),
    ({"type": "boolean"}, {"self": True}, ("self", "!self", "self == 1")),
    ({"x-kubernetes-int-or-string": True}, {"self": 80, "oldSelf": "http"}, ("self == oldSelf", "self > 5", "self == 80 || self == 'x'", "type(self) == int && self < 100", "self")),
    (_LIST, {"self": [1, 2], "oldSelf": [2, 1]}, ("self == oldSelf", "self[0]", "self.all(x, x in oldSelf)", "self + oldSelf", "self[9]", "self.isSorted()", "self.sort()")),
    ({**_LIST, "x-kubernetes-list-type": "atomic"}, {"self": [1, 2], "oldSelf": [2, 1]}, ("self == oldSelf", "self + [3]")),
    ({**_LIST, "x-kubernetes-list-type": "set"}, {"self": [1, 2], "oldSelf": [2, 1, 3]}, ("self == oldSelf", "oldSelf + self", "self + oldSelf", "self == [2, 1]", "self + [2, 9]", "1 in self")),
    (_KEYED, {"self": [{"a": "x", "b-c": 1, "v": 1}, {"a": "y", "b-c": 2}], "oldSelf": [{"a": "y", "b-c": 2}, {"a": "x", "b-c": 1, "v": 2}]},
     ("self == oldSelf", "self + oldSelf", "self[0] == oldSelf[1]", "self.all(x, oldSelf.exists(y, x.a == y.a))", "self[0].b__dash__c", "self.map(x, x.v)", "self.filter(x, has(x.v))", "oldSelf + self == self")),
    ({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 5}, {"self": {"a": 1, "b-c": 2}}, ("self.a", "self['b-c']", "self.b__dash__c", "self.size()", "self.all(k, self[k] > 0)", "self == {'a': 1, 'b-c': 2}", "self")),
    ({"type": "object", "additionalProperties": True}, {"self": {"a": 1}}, ("self.a", "has(self.a)", "self == self")),
    ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"self": {"a": 1}}, ("self.a == 1", "has(self.a)", "size(self)")),
    ({"type": "object"}, {"self": {}}, ("self == {}", "has(self.a)", "size(self) == 0")),
    (_RESOURCE, {"self": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "spec": {"n": 1}}},
     ("self.metadata.name == 'n'", "has(self.metadata.generateName)", "self.metadata.labels", "self.kind + self.apiVersion", "self.spec.n", "self.status", "self.metadata.name.matches('^[a-z]+$')")),
    ({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}, {"self": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "n"}, "data": {}}},
     ("self.metadata.name", "self.kind", "self.data", "has(self.data)")),
    ({"type": "string", "format": "date-time"}, {"self": "2024-01-01T00:00:00Z"}, ("self.getFullYear() == 2024", "self == '2024'", "self < timestamp('2030-01-01T00:00:00Z')", "string(self)")),
    ({"type": "string", "format": "date"}, {"self": "2024-01-02"}, ("self", "self.getDate()")),
    ({"type": "string", "format": "duration"}, {"self": "1h30m"}, ("self", "self > duration('1h')", "self.getMinutes()")),
    ({"type": "string", "format": "byte"}, {"self": "/w=="}, ("self", "self == b'\\xff'", "string(self)")),
    ({"type": "string", "format": "uuid"}, {"self": "x"}, ("self == 'x'", "self.size()")),
    ({"type": "array", "items": {"type": "string", "nullable": True}, "maxItems": 3}, {"self": ["a", None]}, ("self[1] == null", "self.all(x, x != null)", "self", "self.exists(x, x == 'a')")),
    ({"type": "object", "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": "integer"}}}, {"self": {"a": None, "b": 1}}, ("has(self.a)", "self.a == null", "!has(self.a) || self.a == ''", "self.?a.hasValue()")),
    ({"type": "object", "properties": {"size": {"type": "integer"}, "true": {"type": "integer"}, "as": {"type": "integer"}, "__x": {"type": "integer"}, "x$y": {"type": "integer"}, "1a": {"type": "integer"}}},
     {"self": {"size": 1, "true": 2, "as": 3, "__x": 4, "x$y": 5, "1a": 6}}, ("self.size", "self.__true__", "self.as", "self.__as__", "self.__underscores__x", "self.__x", "size(self)", "self.x$y")),
    ({"type": "object", "properties": {"l": {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"m": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 3}}}}}}}},
     {"self": {"l": [{"m": {"k": ["v"]}}, {}]}}, ("self.l.all(x, !has(x.m) || x.m.all(k, x.m[k].all(s, s != '')))", "self.l[0].m.k[0]", "self.l[1].m", "self.l.map(x, x.?m.orValue({}).size())", "self.?l[?0].?m[?'k'][?0].orValue('none')")),
)  # fmt: skip


def rules() -> Iterator[Question]:
    """Yield the rules, with the schema and the values that each of them needs."""
    base = {"env": "crd", "schema": SCHEMA, "vars": {"self": SELF, "oldSelf": OLD}}
    for expr, more in _FIELDS:
        yield narrowed({**base, "expr": expr, **more})
    yield narrowed({**base, "vars": {"self": SELF}, "expr": "oldSelf.hasValue() || self.count > 0", "optionalOldSelf": True})
    for schema, bindings, exprs in _SMALL:
        for expr in exprs:
            yield {"env": "crd", "expr": expr, "vars": bindings, "schema": schema}
