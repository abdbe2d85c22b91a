"""The recorded scalars: what Kubernetes makes of each as a value and as a key, and PyYAML's type.

``python tests/load/scalar_vectors.py`` (with tests/ on PYTHONPATH) asks them again; that needs Go and PyYAML. To add a
scalar, add a row ``["text"]``.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from yaml_oracle import ask

FILE = Path(__file__).parent / "scalars.json"


def record() -> str:
    """Return the text of scalars.json: [text, value or null, error, key or null, PyYAML's type] a line."""
    texts = sorted(row[0] for row in json.loads(FILE.read_text(encoding="utf-8")))
    values = ask([f"a: {text}\n" for text in texts])
    keys = ask([f"? {text}\n: x\n" for text in texts])
    resolver = yaml.SafeLoader("")
    lines = []
    for text, value, key in zip(texts, values, keys, strict=True):
        kind = resolver.resolve(yaml.ScalarNode, text, (True, False)).rpartition(":")[2]
        name = next(iter(key["json"])) if "json" in key else None
        row = [text, value["json"]["a"] if "json" in value else None, value.get("error", ""), name, kind]
        lines.append(json.dumps(row))
    return "[\n" + ",\n".join(lines) + "\n]\n"


if __name__ == "__main__":
    FILE.write_text(record(), encoding="utf-8")
