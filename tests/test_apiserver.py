"""Jobs, pods, objects beside a runtime and their changes against Kubernetes' API server: the generator, a short run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from effort import share
from oracle import apiserver
from oracle.divergences import API_SERVER, Divergence
from trainc.pipeline import update_rules

SEED = 12
COUNT = share(200)
pytestmark = pytest.mark.go


@pytest.fixture(scope="module", autouse=True)
def oracle() -> None:
    if reason := apiserver.missing():
        pytest.skip(reason)


@pytest.mark.parametrize("part", apiserver.PARTS)
def test_a_case_depends_on_seed_and_index_only(part: str) -> None:
    first = [apiserver.case(part, SEED, index) for index in range(30)]
    assert first == [apiserver.case(part, SEED, index) for index in range(30)]
    assert first != [apiserver.case(part, SEED + 1, index) for index in range(30)]


@pytest.mark.parametrize("part", apiserver.PARTS)
def test_short_run(part: str) -> None:
    report = apiserver.run([part], SEED, range(COUNT))
    assert not report.differences, apiserver.summary(report, 1)
    assert len(report.outcomes) >= 2, "both answers occur"


def test_what_is_not_said_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update_rules, "refused_changes", _nothing)
    report = apiserver.run(["changes"], SEED, range(COUNT))
    assert len(report.differences) == report.outcomes["changes: refused"] > 0


def _nothing(*_objects: Any) -> Iterator[None]:
    yield from ()


OCCURRENCES = {
    "plugins-and-kubelet": (401, 1),
    "webhook-of-pods": (401, 1333),
    "image-volumes": (401, 23714),
    "removed-volumes": (401, 237),
    "windows": (401, 247),
    "annotations-of-pods": (401, 1939),
    "file-name": (7, 245),
}
"""Seed and index of a case that an entry of the list explains."""


@pytest.mark.parametrize("entry", API_SERVER, ids=lambda entry: entry.name)
def test_each_known_difference_occurs(entry: Divergence) -> None:
    seed, index = OCCURRENCES[entry.name]
    report = apiserver.run([entry.stage], seed, [index])
    assert not report.differences
    assert report.ledger.counts[entry.name]
