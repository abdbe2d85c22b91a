"""Jobs of other operators that a new repository can import, render and check: cases of tests/migrate."""

from __future__ import annotations

import re
from pathlib import Path

CASES = sorted(path for path in (Path(__file__).parent / "migrate" / "cases").glob("*.yaml") if "." not in path.stem)
CLASSES = "---\n".join(
    f"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: {name}}}\nvalue: 100\n"
    for name in ("batch", "high", "training", "urgent")
)
"""The priority classes of gang-scheduled jobs, which a note of the import asks for."""


def jobs_to_import() -> list[Path]:
    """Return the cases without errors that the starter policies accept; of two that become the same file, the first."""
    found: dict[str, Path] = {}
    for path in CASES:
        new = re.search("(?m)^>>> (jobs/.*)", expected := path.with_suffix(".txt").read_text(encoding="utf-8"))
        is_refused = re.search("hostNetwork|hostPath|hostIPC|:latest", path.read_text(encoding="utf-8"))
        if new and not is_refused and "error[" not in expected and not path.stem.startswith("trainer-"):
            found.setdefault(new[1], path)
    return list(found.values())
