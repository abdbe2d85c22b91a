"""What is larger than any cluster takes is refused with one finding (TC012); what just fits is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from small import RUNTIME, Run, job

MOST = 100_000
"""Documents per file, and keys and items per object."""

LARGEST = 3 * 1024 * 1024
"""Bytes of an object as JSON."""

JOB = f"{RUNTIME}---\n{job()}"
HEAD = "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: large}\n"
OBJECT = {"apiVersion": "example.com/v1", "kind": "Other", "metadata": {"name": "large"}}
OWN = 4
"""Keys that the object has without its data."""

EMPTY = len(json.dumps({**OBJECT, "data": ""}, separators=(",", ":")))
"""Bytes of the object where its data is an empty string."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where no policies are."""
    monkeypatch.chdir(tmp_path)


def keys(count: int) -> str:
    return json.dumps({**OBJECT, "data": {f"k{number}": 1 for number in range(count - OWN - 1)}})


def items(count: int) -> str:
    return json.dumps({**OBJECT, "data": [1] * (count - OWN - 1)})


def size(count: int) -> str:
    return f"{HEAD}data: {'x' * (count - EMPTY)}\n"


def wide(count: int) -> str:
    return f"{HEAD}data: {'é' * ((count - EMPTY) // 2)}{'x' * ((count - EMPTY) % 2)}\n"


def size_as_json(count: int) -> str:
    return json.dumps({**OBJECT, "data": "x" * (count - EMPTY)})


TOO_MANY = "more than 100000 keys and items in one object"
TOO_LARGE = "an object of more than 3 MiB"


@pytest.mark.parametrize(
    ("make", "most", "message"),
    [
        (keys, MOST, TOO_MANY),
        (items, MOST, TOO_MANY),
        (size, LARGEST, TOO_LARGE),
        (wide, LARGEST, TOO_LARGE),
        (size_as_json, LARGEST, TOO_LARGE),
    ],
)
def test_size_of_one_object(run: Run, make: Callable[[int], str], most: int, message: str) -> None:
    assert built(run, make(most)) == (0, [])
    assert built(run, make(most + 1)) == (1, [f"<stdin>:1:1: error[TC012]: {message}"])


def test_each_item_of_a_list_is_an_object(run: Run) -> None:
    half = {**OBJECT, "data": [1] * (MOST // 2 + 1)}
    text = {"apiVersion": "v1", "kind": "List", "items": [half, {**half, "metadata": {"name": "other"}}]}
    assert built(run, json.dumps(text)) == (0, [])


def test_number_of_documents(run: Run) -> None:
    assert built(run, "---\n#\n" * (MOST - 1) + JOB, beside=False) == (0, [])
    code, errors = built(run, "---\n#\n" * MOST + JOB, beside=False)
    assert code == 1
    assert errors[0].endswith("error[TC012]: more than 100000 documents in one file")


def built(run: Run, text: str, *, beside: bool = True) -> tuple[int, list[str]]:
    """Return the exit status and the errors of a text, which stands before a job that is right."""
    result = run("build", "--no-cache", "-", stdin=(f"{text}\n---\n{JOB}" if beside else text).encode())
    return result.exit_code, [line for line in result.stderr.splitlines() if " error[TC" in line]
