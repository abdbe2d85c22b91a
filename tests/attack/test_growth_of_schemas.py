"""Work grows with the size of an object where its metadata, or the schema of its CRD, could be compared with each item.

As in test_growth.py, four times the items may take up to nine times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from json import dumps

import pytest
from growing_texts import numbered, one
from test_growth import is_linear

from builders import crd
from effort import thorough
from trainc import Options, Source, compile
from trainc.admission import rules
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.schema import formats, wording
from trainc.schema.wording import LIST_KEYS, LIST_TYPE

pytestmark = thorough

EMBEDDED = "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}"


def seconds_of(*sources: Source) -> float:
    start = time.process_time()
    assert not any(finding.code == "TC902" for finding in compile(sources, Options()).findings)
    return time.process_time() - start


@pytest.mark.parametrize("first", [0, 200], ids=["short", "long"])
def test_many_owners_that_are_controllers(first: int) -> None:
    """The server's text about each further one shows all of them, and the name of the first again."""

    def seconds(size: int) -> float:
        owner = "{apiVersion: v1, kind: A, name: aNUMBER, uid: u, controller: true}"
        owners = f"{owner.replace('NUMBER', 'a' * first * size)}, {numbered(owner, size)}"
        return seconds_of(Source("job.yaml", one().replace("name: one", f"name: one, ownerReferences: [{owners}]")))

    assert is_linear(seconds, 400)


def test_many_embedded_objects_whose_metadata_go_writes_otherwise() -> None:
    def seconds(size: int) -> float:
        items = numbered("{apiVersion: v1, kind: A, metadata: {labels: null}}", size)
        thing = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\nobjects: [{items}]\n"
        schema = crd("Thing", f"properties: {{objects: {{type: array, items: {EMBEDDED}}}}}")
        return seconds_of(Source("crd.yaml", schema), Source("thing.yaml", thing))

    assert is_linear(seconds, 2000)


def test_many_rules_of_an_object_with_many_fields() -> None:
    def seconds(size: int) -> float:
        fields = numbered("aNUMBER: {type: string, maxLength: 9}", size)
        each = numbered("{rule: self.aNUMBER != ''}", size)
        schema = crd("Thing", f"properties: {{{fields}}}, x-kubernetes-validations: [{each}]")
        thing = (
            f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: a}}\n{numbered('aNUMBER: b', size, chr(10))}\n"
        )
        return seconds_of(Source("crd.yaml", schema), Source("thing.yaml", thing))

    assert is_linear(seconds, 500)


def things(schema: JsonObject, item: Json, count: int) -> tuple[Source, Source]:
    """Return a CRD with a list of such items, and an object that has so many."""
    fields = {"items": {"type": "array", "items": schema}}
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "items": [item] * count}
    return Source("crd.yaml", crd("Thing", f"properties: {dumps(fields)}")), Source("thing.yaml", dumps(thing))


OPEN: JsonObject = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
PRODUCTS: dict[str, Callable[[int], JsonObject]] = {
    "defaults": lambda n: {
        "type": "object",
        "properties": {f"a{i}": {"type": "string", "default": ""} for i in range(n)},
    },
    "required fields": lambda n: {"type": "object", "required": [f"a{i}" for i in range(n)]},
    "oneOf": lambda n: {**OPEN, "oneOf": [{"maxProperties": 1}, *({"required": [f"a{i}"]} for i in range(n))]},
    "allOf": lambda n: {**OPEN, "allOf": [{"required": [f"a{i}"]} for i in range(n)]},
    "nested anyOf": lambda n: {**OPEN, "anyOf": [{"anyOf": [{"maxProperties": i}]} for i in range(n)]},
    "enum": lambda n: {**OPEN, "enum": [{}, *({"a": i} for i in range(n))]},
}


@pytest.mark.parametrize("kind", PRODUCTS)
def test_items_times_many_parts_of_a_schema_are_limited(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They multiply: 10,000 items of 10,000 alternatives took minutes, and as many defaults gigabytes."""

    def codes(parts: int, count: int) -> set[str]:
        return {finding.code for finding in compile(things(PRODUCTS[kind](parts), {}, count), Options()).findings}

    monkeypatch.setattr(formats, "MOST_WORK", 2_000_000)
    assert codes(100, 200) == {"TC012"}
    monkeypatch.setattr(wording, "CHARACTER", 0)
    assert "TC012" not in codes(7, 5000)  # few parts are work that grows with the object


def test_entries_of_a_mapping_times_alternatives_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_WORK", 2_000_000)
    schema = {**OPEN, "anyOf": [{"maxProperties": 1000 + i} for i in range(100)]}
    for count, expected in ((200, {"TC012"}), (1, set[str]())):
        source = things(schema, {f"a{i}": i for i in range(count)}, 1)
        assert {finding.code for finding in compile(source, Options()).findings} == expected


@pytest.mark.parametrize("rule", ["true", "false", "unknown"])
def test_items_times_rules_that_cost_nothing_are_limited(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_WORK", 10_000)
    schema: JsonObject = {**OPEN, "x-kubernetes-validations": [{"rule": rule, "message": f"{i}"} for i in range(200)]}
    found = [each for each in compile(things(schema, {}, 200), Options()).findings if each.code == "TC201"]
    assert any(rules.OUT_OF_BUDGET in each.message for each in found)
    assert len(found) < 1000


def test_items_times_keys_of_a_list_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "MOST_WORK", 2_000_000)
    keys = {LIST_TYPE: "map", LIST_KEYS: [f"k{i}" for i in range(500)]}
    fields = {"items": {"type": "array", **keys, "items": {"type": "object", "properties": {}}}}
    _, thing = things({}, {}, 200)
    schema = Source("crd.yaml", crd("Thing", f"properties: {dumps(fields)}"))
    assert {finding.code for finding in compile((schema, thing), Options()).findings} == {"TC012"}


LONG = "k" * 1000
TEXTS: dict[str, tuple[JsonObject, Json]] = {
    "large mappings of an enum": ({**OPEN, "enum": [{"a": LONG}, {"b": LONG}]}, {}),
    "a long text of an enum": ({"type": "string", "enum": [LONG]}, "a"),
    "a long pattern": ({"type": "string", "pattern": f"^[{LONG}]$"}, "a"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_items_times_texts_of_errors_are_limited(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error shows what its schema allows: one text of 50 KB for each of 10,000 items took a minute and gigabytes."""
    monkeypatch.setattr(formats, "MOST_WORK", 2_000_000)
    schema, item = TEXTS[kind]
    assert {finding.code for finding in compile(things(schema, item, 400), Options()).findings} == {"TC012"}


@pytest.mark.parametrize("item", ["a", {"a": 1}], ids=["wrong", "unknown"])
def test_a_long_key_above_many_errors_is_limited(item: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each error shows its path."""
    monkeypatch.setattr(formats, "MOST_WORK", 2_000_000)
    lists: JsonObject = {"type": "array", "items": {"type": "object", "properties": {}}}
    sources = things({"type": "object", "additionalProperties": lists}, {LONG: [item] * 400}, 1)
    assert {finding.code for finding in compile(sources, Options()).findings} == {"TC012"}


def test_an_enum_of_many_numbers_is_written_once() -> None:
    def seconds(size: int) -> float:
        numbers: list[Json] = [number + 0.5 for number in range(500)]
        return seconds_of(*things({"type": "number", "enum": numbers}, -1, size))

    assert seconds(2000) < 2


def test_items_times_long_messages_of_rules_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MOST_WORK", 10_000)
    schema: JsonObject = {**OPEN, "x-kubernetes-validations": [{"rule": "false", "message": LONG}]}
    found = [each for each in compile(things(schema, {}, 400), Options()).findings if each.code == "TC201"]
    assert len(found) < 200
