"""Damaged YAML and streams of documents, against Kubernetes' own readers."""

from __future__ import annotations

from collections import Counter

import pytest
from scalar_vectors import FILE, record
from yaml_oracle import ask, damaged_yaml, same, streams

from effort import share
from oracle import gotools
from trainc.basics.jsonvalues import Json
from trainc.data import load_json
from trainc.documents.load import load
from trainc.documents.problems import Problem, Refused
from trainc.documents.yaml import read_yaml
from trainc.inputs.source import Source

OURS = (
    "kubectl ignores everything from this line on",
    "a byte order mark inside the text",
    "JSON cannot represent the tag",
)
"""What trainc refuses and Kubernetes does not, knowing it."""


def read(text: str) -> tuple[Json, list[Problem]]:
    try:
        data, problems = read_yaml(text)
    except Refused as refusal:
        return None, [refusal.problem]
    return data, [problem for problem in problems if problem.fatal]


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_damaged_yaml() -> None:
    texts = damaged_yaml(1, share(6000))
    counts: Counter[str] = Counter()
    wrong = []
    for text, answer in zip(texts, ask(texts), strict=True):
        data, problems = read(text)
        error = answer.get("error", "")
        if not problems:
            kind = "read" if not error and same(data, answer["json"]) else "wrong"
        elif problems[0].message.startswith(OURS):
            kind = "ours"
        elif not error:
            kind = "stricter"
        else:
            kind = "refused" if any(problem.upstream == error for problem in problems) else "other text"
        counts[kind] += 1
        if kind == "wrong":
            wrong.append((text, answer, data))
    assert wrong == []
    assert counts["read"] > len(texts) / 12
    assert counts["refused"] > len(texts) / 2
    # libyaml and its port in Go go different ways in rubbish like [a\n[b: they are few, and errors either way.
    assert counts["stricter"] + counts["other text"] < 0.02 * len(texts), counts


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_streams_of_documents() -> None:
    identity = "apiVersion: v1\nkind: K\nmetadata: {name: x}\n"
    texts = [text.replace("a: 1\n", identity).replace('{"a":1}', _json("y")) for text in streams(1, share(4000))]
    counts: Counter[str] = Counter()
    for text, answer in zip(texts, ask(texts), strict=True):
        documents, findings = load(Source("a.yaml", text))
        found = [document.data for document in documents]
        objects = [value for value in answer.get("documents") or () if _is_object(value)]
        kind = "same"
        if answer.get("stop") or any(finding.message.startswith(OURS) for finding in findings):
            # kubectl stops at an error, trainc goes on.
            assert any(finding.code in ("TC002", "TC012") for finding in findings), text
            kind = "error"
            found = found[: len(objects)] if answer.get("stop") else []
            objects = objects[: len(found)]
        counts[kind] += 1
        assert same(found, objects), text
    assert min(counts["same"], counts["error"]) > len(texts) / 8


def _json(name: str) -> str:
    return '{"apiVersion": "v1", "kind": "K", "metadata": {"name": "%s"}}' % name  # noqa: UP031 - braces


def _is_object(value: object) -> bool:
    return isinstance(value, dict) and {"apiVersion", "kind", "metadata"} <= value.keys()


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_recorded_scalars_are_what_upstream_says_today(update: bool) -> None:
    text = record()
    if update:
        FILE.write_text(text, encoding="utf-8")
    assert FILE.read_text(encoding="utf-8") == text


@pytest.mark.go
@pytest.mark.usefixtures("go_modules")
def test_the_table_of_printable_characters_is_that_of_go() -> None:
    assert load_json("go_printable.json") == gotools.run([gotools.build(package="./printable")]).split()
