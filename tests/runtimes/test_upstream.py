"""The runtimes of Trainer, against what kustomize builds from Trainer's own manifests (upstream.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
UPSTREAM: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_name("upstream.json").read_bytes())
OBJECTS = [item for overlay in UPSTREAM.values() for item in overlay]
RUNTIMES = sorted(item["metadata"]["name"] for item in OBJECTS if item["kind"] == "ClusterTrainingRuntime")


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "runtimes" / f"{name}.yaml").read_text(encoding="utf-8")))


def identity(item: dict[str, Any]) -> tuple[str, str]:
    return item["kind"], item["metadata"]["name"]


def test_upstream_ships_nine_runtimes() -> None:
    assert len(RUNTIMES) == 9


@pytest.mark.parametrize("name", RUNTIMES)
def test_runtime_equals_upstream(name: str) -> None:
    ours = next(item for item in documents(name) if item["kind"] == "ClusterTrainingRuntime")
    theirs = next(item for item in OBJECTS if identity(item) == ("ClusterTrainingRuntime", name))
    assert ours == theirs


def test_accounts_of_the_cache_equal_upstream() -> None:
    def by_identity(items: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
        return {identity(item): item for item in items}

    ours = by_identity(documents("torch-distributed-with-cache"))
    assert set(ours) == {identity(item) for item in UPSTREAM["data-cache"]}
    assert ours == by_identity(UPSTREAM["data-cache"])
