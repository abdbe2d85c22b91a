"""Objects of Kubernetes' own kinds, each changed in one place, and what the API server says of them.

``python tests/schema/native_cases.py`` (with compiler/ and tests/ on PYTHONPATH) records the answers
anew; that needs Go.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from schema_cases import Data

from oracle import gotools
from trainc.basics.jsonvalues import Path as Steps
from trainc.schema import Resource
from trainc.schema.kinds import BUILT_IN, split_version

HERE = Path(__file__).parent
ANSWERS = HERE / "vectors" / "native.json"
JUNK: tuple[Any, ...] = (*("x", 5, True, 1.5, None, [], {}, ["x"], {"a": 1}, [None], 2**40, 2**63, -1, "5", "", "1Gb"),)


class Case(NamedTuple):
    """An object, what was done to it, and where."""

    data: Data
    change: str
    path: Steps = ()


@cache
def bases() -> tuple[Data, ...]:
    """Return the objects of native.yaml."""
    text = (HERE / "native.yaml").read_text(encoding="utf-8")
    return tuple(json.loads(json.dumps(data)) for data in YAML(typ="safe").load_all(text))


def resource_of(data: Data) -> Resource:
    """Return the kind of an object."""
    found = BUILT_IN.find(*split_version(data["apiVersion"]), data["kind"])
    assert found is not None
    return found


def changed(base: Data) -> Iterator[Case]:
    """Yield an object, then with each of its fields and items gone, replaced (by some of JUNK in turn) or added to."""
    yield Case(base, "nothing")
    for number, path in enumerate(_places(base, ())):
        if path[0] in ("apiVersion", "kind") or path in (("metadata",), ("metadata", "name")):
            continue
        data, parent = _copied(base, path)
        del parent[path[-1]]
        yield Case(data, "gone", path)
        for junk in (*JUNK, *JUNK)[number * 3 % len(JUNK) :][: 1 if base["kind"] == "Pod" else 3]:
            data, parent = _copied(base, path)
            parent[path[-1]] = copy.deepcopy(junk)
            yield Case(data, f"{junk!r}", path)
        data, parent = _copied(base, path)
        if isinstance(parent[path[-1]], dict):
            parent[path[-1]]["bogusField"] = 1
            yield Case(data, "bogusField", path)


def _places(value: Any, path: Steps) -> Iterator[Steps]:
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from _places(value[key], (*path, key))


def _copied(base: Data, path: Steps) -> tuple[Data, Any]:
    data = copy.deepcopy(base)
    parent: Any = data
    for step in path[:-1]:
        parent = parent[step]
    return data, parent


def ask(cases: list[Case]) -> str:
    """Return a letter a case: D cannot be decoded, U has an unknown field, E is refused, a dot is accepted."""
    answers = gotools.ask(".", [case.data for case in cases], gotools.ORACLE / "kinds")
    letters = {"undecodable": "D", "unknown": "U", "errors": "E"}
    return "".join(next((letters[key] for key in letters if key in answer), ".") for answer in answers)


def load() -> dict[str, str]:
    """Return the recorded letters by kind."""
    found: dict[str, str] = json.loads(ANSWERS.read_text(encoding="utf-8"))
    return found


def record() -> None:
    """Ask for the letters and write them."""
    made = {base["kind"]: list(changed(base)) for base in bases()}
    letters = iter(ask([case for cases in made.values() for case in cases]))
    found = {kind: "".join(next(letters) for _ in cases) for kind, cases in made.items()}
    ANSWERS.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
