"""Asks the API server's own code what it makes of objects on create: ``python tests/oracle/serverforms.py``.

``policies/forms.jsonl`` has lines ``{"object", "stored"}``: an object, and what validating policies see of it. The
objects are kept as they are. What admission plugins add is not there.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))

from oracle import gotools  # noqa: E402 - the folder above is not on the path of a script

GOLDENS = HERE / "policies" / "forms.jsonl"
Json = Any


def answers(objects: list[Json]) -> list[Json]:
    """Return objects as policies see them, without what differs each time."""
    found = gotools.ask("./stored", objects, HERE / "pods")
    for stored in found:
        del stored["metadata"]["uid"]
        stored["metadata"].pop("generation", None)
        uids = ("controller-uid", "batch.kubernetes.io/controller-uid")
        if stored["kind"] == "Job" and not stored["spec"]["manualSelector"]:
            spec, own = stored["spec"], stored["metadata"].get("labels", {})
            for labels in (own, spec["template"]["metadata"]["labels"], spec["selector"]["matchLabels"]):
                labels |= {key: "" for key in uids if key in labels}
    return found


def read() -> list[tuple[Json, Json]]:
    """Return objects with what policies see of them."""
    rows = map(json.loads, GOLDENS.read_text(encoding="ascii").splitlines())
    return [(row["object"], row["stored"]) for row in rows]


def main() -> int:
    """Write the goldens."""
    objects = [row[0] for row in read()]
    rows = zip(objects, answers(objects), strict=True)
    lines = [json.dumps({"object": one, "stored": stored}, separators=(",", ":")) + "\n" for one, stored in rows]
    GOLDENS.write_text("".join(lines), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
