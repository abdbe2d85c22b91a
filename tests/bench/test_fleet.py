"""The generated repositories: always the same, clean, and of the sizes that the tables state."""

from __future__ import annotations

import statistics

import fleet
import pytest
from fleet import Files
from skeletons import compiled

from trainc import Severity
from trainc.basics.memo import LASTING


@pytest.mark.parametrize("flavour", fleet.FLAVOURS)
def test_a_job_in_a_fleet_compiles_to_what_it_does_alone(flavour: str) -> None:
    """What jobs have in common is computed once; no job may leave a trace in another. Nothing is found in any."""
    files = dict(fleet.repository(10, flavour))
    shared = {name: text for name, text in files.items() if not name.startswith("jobs/")}
    alone: dict[str, object] = {}
    for name in files.keys() - shared.keys():
        LASTING.clear()
        alone |= compiled({**shared, name: files[name]}).files
    whole = compiled(files)
    assert (whole.files, whole.findings) == (alone, ())
    assert len(alone) > 10


def test_one_file_with_all_jobs_compiles_to_the_same() -> None:
    many, one = (compiled(dict(fleet.repository(10, fleet.LIKE, files))) for files in (Files.OWN, Files.ONE))
    assert [each.data for each in many.objects] == [each.data for each in one.objects]


def test_every_fourth_namespace_shares_a_file() -> None:
    texts = {name: text for name, text in fleet.repository(400, fleet.LIKE, Files.MIXED) if name.startswith("jobs/")}
    shared = [name for name in texts if name.endswith("/all.yaml")]
    assert shared == ["jobs/team-0003/all.yaml", "jobs/team-0007/all.yaml"]
    assert len(texts) == 300 + len(shared)
    assert sum(text.count("kind: TrainJob") for text in texts.values()) == 400


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (fleet.job(0).path, ":1.0.0", ":latest", "an image has the tag latest"),
        (fleet.job(0).path, 'limits: {cpu: "4", memory: 8Gi}', 'limits: {cpu: "4"}', "a container has no memory limit"),
        ("runtimes/jax.yaml", "ml-platform\n", "''\n", "label example.com/team is missing"),
    ],
)
def test_the_three_rules_apply(name: str, old: str, new: str, message: str) -> None:
    files = dict(fleet.repository(5, fleet.LIKE))
    assert old in files[name]
    build = compiled({**files, name: files[name].replace(old, new)})
    assert message in " ".join(finding.message for finding in build.findings if finding.severity == Severity.ERROR)


def test_the_mix() -> None:
    jobs = list(fleet.jobs(1000))
    assert len({(each.namespace, each.name) for each in jobs}) == 1000
    assert len({each.namespace for each in jobs}) == 1000 // fleet.NAMESPACE_SIZE
    assert {kind: sum(each.kind == kind for each in jobs) for kind in fleet.KINDS} == dict.fromkeys(fleet.KINDS, 200)
    assert sum(each.runtime == fleet.TENTH for each in jobs) == 100
    assert {each.runtime for each in jobs} == set(fleet.runtimes())
    assert 500 <= statistics.fmean(len(each.text) for each in jobs) <= 600
