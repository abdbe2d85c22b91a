"""The committed cases of the oracle are jobs that run: what the checks call dead among them is listed here."""

from __future__ import annotations

from pathlib import Path

import pytest

from oracle import goldens
from trainc import Options, Severity, Source, compile

NEVER_RUNS = frozenset(f"TC82{digit}" for digit in range(10))
DEAD = {("plain/V9-mpi-no-template", "TC822")}
"""A runtime of MPI without any replicated job."""


ERRORS = Path(__file__).parents[1] / "errors"
CASES = ("TC820-initializer", "TC821-faithful", "TC822-jobs", "TC823-label", "TC827-hostnames")


def test_no_false_alarm() -> None:
    found = {
        (name, finding.code)
        for name, _ in goldens.cases()
        for finding in compile([Source("case.yaml", goldens.text(name))], Options()).findings
        if finding.code in NEVER_RUNS and finding.severity is Severity.ERROR
    }
    assert found == DEAD


@pytest.mark.parametrize("case", CASES)
def test_the_cluster_accepts_it_so_faithful_warns(case: str) -> None:
    text = (ERRORS / f"{case}.txt").read_text(encoding="utf-8").partition("---8<---\n")[0]
    files = [part.partition("\n") for part in text.split("\n>>> ")[1:]]
    sources = [Source(name, body) for name, _, body in files if name != "trainc.yaml"]
    made = compile(sources, Options(faithful=True))
    found = {finding.severity for finding in made.findings if finding.code == case.partition("-")[0]}
    assert found == {Severity.WARNING}
    assert all(job.objects for job in made.jobs)
