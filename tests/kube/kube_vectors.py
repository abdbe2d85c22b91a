"""The recorded cases below vectors/: chosen ones and random ones, each with what upstream made of it.

``python tests/kube/kube_vectors.py`` (with compiler/ and tests/ on PYTHONPATH) asks the cases again; that needs Go. To
add a case, add a row ``[case, null]``.
"""

from __future__ import annotations

import json
from pathlib import Path

from kube_cases import Case, ask

VECTORS = Path(__file__).parent / "vectors"
FILES = ("gotypes", "merges", "names", "quantities", "requests")


def load(name: str) -> list[tuple[Case, object]]:
    """Return the recorded cases of one file with their results."""
    rows = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return [(case, result) for case, result in rows]


def record(name: str) -> str:
    """Return the text of one file, asked of upstream; one case a line."""
    cases = [case for case, _ in load(name)]
    rows = (json.dumps(row, ensure_ascii=False, sort_keys=True) for row in zip(cases, ask(cases), strict=True))
    return "[\n" + ",\n".join(rows) + "\n]\n"


if __name__ == "__main__":
    for file in FILES:
        (VECTORS / f"{file}.json").write_text(record(file), encoding="utf-8")
