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


def texts() -> dict[str, str]:
    """Return the text of each kind's file, asked of an API server's code."""
    inputs = [(kind, data) for kind in ALL_KINDS for data, _ in load(kind)]
    lines: dict[str, list[str]] = {kind: [] for kind in ALL_KINDS}
    for (kind, data), found in zip(inputs, ask(inputs), strict=True):
        row = {"input": data, "answer": found}
        lines[kind].append(json.dumps(row, ensure_ascii=False, separators=(",", ":"), sort_keys=True))
    return {kind: "[\n" + ",\n".join(rows) + "\n]\n" for kind, rows in lines.items()}


if __name__ == "__main__":
    for each, text in texts().items():
        (VECTORS / f"{each.lower()}.json").write_text(text, encoding="utf-8")
