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


def texts() -> dict[str, str]:
    """Return the text of each file, asked of upstream; one case a line."""
    cases = {name: [case for case, _ in load(name)] for name in FILES}
    answers = iter(ask(case for name in FILES for case in cases[name]))
    rows = {
        name: [json.dumps([case, next(answers)], ensure_ascii=False, sort_keys=True) for case in cases[name]]
        for name in FILES
    }
    return {name: "[\n" + ",\n".join(rows[name]) + "\n]\n" for name in FILES}


def write() -> None:
    """Write all files."""
    for name, text in texts().items():
        (VECTORS / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
