"""Random CustomResourceDefinitions, objects for them, and how to ask tests/oracle/schema about both.

``python tests/schema/definition_cases.py`` (with compiler/ and tests/ on PYTHONPATH) asks the vectors
again; that needs Go.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import format_cases
from schema_cases import NUMBERS, TEXTS, Data, Objects

from oracle import gotools
from trainc.schema import Resource
from trainc.schema.definitions import define

FORMATS = (
    *("date", "date-time", "datetime", "duration", "byte", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4"),
    *(
        "uuid5",
        "password",
        "hexcolor",
        "rgbcolor",
        "email",
        "hostname",
        "uri",
        "isbn",
        "isbn10",
        "isbn13",
        "creditcard",
    ),
    *("ssn", "bsonobjectid", "k8s-short-name", "k8s-long-name", "no-such-format", "int32", "int64", "float", "double"),
)
PATTERNS = ("^[a-z]+$", r"^\pL", "(?i)^AB?", "[0-9]{2}", r"^\S*$", "")
NAMES = ("a", "b", "c", "d", "k", "name", "x-y", "kind", "status")
VECTORS = Path(__file__).parent / "vectors"


class Definitions:
    """Makes CRDs, most of which a server accepts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.objects = Objects(self.random)

    def make(self) -> Data:
        """Return a CRD with one version, or two."""
        versions = [self._version("v1", storage=True)]
        if self.random.random() < 0.15:
            versions.append(self._version("v2", storage=False))
        elif self.random.random() < 0.1:
            versions.append({**copy.deepcopy(versions[0]), "name": "v2", "storage": False})
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"kind": "Thing", "plural": "things"},
                "scope": self.random.choice(("Namespaced", "Cluster")),
                "versions": versions,
            },
        }

    def _version(self, name: str, *, storage: bool) -> Data:
        root = {"type": "object", "properties": self._properties(0)}
        if self.random.random() < 0.2:
            root["properties"]["metadata"] = {"type": "object"}
        version: Data = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": root}}
        if self.random.random() < 0.3:
            version["subresources"] = {"status": {}}
        return version

    def _properties(self, depth: int) -> Data:
        count = self.random.randint(1, 5 if depth < 2 else 3)
        names = [name for name in self.random.sample(NAMES, count) if depth or name not in ("kind",)]
        return {name: self.schema(depth + 1) for name in names}

    def schema(self, depth: int) -> Data:
        """Return a structural schema."""
        choice = self.random
        kinds: list[tuple[int, Callable[[int], Data]]] = [
            (4, self._string),
            (3, self._number),
            (1, lambda _: {"type": "boolean"}),
            (1, self._int_or_string),
            (1, self._free),
        ]
        if depth < 4:
            kinds += [(4, self._object), (2, self._map), (4, self._array), (1, self._embedded)]
        weights, makers = zip(*kinds, strict=True)
        made = choice.choices(makers, weights)[0](depth)
        if choice.random() < 0.12:
            made["nullable"] = True
        if choice.random() < 0.25 and "x-kubernetes-int-or-string" not in made:
            self._add_values(made)
        if choice.random() < 0.25:
            self._add_default(made)
        return made

    def _string(self, _depth: int) -> Data:
        choice, made = self.random, {"type": "string"}
        options = {
            "format": choice.choice(FORMATS),
            "pattern": choice.choice(PATTERNS),
            "minLength": choice.randint(0, 3),
            "maxLength": choice.randint(0, 5),
            "enum": choice.sample(("a", "b", "ab", "1", "Ready", ""), 3),
        }
        return made | {key: value for key, value in options.items() if choice.random() < 0.25}

    def _number(self, _depth: int) -> Data:
        choice = self.random
        made: Data = {"type": choice.choice(("integer", "number"))}
        options: Data = {
            "format": choice.choice(("int32", "int64", "float", "double", "date", "other")),
            "minimum": choice.choice((0, 1, -5, 0.5, 2.5)),
            "maximum": choice.choice((3, 10, 100, 1.5, 2**40)),
            "multipleOf": choice.choice((1, 2, 3, 0.5, 0.1)),
            "enum": choice.sample((1, 2, 3, 65, 1.5), 2),
        }
        made |= {key: value for key, value in options.items() if choice.random() < 0.2}
        for keyword in ("minimum", "maximum"):
            if keyword in made and choice.random() < 0.3:
                made[f"exclusive{keyword.capitalize()}"] = True
        return made

    def _int_or_string(self, _depth: int) -> Data:
        made: Data = {"x-kubernetes-int-or-string": True}
        spelt = [{"type": "integer"}, {"type": "string"}]
        kind = self.random.randrange(4)
        if kind == 1:
            made["anyOf"] = spelt
        elif kind == 2:
            made["allOf"] = [{"anyOf": spelt}, self.random.choice(({"maximum": 5}, {"pattern": "^[0-9]+%$"}))]
        elif kind == 3:
            made["pattern"] = "^[0-9]+$"
        return made

    def _free(self, _depth: int) -> Data:
        made: Data = {"x-kubernetes-preserve-unknown-fields": True}
        return made | self.random.choice(({}, {"type": "object"}, {"type": "object", "required": ["a"]}))

    def _object(self, depth: int) -> Data:
        choice = self.random
        made: Data = {"type": "object", "properties": self._properties(depth)}
        options: Data = {
            "required": choice.sample(sorted(made["properties"]), 1),
            "minProperties": choice.randint(0, 2),
            "maxProperties": choice.randint(1, 4),
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-map-type": choice.choice(("atomic", "granular")),
        }
        return made | {key: value for key, value in options.items() if choice.random() < 0.2}

    def _map(self, depth: int) -> Data:
        values: Any = True if self.random.random() < 0.15 else self.schema(depth + 1)
        made: Data = {"type": "object", "additionalProperties": values}
        if self.random.random() < 0.2:
            made["maxProperties"] = self.random.randint(0, 3)
        return made

    def _embedded(self, depth: int) -> Data:
        made: Data = {"type": "object", "x-kubernetes-embedded-resource": True}
        if self.random.random() < 0.5:
            return made | {"x-kubernetes-preserve-unknown-fields": True}
        return made | {"properties": {"spec": self.schema(depth + 1)}}

    def _array(self, depth: int) -> Data:
        choice, made = self.random, {"type": "array", "items": self.schema(depth + 1)}
        options: Data = {"minItems": choice.randint(0, 2), "maxItems": choice.randint(0, 4)}
        made |= {key: value for key, value in options.items() if choice.random() < 0.2}
        kind = choice.random()
        if kind < 0.2 and made["items"].get("type") in ("string", "integer", "number", "boolean"):
            made["items"].pop("nullable", None)
            made["x-kubernetes-list-type"] = "set"
        elif kind < 0.5:
            keys = choice.sample(("a", "k"), choice.choice((1, 1, 2)))
            fields = {key: choice.choice(({"type": "string"}, {"type": "integer"}, {"type": "number"})) for key in keys}
            other = {"v": self.schema(depth + 2)}
            made["items"] = {"type": "object", "properties": copy.deepcopy(fields) | other, "required": keys}
            if choice.random() < 0.3:
                field = made["items"]["properties"][keys[0]]
                field["default"] = "d" if field["type"] == "string" else 1
                made["items"]["required"] = keys[1:]
            made |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
        return made

    def _add_values(self, schema: Data) -> None:
        """Add value validations that speak of what the schema has."""
        choice = self.random
        keyword = choice.choice(("anyOf", "oneOf", "allOf", "not"))
        if keyword == "not":
            schema["not"] = self._values(schema)
        else:
            schema[keyword] = [self._values(schema) for _ in range(choice.randint(1, 3))]

    def _values(self, schema: Data, depth: int = 0) -> Data:
        choice = self.random
        made: Data = {}
        for name, sub in schema.get("properties", {}).items():
            if choice.random() < 0.4 and depth < 2 and name != "metadata":
                made.setdefault("properties", {})[name] = self._values(sub, depth + 1)
        if "properties" in schema and choice.random() < 0.6:
            made["required"] = choice.sample(sorted(schema["properties"]), 1)
        if "items" in schema and choice.random() < 0.4 and depth < 2:
            made["items"] = self._values(schema["items"], depth + 1)
        if choice.random() < 0.15 and depth < 2:
            inner = [self._values(schema, depth + 1) for _ in range(2)]
            made[choice.choice(("anyOf", "oneOf", "allOf"))] = inner
        options: Data = {
            "minLength": choice.randint(0, 3),
            "maxLength": choice.randint(0, 3),
            "pattern": choice.choice(PATTERNS),
            "format": choice.choice(FORMATS),
            "minimum": choice.choice((0, 1, 2.5)),
            "maximum": choice.choice((0, 5, 1.5)),
            "enum": ["a", 1, None, "ab"],
            "minItems": 1,
            "maxItems": 1,
            "minProperties": 1,
            "maxProperties": 2,
        }
        return made | {key: value for key, value in options.items() if choice.random() < 0.12}

    def _add_default(self, schema: Data) -> None:
        value = self.fitting(schema)
        if value is not None:
            schema["default"] = value

    def fitting(self, schema: Data) -> Any:
        """Return a value of the schema's type, or None."""
        kind = schema.get("type", "")
        if "enum" in schema:
            return schema["enum"][0]
        simple = {"string": "a", "integer": 3, "number": 1.5, "boolean": True, "array": [], "object": {}}
        return copy.deepcopy(simple.get(kind))

    def thing(self, resource: Resource) -> Data:
        """Return an object of a kind that a CRD defines."""
        choice = self.random
        data: Data = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "n"}}
        for name, schema in resource.schema.properties.items():
            if name not in ("apiVersion", "kind", "metadata") and choice.random() < 0.85:
                data[name] = self.objects.value(schema, 0.8)
        identity = {"apiVersion": resource.api_version, "kind": resource.kind}
        for _ in range(choice.choice((0, 1, 2))):
            self.objects.break_something(data)
        if choice.random() < 0.3:
            data["extra"] = choice.choice((*TEXTS, *NUMBERS))
        return {**data, **identity}


def ask(requests: Iterable[Data]) -> list[Data]:
    """Return the answers of tests/oracle/schema; needs Go."""
    return gotools.ask("./schema", requests)


def cases(seed: int, count: int) -> Iterator[tuple[Data, Data]]:
    """Yield CRDs with an object each."""
    made = Definitions(seed)
    for _ in range(count):
        crd = made.make()
        yield crd, made.thing(define(crd).resources[0])


def record() -> None:
    """Ask an API server's code again about the recorded CRDs and texts, and write the vectors; needs Go."""
    rows = json.loads((VECTORS / "definitions.json").read_text(encoding="utf-8"))
    for row, reply in zip(rows, ask(rows), strict=True):
        row["answer"] = reply
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for row in rows)
    (VECTORS / "definitions.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    recorded = json.loads((VECTORS / "formats.json").read_text(encoding="utf-8"))
    found = {form: [text for text, _ in row] for form, row in recorded.items()}
    [reply] = ask([format_cases.request(found)])
    taken = format_cases.accepted(found, reply)
    lists = {form: list(zip(found[form], taken[form], strict=True)) for form in found}
    lines = ",\n".join(f"{json.dumps(form)}:{json.dumps(row, ensure_ascii=False)}" for form, row in lists.items())
    (VECTORS / "formats.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    record()
