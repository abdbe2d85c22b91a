"""What trainc says to changes against the real CRDs and webhooks: the generator, the comparison, and a short run."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from effort import share, some
from oracle import pairs, runner
from oracle.generate import objects
from oracle.generator.edits import edit
from oracle.generator.rng import Rng
from trainc import Build

SEED = 12
COUNT = share(200)


def test_a_pair_depends_on_seed_and_index_only() -> None:
    first = [pairs.pair(SEED, index) for index in range(30)]
    assert first == [pairs.pair(SEED, index) for index in range(30)]
    assert first != [pairs.pair(SEED + 1, index) for index in range(30)]
    assert any(made.edits for made in first), "JobSets are edited"
    assert any(made.old != made.new for made in first), "inputs are edited"


def test_an_edit_keeps_what_identifies_an_object() -> None:
    changed = 0
    for index in range(300):
        rng = Rng(SEED, index)
        document = next(found for found in objects(rng, broken=False) if found["kind"] in pairs.OURS)
        before = json.dumps(document)
        name, namespace = document["metadata"].get("name"), document["metadata"].get("namespace")
        edit(rng, document)
        assert document["metadata"].get("name") == name
        assert document["metadata"].get("namespace") == namespace
        changed += json.dumps(document) != before
    assert changed > 200


@pytest.mark.go
def test_short_run() -> None:
    _build()
    report = pairs.compare_pairs(pairs.pair(SEED, index) for index in range(COUNT))
    assert not report.mismatches, "\n".join(map(str, report.mismatches[:3]))
    for stage in ("crd", "jobset-crd", "jobset-webhook", "allowed"):
        assert any(what == stage and count for (_, what), count in report.judged.items()), stage


@pytest.mark.go
def test_what_is_not_said_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    _build()
    monkeypatch.setattr(pairs, "_of_made", _nothing)
    monkeypatch.setattr(pairs, "_of_input", _nothing)
    report = pairs.compare_pairs(pairs.pair(SEED, index) for index in some(range(COUNT), 4))
    refused = sum(count for (_, what), count in report.judged.items() if what not in ("allowed", "invalid"))
    assert len(report.mismatches) == refused > 0


def _nothing(_build: Build, _key: pairs.Key) -> Iterator[None]:
    yield from ()


def _build() -> None:
    if reason := runner.missing():
        pytest.skip(reason)
    runner.build()
