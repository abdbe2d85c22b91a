"""The recorded cases below vectors/: chosen and random objects, each with what an API server makes of it.

``python tests/schema/schema_vectors.py`` (with compiler/ and tests/ on PYTHONPATH) asks the cases again; that needs Go.
To add a case, add a row ``{"answer": {}, "input": ...}``.
"""

from __future__ import annotations

import json
from pathlib import Path

from schema_cases import ALL_KINDS, Data, ask

VECTORS = Path(__file__).parent / "vectors"


def load(kind: str) -> list[tuple[Data, Data]]:
    """Return the recorded objects of a kind, each with the API server's answer."""
    rows = json.loads((VECTORS / f"{kind.lower()}.json").read_text(encoding="utf-8"))
    return [(row["input"], row["answer"]) for row in rows]


def record(kind: str) -> str:
    """Return the text of a file, asked of an API server's code."""
    inputs = [data for data, _ in load(kind)]
    rows = [
        {"input": data, "answer": found} for data, found in zip(inputs, ask((kind, d) for d in inputs), strict=True)
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for row in rows)
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    for each in ALL_KINDS:
        (VECTORS / f"{each.lower()}.json").write_text(record(each), encoding="utf-8")
