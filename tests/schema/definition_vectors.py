"""The recorded CRDs and texts below vectors/, each with what an API server says of it.

``python tests/schema/definition_vectors.py`` (with compiler/ on PYTHONPATH) records them anew; that needs Go.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import format_cases
from definition_cases import Definitions, ask, asked, cases, places
from definition_faults import COMBINED, FAULTS, SPEC_FAULTS
from schema_cases import Data

VECTORS = Path(__file__).parent / "vectors"


def record() -> None:
    """Ask an API server's code about chosen and random CRDs, and write the vectors; needs Go."""
    made = [(crd, data) for crd, data in cases(7, 500) if len(json.dumps([crd, data])) < 1000]
    made += [(crd, None) for crd in chosen()]
    rows = [
        {"definition": crd, "data": data, "answer": found}
        for (crd, data), found in zip(made, ask(asked(*case) for case in made), strict=True)
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for row in rows)
    (VECTORS / "definitions.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    found = format_cases.texts(3, 1500)
    [reply] = ask([format_cases.request(found)])
    taken = format_cases.accepted(found, reply)
    lists = {form: list(zip(found[form], taken[form], strict=True)) for form in found}
    lines = ",\n".join(f"{json.dumps(form)}:{json.dumps(row, ensure_ascii=False)}" for form, row in lists.items())
    (VECTORS / "formats.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def chosen() -> Iterator[Data]:
    """Yield small CRDs, each with one thing wrong: every fault at the root and at a field, every fault of a spec."""

    def small() -> Data:
        a = {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}
        root = {"type": "object", "properties": {"l": a, "s": {"type": "string"}}}
        crd = Definitions(0).make(broken=False)
        crd["spec"]["versions"] = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}]
        return crd

    for keyword, value in FAULTS:
        for number in (0, 1, 3):
            crd = small()
            list(places(crd))[number][keyword] = copy.deepcopy(value)
            yield crd
    for schema in COMBINED:
        crd = small()
        next(places(crd))["properties"]["l"] = copy.deepcopy(schema)
        yield crd
    for (*parents, last), value in SPEC_FAULTS:
        crd = place = small()
        for step in parents:
            place = place[step]
        place[last] = copy.deepcopy(value)
        yield crd


if __name__ == "__main__":
    record()
