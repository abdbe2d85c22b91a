"""Writes removed_fields.json: what the CRDs of earlier releases of Trainer have and those of v2.3.0 lack.

    .venv/bin/python tests/schema/removed_fields.py

It needs Go, which downloads the modules. A path has `[]` for an item of a list. A field that has another type is
listed as well.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

EARLIER = ("v2.0.0", "v2.1.0", "v2.2.0")
NEWEST = "v2.3.0"
KINDS = ("TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")
MODULE = "github.com/kubeflow/trainer/v2"
ANSWERS = Path(__file__).with_suffix(".json")


def schemas(release: str) -> dict[str, Any]:
    """Return the schemas of a release by kind."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{release}"]
    module = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    found = {}
    for path in Path(module["Dir"], "manifests/base/crds").glob("trainer.kubeflow.org_*.yaml"):
        crd = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        found[crd["spec"]["names"]["kind"]] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def removed(old: dict[str, Any], new: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the paths that new does not have, or has with another type."""
    if kind(old) != kind(new):
        yield ".".join(path)
        return
    for name, child in old.get("properties", {}).items():
        if name not in new.get("properties", {}):
            if "x-kubernetes-preserve-unknown-fields" not in new:
                yield ".".join((*path, name))
        else:
            yield from removed(child, new["properties"][name], (*path, name))
    for key in ("items", "additionalProperties"):
        if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
            yield from removed(old[key], new[key], (*path, "[]"))


def kind(schema: dict[str, Any]) -> str | None:
    """Return the type of a schema."""
    return "int-or-string" if schema.get("x-kubernetes-int-or-string") else schema.get("type")


def main() -> None:
    """Compare and write."""
    new = schemas(NEWEST)
    found = {}
    for release in EARLIER:
        old = schemas(release)
        found[release] = {name: sorted(removed(old[name], new[name])) for name in KINDS}
    ANSWERS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
