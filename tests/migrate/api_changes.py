"""Writes api_changes.json: how the CRDs of Trainer v2.0 to v2.2 differ from those of v2.3.0.

    .venv/bin/python tests/migrate/api_changes.py

It needs Go, which downloads the modules. A row has a kind, a path, what changed there, and the releases in which it was
so: "removed", or each changed keyword of the schema as [before, now]. Paths have `[]` for an item of a list. New
fields, texts and status are left out, as are rules that compare with an earlier version. The fields of an override are
compared with those of a runtime patch, as kinds podSpecOverrides and podTemplateOverrides.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "schema"))

from removed_fields import NEWEST, schemas

RELEASES = ("v2.0.0", "v2.0.1", "v2.1.0", "v2.2.0", "v2.2.1")
KINDS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")
KEYWORDS = (
    *("type", "format", "x-kubernetes-int-or-string", "default", "enum", "pattern", "nullable", "required"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields"),
)
ANSWERS = Path(__file__).with_suffix(".json")
OVERRIDES = {
    "v2.0.0": ("podSpecOverrides", ()),
    "v2.0.1": ("podSpecOverrides", ()),
    "v2.1.0": ("podTemplateOverrides", ("spec",)),
}
PATCH = ("runtimePatches", "[]", "trainingRuntimeSpec", "template", "spec", "replicatedJobs", "[]", "template", "spec")


def changes(old: dict[str, Any], new: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield what changed, by path."""
    found = {key: [old.get(key), new.get(key)] for key in KEYWORDS if old.get(key) != new.get(key)}
    before, now = rules(old), rules(new)
    if before != now:
        found["rules"] = [before, now]
    if found:
        yield ".".join(path), found
    for name, child in old.get("properties", {}).items():
        if name in new.get("properties", {}):
            yield from changes(child, new["properties"][name], (*path, name))
        elif "x-kubernetes-preserve-unknown-fields" not in new:
            yield ".".join((*path, name)), "removed"
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            yield from changes(old[key], new[key], (*path, "[]"))


def rules(schema: dict[str, Any]) -> list[str]:
    """Return the CEL rules that do not compare with an earlier version."""
    found = (rule["rule"] for rule in schema.get("x-kubernetes-validations", ()))
    return [rule for rule in found if "oldSelf" not in rule]


def at(schema: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return the schema of a field."""
    for step in path:
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


def main() -> None:
    """Compare and write a table with one row per line."""
    new = schemas(NEWEST)
    patch = at(new["TrainJob"], "spec", *PATCH, "template", "spec")
    table: dict[tuple[str, str, str], list[str]] = {}
    for release in RELEASES:
        old = schemas(release)
        compared = [(kind, old[kind], new[kind]) for kind in KINDS]
        if release in OVERRIDES:
            field, below = OVERRIDES[release]
            compared.append((field, at(old["TrainJob"], "spec", field, "[]", *below), patch))
        for kind, before, now in compared:
            for path, change in changes(before, now):
                if not path.startswith("status"):
                    table.setdefault((kind, path, json.dumps(change)), []).append(release)
    rows = [json.dumps([kind, path, json.loads(change), found]) for (kind, path, change), found in table.items()]
    ANSWERS.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
