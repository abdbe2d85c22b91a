"""What a cluster accepts and never runs is an error by default, and a warning in faithful output."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainc import Options, Severity, Source, compile

ERRORS = Path(__file__).parents[1] / "errors"
CASES = (
    "TC610-job",
    "TC810-priority",
    "TC820-initializer",
    "TC821-faithful",
    "TC822-jobs",
    "TC823-label",
    "TC827-hostnames",
    "TC828-order",
)


@pytest.mark.parametrize("case", CASES)
def test_the_cluster_accepts_it_so_faithful_warns(case: str) -> None:
    text = (ERRORS / f"{case}.txt").read_text(encoding="utf-8").partition("---8<---\n")[0]
    files = [part.partition("\n") for part in text.split("\n>>> ")[1:]]
    sources = [Source(name, body) for name, _, body in files if name != "trainc.yaml"]
    made = compile(sources, Options(faithful=True))
    found = {finding.severity for finding in made.findings if finding.code == case.partition("-")[0]}
    assert found == {Severity.WARNING}
    assert all(job.objects for job in made.jobs)
