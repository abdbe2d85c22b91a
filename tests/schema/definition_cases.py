"""The recorded CRDs with an object each, and texts for the formats of strings: what an API server makes of them.

``python tests/schema/definition_cases.py`` (with compiler/ and tests/ on PYTHONPATH) asks again; that needs Go. To
add a CRD, add a row ``{"definition": ..., "data": ...}`` to ``vectors/definitions.json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import format_cases
from schema_cases import Data

from oracle import gotools

VECTORS = Path(__file__).parent / "vectors"


def ask(requests: Iterable[Data]) -> list[Data]:
    """Return the answers of tests/oracle/schema; needs Go."""
    return gotools.ask("./schema", requests)


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
