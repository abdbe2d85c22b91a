"""Documents to admit: those of the repository and of its cases, the JobSets they become, and all of them changed."""

from __future__ import annotations

import copy
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from schema_cases import ALL_KINDS, Data, Objects

from effort import some
from trainc import Options, Source, compile
from trainc.admission.jobset import admit_jobset
from trainc.basics.memo import last
from trainc.documents.load import load
from trainc.pipeline import objects

ROOT = Path(__file__).parents[2]
CASES = some(sorted((ROOT / "tests/oracle/cases").rglob("*.yaml")), 3)
SPELLINGS = (
    "0.5",
    "1e3",
    "16384Mi",
    "1000m",
    "",
    "2024-01-01T00:00:00+01:00",
    0,
    2,
    0.5,
    8080.0,
    2**31,
    True,
    None,
    [],
    {},
)


@cache
def documents() -> list[Data]:
    """Return the TrainJobs and runtimes of the repository and of its cases."""
    paths = [*CASES, *(path for root in ("jobs", "runtimes") for path in sorted((ROOT / root).rglob("*.yaml")))]
    loaded = [load(Source("a.yaml", path.read_text(encoding="utf-8")))[0] for path in paths]
    found = [document.data for documents in loaded for document in documents]
    return [data for data in found if data.get("kind") in ALL_KINDS]


@cache
def jobsets() -> list[Data]:
    """Return the JobSets that the cases' TrainJobs become, as the plugins make them and as they are stored."""
    made: list[Data] = []

    def note(data: Data, claims: Any) -> Any:
        made.append(data)
        return admit_jobset(data, claims)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objects, "admit_jobset", note)
        for path in CASES:
            text = path.read_text(encoding="utf-8")
            stored = [
                made.data for made in compile([Source("a.yaml", text)], Options()).objects if made.kind == "JobSet"
            ]
            made += stored
    return made


def mutated(data: Data, seed: int) -> Data:
    """Return data with up to three places spelt otherwise, or broken."""
    choice, data = random.Random(seed), copy.deepcopy(data)
    for _ in range(choice.choice((0, 1, 1, 2, 3))):
        if choice.random() < 0.3:
            Objects(choice).break_something(data)
            continue
        places = [(data, key) for key in data]
        for parent, key in places:
            child = parent[key]
            places += [
                (child, step)
                for step in (child if isinstance(child, dict) else range(len(child) if isinstance(child, list) else 0))
            ]
        parent, key = choice.choice(places)
        if choice.random() < 0.5:
            del parent[key]
        else:
            parent[key] = copy.deepcopy(choice.choice(SPELLINGS))
    return data


def partly_lasting(data: Data, seed: int) -> Data:
    """Return a copy of data some parts of which last, so that what is found of them is remembered."""
    choice, data = random.Random(seed), copy.deepcopy(data)
    waiting: list[Any] = [data]
    while waiting:
        part = waiting.pop()
        if choice.random() < 0.3:
            last(part)
        inside = part.values() if isinstance(part, dict) else part
        waiting += [each for each in inside if isinstance(each, dict | list)]
    return data
