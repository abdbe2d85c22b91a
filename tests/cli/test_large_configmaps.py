"""ConfigMaps of more than 1 MiB are refused, as the API server does."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from small import Run

from folders import put

LIMIT = 1024 * 1024
MAP = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: data}\n"


@pytest.mark.parametrize(("more", "status"), [(0, 0), (1, 1)])
@pytest.mark.parametrize("field", ["data", "binaryData"])
def test_a_configmap_beside_a_runtime(repository: Path, run: Run, field: str, more: int, status: int) -> None:
    half = LIMIT // 2
    values = [b"x" * half, b"y" * (half + more)]
    texts = [(base64.b64encode(value) if field == "binaryData" else value).decode() for value in values]
    runtime = repository / "runtimes/plain.yaml"
    text = f"{runtime.read_text()}{MAP}{field}:\n  a: {texts[0]}\n  b: {texts[1]}\n"
    put(repository, "runtimes/plain.yaml", text)
    done = run("render")
    assert done.exit_code == status
    assert ("error[TC022]: the ConfigMap has 1,048,577 bytes" in done.output) is bool(status)
    assert (repository / "out").exists() is not bool(status)
    faithful = run("build", "--faithful", "runtimes/plain.yaml", "jobs/a/one.yaml")
    assert faithful.exit_code == 0
    assert ("warning[TC022]" in faithful.stderr) is bool(status)
