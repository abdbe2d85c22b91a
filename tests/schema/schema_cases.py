"""Random objects for every kind, and how to ask tests/oracle/schema what an API server makes of them."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from oracle import gotools
from trainc.basics.jsonvalues import dotted
from trainc.kube.gojson import go_json
from trainc.schema import KINDS, Resource, Structural, admit, parse, resource

THINGS = Path(__file__).parent / "things.yaml"
TRAINER = "github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_{}s.yaml"
JOBSET = "sigs.k8s.io/jobset", "config/components/crd/bases/jobset.x-k8s.io_{}s.yaml"
ALL_KINDS = (*KINDS, "Thing")
Data = dict[str, Any]

TEXTS = (
    *("", "a", "ab", "abc", "abcd", "AB", "x y", "é", "ab\n", "1", "0", "100m", "1Gi", "1.5e3", "x!", "True", "a/b"),
    *("example.com/m", "Never", "TCP", "2024-01-01", "2024-02-30", "2024-02-29", "1900-02-29", "2024-01-01T00:00:00Z"),
    *("2024-01-01t23:59:59.5+01:00tx", "2024-01-01T24:00:00Z", "5s", "3 days", "1h2m", "YWI=", "YWI", "1.2.3.4"),
    *("01.2.3.4", "1.2.3.256", "::1", "fe80::1%e", "::ffff:1.2.3.4", "1.2.3.0/24", "::/0", "1.2.3.4/33", "1:2::3:4"),
    *("00:11:22:33:44:55", "0011.2233.4455", "00-11-22-33-44-55-66-77", "123e4567-e89b-12d3-a456-426614174000"),
    *("123e4567-e89b-42d3-a456-426614174000", "#fff", "#ggg", "a-b", "a.b", "-a", "<&>", "\u2028", "\x00\x7f\x1b"),
    *("\U0001f600", "a.bZ]", "a.b]é", "cdab", "ABx", "cd\n", "éab"),
)
NUMBERS = (
    *(0, 1, 2, 3, -1, 5, 6, 10, 11, 65, 80, 100, 101, 999, 1000, -5, -6, 4.0, 80.0, 2.5, 1.5, 0.25, 0.3, 0.5),
    *(2**31, 2**31 - 1, -(2**31) - 1, 2**40, 2**62, 2**63 - 1, float(2**63), 1e17, 1e21, 1e300, 5e-324, 1e-7, 1e-5),
    *(3.0000000001, 3.5e38, 1000000.5, 123456789.5, 1e6, 2.5e7),
)
FIELDS = ("a", "b", "k", "l", "n", "name", "metadata", "apiVersion", "bogus", "nmae")
LIKELY = ("a", "b", "c", "ab", "node", "TCP", "example.com/m", "a/b", "Ready", "x")
METADATA: tuple[Data, ...] = (
    {"labels": {"a": "b", "bad key": "x"}},
    {"labels": {"a": "-b", "c/d": "x" * 64, "E": "", "f": None}},
    {"labels": {"a": 1}},
    {"labels": []},
    {"annotations": {"A/B": "x", "a/b/c": "y", "": "z", "/a": "w"}},
    {"annotations": {"a": "é" * 140_000}},
    {"name": "Abc"},
    {"name": "a" * 300},
    {"name": ""},
    {"name": ".a", "generateName": "Foo-"},
    {"name": None, "generateName": "foo-"},
    {"namespace": "Bad"},
    {"namespace": "x" * 64},
    {"finalizers": ["orphan", "foregroundDeletion", "b ad", "example.com/f"]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "n", "uid": "u", "bogus": 1}, {"controller": True}]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": k, "name": "n", "uid": "u", "controller": True} for k in "XYZ"]},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}, None]},
    {"ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u"}]},
    {"generation": -1},
    {"generation": 3, "selfLink": "x", "uid": "u", "resourceVersion": "1", "deletionGracePeriodSeconds": 2.5},
    {"creationTimestamp": None, "bogus": {"a": 1}},
    {"creationTimestamp": "2024-01-01T00:00:00Z"},
    {"creationTimestamp": "x"},
)


@cache
def crd(kind: str) -> Path:
    """Return the CRD of a kind; needs Go for the kinds of upstream."""
    if kind == "Thing":
        return THINGS
    module, name = JOBSET if kind == "JobSet" else TRAINER
    return Path(gotools.run(["go", "list", "-m", "-f", "{{.Dir}}", module]).strip()) / name.format(kind.lower())


@cache
def resource_of(kind: str) -> Resource:
    """Return the resource of a kind, Thing included."""
    if kind != "Thing":
        return resource(kind)
    spec = YAML(typ="safe").load(THINGS.read_text(encoding="utf-8"))["spec"]
    schema = parse(spec["versions"][0]["schema"]["openAPIV3Schema"])
    return Resource(spec["group"], spec["versions"][0]["name"], "Thing", True, False, schema, "things")


def ask(cases: Iterable[tuple[str, Data]]) -> list[Data]:
    """Return what an API server makes of each (kind, object); needs Go."""
    return gotools.ask("./schema", [{"crd": str(crd(kind)), "data": data} for kind, data in cases])


def answer(of: Resource, data: Data) -> Data:
    """Return what trainc makes of an object, in the oracle's words."""
    admitted = admit(of, data)
    texts = sorted((violation.upstream for violation in admitted.violations), key=str.encode)
    if any(violation.decode for violation in admitted.violations):
        return {"refused": texts[0]}
    dropped = sorted((dotted(path) for path in admitted.dropped), key=str.encode)
    found = {"data": json.loads(go_json(admitted.data)), "dropped": dropped, "errors": texts}
    return {key: value for key, value in found.items() if value}


class Objects:
    """Makes objects of a kind, most of them nearly right."""

    def __init__(self, seed: int | random.Random) -> None:
        self.random = seed if isinstance(seed, random.Random) else random.Random(seed)

    def make(self, kind: str) -> Data:
        """Return an object of kind."""
        of = resource_of(kind)
        density = self.random.choice((0.08, 0.2, 0.35))
        identity = {"apiVersion": of.api_version, "kind": kind}
        data: Data = {**identity, "metadata": {"name": "n"}}
        if of.namespaced and self.random.random() < 0.5:
            data["metadata"]["namespace"] = "ns"
        if self.random.random() < 0.15:
            data["metadata"].update(copy.deepcopy(self.random.choice(METADATA)))
        for name, schema in of.schema.properties.items():
            if name == "spec" or (name == "status" and self.random.random() < 0.2):
                data[name] = self.value(schema, density)
        for _ in range(self.random.choice((0, 1, 1, 2, 3))):
            self.break_something(data)
        return {**data, **identity}

    def value(self, schema: Structural, density: float, depth: int = 0) -> Any:
        """Return a value that mostly fits schema."""
        choice = self.random
        if choice.random() < 0.012:
            return self.junk()
        if schema.nullable and choice.random() < 0.3:
            return None
        if (enum := schema.keywords.get("enum")) and choice.random() < 0.9:
            return copy.deepcopy(choice.choice(enum))
        if schema.int_or_string:
            return choice.choice((1, 2, "100m", "1Gi", "1", "50%", 3.0))
        make: dict[str, Callable[[], Any]] = {
            "object": lambda: self._object(schema, density, depth),
            "array": lambda: self._list(schema, density, depth),
            "string": lambda: self._text(schema),
            "integer": lambda: choice.choice((0, 1, 2, 3, 5, 80) if choice.random() < 0.8 else NUMBERS),
            "number": lambda: choice.choice(NUMBERS),
            "boolean": lambda: choice.random() < 0.5,
        }
        return make.get(schema.type, self.junk)()

    def _object(self, schema: Structural, density: float, depth: int) -> Data:
        choice, required = self.random, schema.keywords.get("required", ())
        few = 0.5 if depth < 6 else 0.3
        likely = density / (1 + 0.25 * depth) if len(schema.properties) > 6 else few
        result = {
            name: self.value(sub, density, depth + 1)
            for name, sub in schema.properties.items()
            if choice.random() < (0.97 if name in required else likely)
        }
        if schema.additional is not None:
            for name in choice.sample(("a", "b", "cpu", "nvidia.com/gpu", "a.b/c"), choice.randint(0, 3)):
                result[name] = self.value(schema.additional, density, depth + 1)
        elif not schema.properties and choice.random() < 0.5:
            result["a"] = self.junk()
        return result

    def _list(self, schema: Structural, density: float, depth: int) -> list[Any]:
        size = self.random.choice((0, 1, 1, 2, 2, 3))
        return [] if schema.items is None else [self.value(schema.items, density, depth + 1) for _ in range(size)]

    def _text(self, schema: Structural) -> str:
        if schema.keywords.get("format") == "date-time" and self.random.random() < 0.8:
            return "2024-01-01T00:00:00Z"
        return self.random.choice(LIKELY if self.random.random() < 0.75 else TEXTS)

    def junk(self, depth: int = 0) -> Any:
        """Return any JSON."""
        choice, kind = self.random, self.random.random()
        if kind < 0.6 or depth > 2:
            return choice.choice((choice.choice(TEXTS), choice.choice(NUMBERS), choice.random() < 0.5, None))
        if kind < 0.8:
            return {choice.choice(FIELDS): self.junk(depth + 1) for _ in range(choice.randint(0, 3))}
        return [self.junk(depth + 1) for _ in range(choice.randint(0, 3))]

    def break_something(self, data: Data) -> None:
        """Change one place of data: another value, none, null, an unknown field, a repeated item, a long text."""
        choice = self.random
        parent, key = choice.choice(list(_places(data)))
        value = parent[key]
        kind = choice.randrange(9)
        if kind == 0:
            parent[key] = None
        elif kind == 1 and isinstance(parent, dict):
            del parent[key]
        elif kind == 2 and isinstance(parent, dict):
            parent[choice.choice(FIELDS)] = self.junk()
        elif kind in (3, 4) and isinstance(parent, list):
            parent.extend(copy.deepcopy(parent[:40] * 20 if kind == 4 and len(parent) < 99 else [value]))
        elif kind == 5 and isinstance(value, str):
            parent[key] = value[:100] * 400
        elif kind == 6:
            parent[key] = [copy.deepcopy(value)]
        elif kind == 7:
            parent[key] = choice.choice(NUMBERS)
        else:
            parent[key] = self.junk()


def _places(value: Any) -> Iterable[tuple[Any, Any]]:
    keys: Iterable[Any] = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])
