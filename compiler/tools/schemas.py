"""Writes the structural schemas of the pinned CRDs as package data.

The CRDs are read from the Go modules that tests/oracle pins, so schemas and oracle cannot drift apart. Prose is
dropped, everything else kept. One table holds every distinct sub-schema once, shared by all kinds (a container of a
JobSet is the container of a runtime); where a schema has sub-schemas, the table's schema has their numbers.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

REPOSITORY = Path(__file__).resolve().parents[2]
OUTPUT = REPOSITORY / "compiler" / "trainc" / "data" / "schemas"
TRAINER, JOBSET = "github.com/kubeflow/trainer/v2", "sigs.k8s.io/jobset"
CRDS = (
    (TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"),
    (TRAINER, "manifests/base/crds/trainer.kubeflow.org_trainingruntimes.yaml"),
    (TRAINER, "manifests/base/crds/trainer.kubeflow.org_clustertrainingruntimes.yaml"),
    (JOBSET, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
)
PROSE = frozenset({"description", "title", "example", "externalDocs"})
MAPS = ("properties",)
LISTS = ("allOf", "anyOf", "oneOf")
SINGLES = ("items", "not")


class Table:
    """Sub-schemas, each distinct one once; a sub-schema comes before whatever holds it."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def add(self, schema: dict[str, Any]) -> int:
        """Return the number of schema, of which nothing but prose is lost."""
        node = {key: self._value(key, value) for key, value in schema.items() if key not in PROSE}
        text = json.dumps(node, sort_keys=True)
        if text not in self._numbers:
            self._numbers[text] = len(self.nodes)
            self.nodes.append(node)
        return self._numbers[text]

    def _value(self, key: str, value: Any) -> Any:
        if key in MAPS:
            return {name: self.add(value[name]) for name in sorted(value)}
        if key in LISTS:
            return [self.add(schema) for schema in value]
        if key in SINGLES or (key == "additionalProperties" and isinstance(value, dict)):
            return self.add(value)
        return value


def module_folder(module: str) -> Path:
    """Return where the Go module lies; raises CalledProcessError where Go or the module is missing."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", module]
    done = subprocess.run(command, cwd=REPOSITORY / "tests" / "oracle", check=True, capture_output=True, text=True)
    return Path(done.stdout.strip())


def header(crd: dict[str, Any], root: int) -> dict[str, Any]:
    """Return what a kind's own file says: its identity, its scope and the number of its schema."""
    spec = crd["spec"]
    [version] = spec["versions"]
    return {
        "group": spec["group"],
        "kind": spec["names"]["kind"],
        "plural": spec["names"]["plural"],
        "root": root,
        "scope": spec["scope"],
        "status": "status" in version.get("subresources", {}),
        "version": version["name"],
    }


def generate() -> Iterator[tuple[str, str]]:
    """Yield the name and text of every file."""
    table = Table()
    reader = YAML(typ="safe")
    for module, name in CRDS:
        crd = reader.load((module_folder(module) / name).read_text(encoding="utf-8"))
        root = table.add(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
        found = header(crd, root)
        yield f"{found['kind'].lower()}.json", json.dumps(found, separators=(",", ":"), sort_keys=True) + "\n"
    rows = (json.dumps(node, separators=(",", ":"), sort_keys=True, ensure_ascii=False) for node in table.nodes)
    yield "nodes.json", "[\n" + ",\n".join(rows) + "\n]\n"


def main() -> int:
    """Write the files, or, with --check, tell whether they are what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file differs")
    check = parser.parse_args().check
    stale = False
    for name, text in generate():
        target = OUTPUT / name
        if check:
            if not target.is_file() or target.read_text(encoding="utf-8") != text:
                stale = True
                sys.stderr.write(f"{name} differs from what the pinned modules give\n")
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
