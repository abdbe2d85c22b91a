"""The built-in runtimes: fresh, complete, and what the files of runtimes/ say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trainc.data import load_json
from trainc.documents.load import load
from trainc.inputs.source import Source

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "compiler" / "tools" / "builtins.py"
BUILTINS = load_json("builtins.json")


def test_builtins_are_fresh() -> None:
    code = f"import runpy; print(runpy.run_path({str(TOOL)!r})['render'](), end='')"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert run.stdout == (ROOT / "compiler" / "trainc" / "data" / "builtins.json").read_bytes(), "run `make schemas`"


def test_exactly_the_runtimes_of_trainer_are_built_in() -> None:
    upstream = json.loads(Path(__file__).with_name("upstream.json").read_bytes())
    shipped = {
        item["metadata"]["name"]
        for overlay in upstream.values()
        for item in overlay
        if item["kind"] == "ClusterTrainingRuntime"
    }
    built_in = [entry["object"]["metadata"]["name"] for entry in BUILTINS]
    assert built_in == sorted(shipped)
    assert [entry["file"] for entry in BUILTINS] == [f"runtimes/{name}.yaml" for name in built_in]


@pytest.mark.parametrize("entry", BUILTINS, ids=lambda entry: entry["file"])
def test_built_in_object_is_what_trainc_reads(entry: dict[str, Any]) -> None:
    found, findings = load(Source(entry["file"], entry["text"]))
    assert not findings
    assert found[entry["index"]].data == entry["object"]
