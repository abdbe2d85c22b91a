"""Writes compiler/trainc/data/builtins.json: the runtimes that travel in the wheel.

They are read from runtimes/, so there is one copy to edit. The file is a list,
sorted by name, of ``{"file": name, "text": its YAML, "index": which document of
it, "object": the runtime}``: the object spares a compilation the parsing, the
text is there for a finding that has to be placed. Companions of a runtime are
left out. Run by ``make schemas``; a test fails when the file is stale.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "compiler" / "trainc" / "data" / "builtins.json"
NAMES = (
    "deepspeed-distributed",
    "jax-distributed",
    "mlx-distributed",
    "torch-distributed",
    "torch-distributed-with-cache",
    "torchtune-llama3.2-1b",
    "torchtune-llama3.2-3b",
    "torchtune-qwen2.5-1.5b",
    "xgboost-distributed",
)
"""The runtimes that Trainer v2.3.0 ships; the others of runtimes/ are this repository's own."""


def entry(name: str) -> dict[str, Any]:
    """Return the entry of one runtime."""
    text = (ROOT / "runtimes" / f"{name}.yaml").read_text(encoding="utf-8")
    for index, item in enumerate(yaml.safe_load_all(text)):
        if item["kind"] == "ClusterTrainingRuntime" and item["metadata"]["name"] == name:
            return {"file": f"runtimes/{name}.yaml", "text": text, "index": index, "object": item}
    raise ValueError(f"runtimes/{name}.yaml holds no ClusterTrainingRuntime {name}")


def render() -> str:
    """Return the text of builtins.json."""
    return json.dumps([entry(name) for name in NAMES], indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    OUTPUT.write_text(render(), encoding="utf-8", newline="\n")
