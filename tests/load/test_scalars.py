"""How the readers take plain scalars: recorded from Kubernetes' own library, and compared with ruamel."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from scalar_vectors import FILE
from yaml_oracle import same

from trainc.documents import scalars

ROWS: list[tuple[str, Any, str, str | None, str]] = json.loads(FILE.read_text(encoding="utf-8"))


def test_there_are_enough_vectors() -> None:
    assert len(ROWS) > 1500
    kinds = {type(value) for _, value, *_ in ROWS}
    assert kinds == {str, int, float, bool, type(None)}


def test_values_are_those_of_kubernetes() -> None:
    wrong = []
    for text, value, error, _, _ in ROWS:
        reading = scalars.kubernetes(text)
        if reading.finite != (not error) or not (error or same(reading.value, value)):
            wrong.append((text, value, error, reading))
    assert wrong == []


def test_keys_are_those_of_kubernetes() -> None:
    wrong = []
    for text, _, _, key, _ in ROWS:
        try:
            found = scalars.key_text(scalars.kubernetes(text).raw)
        except ValueError:
            found = None
        if found != key:
            wrong.append((text, key, found))
    assert wrong == []


@given(
    st.from_regex(
        re.compile(r"[-+]?[0-9]{1,9}|0o[0-7]{1,9}|0x[0-9a-fA-F]{1,9}|true|False|NULL|~|[a-z]{1,8}"), fullmatch=True
    )
)
def test_ruamel_and_the_core_schema_agree(text: str) -> None:
    tag = str(VersionedResolver().resolve(ScalarNode, text, (True, False))).rpartition(":")[2]
    names = {str: "str", int: "int", bool: "bool", type(None): "null"}
    assert names[type(scalars.core(text))] == tag


@pytest.mark.parametrize(
    ("text", "value", "other"),
    [
        *((text, True, f'the string "{text}"') for text in ("y", "Y", "yes", "Yes", "YES", "on", "On", "ON")),
        *((text, False, f'the string "{text}"') for text in ("n", "N", "no", "No", "NO", "off", "Off", "OFF")),
        ("0444", 292, "the number 444"),
        ("010", 8, "the number 10"),
        ("0b11", 3, 'the string "0b11"'),
        ("1_000", 1000, 'the string "1_000"'),
        ("-0x1F", -31, 'the string "-0x1F"'),
        ("18446744073709551616", 18446744073709551616.0, None),
        ("9007199254740993", 9007199254740993, None),
        ("12345678901234567890123", 1.2345678901234568e22, "the number 12345678901234567890123"),
        ("1e400", "1e400", "the number inf"),
    ],
)
def test_readers_that_disagree(text: str, value: object, other: str | None) -> None:
    reading = scalars.kubernetes(text)
    assert (reading.value, None if reading.agrees else scalars.describe(scalars.core(text))) == (value, other)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0o444", 292),
        ("1e-4", 0.0001),
        ("1e3", 1000),
        ("4.0", 4),
        ("1.10", 1.1),
        ("08", 8),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("true", True),
        ("~", None),
        ("", None),
        ("yEs", "yEs"),
        ("<<", "<<"),
        ("=", "="),
        ("v1.2", "v1.2"),
    ],
)
def test_readers_that_agree(text: str, value: object) -> None:
    reading = scalars.kubernetes(text)
    assert type(reading.value) is type(value)
    assert (reading.value, reading.agrees) == (value, True)


@pytest.mark.parametrize(
    ("tag", "text", "value"),
    [("str", "3", "3"), ("int", "0444", 292), ("float", "3", 3.0), ("bool", "yes", True), ("null", "~", None)],
)
def test_tags(tag: str, text: str, value: object) -> None:
    found = scalars.resolve_tagged(tag, text)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    ("tag", "text", "message"),
    [
        ("int", "abc", "cannot decode !!str `abc` as a !!int"),
        ("int", "1.5", "cannot decode !!float `1.5` as a !!int"),
        ("bool", "1", "cannot decode !!int `1` as a !!bool"),
        ("null", "x", "cannot decode !!str `x` as a !!null"),
        ("float", "18446744073709551615", "cannot decode !!int `18446744073709551615` as a !!float"),
    ],
)
def test_tags_that_do_not_fit(tag: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        scalars.resolve_tagged(tag, text)


def test_a_number_of_a_million_digits_is_read_at_once() -> None:
    reading = scalars.kubernetes("9" * 1_000_000)
    assert reading.value == "9" * 1_000_000
