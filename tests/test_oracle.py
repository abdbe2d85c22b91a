"""The oracle: its generator and comparison; with Go also that goldens are current, and a short fuzz run."""

from __future__ import annotations

import copy

import pytest

from effort import share, some
from oracle import fuzz, goldens, runner
from oracle.compare import compare, compile_case
from oracle.divergences import DIVERGENCES, Ledger
from oracle.generate import case
from oracle.generator.rng import Rng

SEED = 11


@pytest.fixture(scope="session")
def oracle() -> None:
    reason = runner.missing()
    if reason is not None:
        pytest.skip(reason)
    runner.build()


def test_random_numbers_are_the_same_everywhere() -> None:
    rng = Rng(7, 3)
    assert [rng.below(1000) for _ in range(6)] == [982, 44, 285, 862, 18, 102]


def test_a_case_depends_on_seed_and_index_only() -> None:
    first = [case(SEED, index).text for index in range(50)]
    assert first == [case(SEED, index).text for index in range(50)]
    assert len(set(first)) == 50
    assert case(SEED + 1, 0).text != first[0]


def test_comparison_sees_every_change_of_an_object() -> None:
    name = "torch/X4-env-order"
    build = compile_case(goldens.text(name))
    verdict = goldens.read(name)
    assert compare(verdict, build) == []
    for path, changed in _changes(verdict):
        differences = compare(changed, build)
        assert len(differences) == 1, path
        assert Ledger().unexplained(differences) == differences


def _changes(verdict: runner.Verdict) -> list[tuple[str, runner.Verdict]]:
    """Return verdicts whose JobSet differs in one leaf each."""
    result = []
    paths = list(_leaves(verdict["results"][0]["objects"][0], ()))
    for path in paths:
        changed = copy.deepcopy(verdict)
        holder = changed["results"][0]["objects"][0]
        for step in path[:-1]:
            holder = holder[step]
        if path[-1] not in ("apiVersion", "kind") and path[:1] != ("metadata",):
            holder[path[-1]] = {"changed": holder[path[-1]]}
            result.append((".".join(map(str, path)), changed))
    assert len(result) > 10
    return result


def _leaves(value: object, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in _leaves(item, (*path, key))]
    if isinstance(value, list) and value:
        return [leaf for index, item in enumerate(value) for leaf in _leaves(item, (*path, index))]
    return [path]


def test_comparison_sees_stages_and_texts() -> None:
    name = "torch/X5-reserved"
    build = compile_case(goldens.text(name))
    verdict = goldens.read(name)
    assert compare(verdict, build) == []
    verdict["results"][0]["errors"][0]["message"] += "!"
    assert [d.path for d in compare(verdict, build)] == ["errors"]
    verdict["results"][0]["stage"] = "build"
    assert [d.path for d in compare(verdict, build)] == ["stage"]
    verdict["results"][0] |= {"stage": None, "errors": []}
    assert [d.path for d in compare(verdict, build)] == ["stage"]


def test_divergences_have_names_and_reasons_of_their_own() -> None:
    assert len({entry.name for entry in DIVERGENCES}) == len(DIVERGENCES)
    assert all(entry.reason for entry in DIVERGENCES)


NEEDED = {
    "flux-scripts": "flux/plain",
    "snapshot": "runtimes/control-character",
    "input": "metadata/generate-name",
    "finalizers": "patches/finalizers-twice",
    "one-finding": "metadata/runtime-label-key-empty",
}
"""A case for each entry but memory, which has none: upstream must not be asked."""


def test_divergences_are_needed() -> None:
    assert {*NEEDED, "memory"} == {entry.name for entry in DIVERGENCES}
    for entry, name in NEEDED.items():
        ledger = Ledger()
        assert ledger.unexplained(compare(goldens.read(name), compile_case(goldens.text(name)))) == []
        assert ledger.counts[entry] > 0


@pytest.mark.go
def test_goldens_are_current(oracle: None) -> None:
    asked = list(goldens.asked())
    assert {path.relative_to(goldens.GOLDENS).as_posix() for path in goldens.GOLDENS.rglob("*.json")} == {
        f"{case.id}.json" for case in asked
    }
    assert goldens.differing(goldens.fresh(some(asked, 4))) == []


@pytest.mark.go
def test_short_fuzz_run(oracle: None) -> None:
    cases = [case(SEED, index) for index in range(share(150))]
    report = fuzz.fuzz(cases)
    assert report.count == len(cases)
    assert not report.failures, "\n\n".join(fuzz.describe(*failure) for failure in report.failures[:3])


@pytest.mark.go
def test_oversized_cases_are_never_asked(oracle: None, monkeypatch: pytest.MonkeyPatch) -> None:
    oversized = next(made for index in range(5000) if (made := case(SEED, index)).oversized)
    monkeypatch.setattr(runner, "ask", lambda cases: pytest.fail("upstream would run out of memory"))
    assert fuzz.fuzz([oversized]).ledger.counts["memory"] == 1
