"""How the readers take plain scalars: recorded from Kubernetes' own library, and compared with ruamel."""

from __future__ import annotations

import json
import re
from typing import Any

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


def test_a_number_of_a_million_digits_is_read_at_once() -> None:
    reading = scalars.kubernetes("9" * 1_000_000)
    assert reading.value == "9" * 1_000_000
