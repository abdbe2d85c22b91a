"""Every difference between the API of Trainer v2.0 to v2.2 and that of v2.3.0 is imported, reported, or harmless.

``api_changes.json`` lists the differences; api_changes.py writes it from the CRDs.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from effort import thorough
from oracle import gotools
from trainc import Options, Source, compile
from trainc.basics.jsonvalues import get
from trainc.findings import Finding
from trainc.migrate import import_documents

ROWS = json.loads(Path(__file__).with_name("api_changes.json").read_text(encoding="utf-8"))
PATCHED = "spec.runtimePatches.[].trainingRuntimeSpec.template.spec.replicatedJobs.[].template.spec.template.spec"
OVERRIDES = {"podSpecOverrides": "", "podTemplateOverrides": "spec."}
VALUES: dict[str, Any] = {
    "spec.labels": {"a": "b"},
    "spec.annotations": {"a": "b"},
    "spec.podSpecOverrides": [{"targetJobs": [{"name": "node"}], "nodeSelector": {"a": "b"}}],
    "spec.podTemplateOverrides": [{"targetJobs": [{"name": "node"}], "spec": {"nodeSelector": {"a": "b"}}}],
    "spec.mlPolicy.torch.numProcPerNode": "auto",
    "spec.mlPolicy.torch.elasticPolicy": {"minNodes": 1},
}
LOOSER = {"enum", "required"}
"""Keywords that have only become less strict; a test below makes sure of it."""
RULES = {
    "": {"metadata": {"name": "9-begins-with-a-digit"}},
    "storageUri": "no-scheme",
    "mlPolicy": {"mpi": {}, "torch": {}},
}
"""Values that the new rules refuse, by the last step of the path."""


def document(kind: str) -> dict[str, Any]:
    head = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {"name": "x"}}
    if kind == "TrainJob":
        trainer = {"command": ["a"], "args": ["a"], "env": [{"name": "A", "value": "b"}]}
        return {**head, "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer}}
    pod = {"containers": [{"name": "node", "image": "example.com/a:1"}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {**head, "spec": {"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [job]}}}}


def put(value: Any, steps: list[str], new: Any) -> None:
    """Put a value at a path; a step [] is the first item, which is created."""
    step, *rest = steps
    if rest and rest[0] == "[]":
        items = value.setdefault(step, [{}])
        if rest[1:]:
            put(items[0], rest[1:], new)
        else:
            items[0] = new
    elif rest:
        put(value.setdefault(step, {}), rest, new)
    else:
        value[step] = new


def built(data: dict[str, Any]) -> tuple[Finding, ...]:
    return compile([Source("x.json", json.dumps(data))], Options()).findings


@pytest.mark.parametrize(("kind", "path"), [row[:2] for row in ROWS if row[2] == "removed" and row[0] not in OVERRIDES])
def test_removed_fields_are_imported(kind: str, path: str) -> None:
    data = document(kind)
    put(data, path.split("."), VALUES.get(path, "auto"))
    assert any(path.rpartition(".")[2] in each.message for each in built(data))
    (file,) = import_documents([Source("x.json", json.dumps(data))]).files
    new = json.loads(file.text)
    assert get(new, *path.split(".")) is None
    assert [
        each for each in compile([Source("x.json", file.text)], Options()).findings if each.severity == "error"
    ] == []


def test_a_word_in_a_number_is_imported() -> None:
    (change,) = {json.dumps(row[2]) for row in ROWS if row[1] == "spec.trainer.numProcPerNode"}
    assert json.loads(change)["type"] == [None, "integer"]
    data = document("TrainJob")
    data["spec"]["trainer"]["numProcPerNode"] = "auto"
    (file,) = import_documents([Source("x.json", json.dumps(data))]).files
    assert "numProcPerNode" not in file.text


def limits() -> list[tuple[str, str, str, Any]]:
    """Return the limits that are new or smaller, and the rules, by kind and path; those of overrides are of patches."""
    found = []
    for kind, path, change, _ in ROWS:
        if change == "removed" or path == "spec.trainer.numProcPerNode":
            continue
        own = ("TrainJob", f"{PATCHED}.{path}") if kind in OVERRIDES else (kind, path)
        for keyword, (before, now) in change.items():
            if keyword in LOOSER:
                continue
            grew = before is not None and keyword.startswith("max") and now > before
            if not grew:
                found.append((*own, keyword, now))
    return sorted({json.dumps(each): each for each in found}.values(), key=str)


@pytest.mark.parametrize(("kind", "path", "keyword", "limit"), limits())
def test_new_limits_are_reported(kind: str, path: str, keyword: str, limit: Any) -> None:
    """Today's CRD refuses what exceeds a new limit, at its line, whether it was imported or not."""
    data = document(kind)
    last = path.rpartition(".")[2]
    if keyword == "maxLength":
        put(data, path.split("."), "x" * (limit + 1))
    elif keyword == "maxItems":
        put(data, path.split("."), [{"name": f"a{number}"} for number in range(limit + 1)])
    elif keyword == "minLength":
        put(data, path.split("."), "")
    elif keyword == "minProperties":
        put(data, path.split("."), {})
    elif path:
        put(data, path.split("."), RULES[last])
    else:
        data |= RULES[""]
    steps = tuple(0 if step == "[]" else step for step in path.split(".") if step)
    found = [each.path for each in built(data) if each.severity == "error"]
    assert any(each[: len(steps)] == steps[: len(each)] for each in found if each), (found, steps)


def test_what_is_looser_is_looser() -> None:
    for _, path, change, _ in ROWS:
        if change != "removed":
            before, now = change.get("enum", [[], []])
            assert set(before) <= set(now), path
            before, now = change.get("required", [[], []])
            assert set(now or ()) <= set(before or ()), path


@cache
def fields_of_overrides() -> set[str]:
    return {row[1] for row in ROWS if row[0] in OVERRIDES and row[2] == "removed"}


def test_a_patch_has_every_field_of_an_override() -> None:
    assert fields_of_overrides() == {"targetJobs"}


@pytest.mark.go
@thorough
def test_the_table_is_that_of_the_crds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := gotools.missing(Path(__file__).parents[1] / "oracle"):
        pytest.skip(reason)
    import api_changes

    monkeypatch.setattr(api_changes, "ANSWERS", tmp_path / "new.json")
    api_changes.main()
    assert json.loads((tmp_path / "new.json").read_text(encoding="utf-8")) == ROWS
