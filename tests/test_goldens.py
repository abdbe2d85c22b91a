"""Every case of the oracle, compiled by us, against what the real Trainer and JobSet made of it. Needs no Go.

The cases are also jobs that run: what the checks call dead among them is listed here. Each case (in `make test` every
third) is also compiled as users do, with and without fixes: a fix that no finding names changes nothing. Every finding
has a path that exists, in the document as it is compiled or in its file, and a cluster adds nothing to a JobSet: a
server admits it unchanged, and a second apply changes nothing.
"""

from __future__ import annotations

import pytest

from effort import some
from oracle import goldens
from oracle.compare import compare, compile_case
from oracle.divergences import Ledger
from trainc import Build, Finding, Options, Source, compile
from trainc.admission.jobset import default, overlay
from trainc.basics.jsonvalues import as_object, existing
from trainc.kube.gotypes import JOB_SET, decode
from trainc.schema import admit, resource
from trainc.upstream import FIXES

NAMES = [name for name, _ in goldens.cases()]
NEVER_RUNS = {"TC820", "TC821", "TC822", "TC823", "TC827", "TC828"}
DEAD = {"plain/V9-mpi-no-template": {"TC822"}, "jobset/depends-on-itself": {"TC828"}}
"""A runtime of MPI without any replicated job, and a job that waits for itself."""


def test_enough_cases() -> None:
    assert len(NAMES) >= 320
    missing = [name for name in NAMES if not (goldens.GOLDENS / f"{name}.json").exists()]
    assert missing == []


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    build = compile_case(goldens.text(name))
    differences = compare(goldens.read(name), build)
    unexplained = Ledger().unexplained(differences)
    assert not unexplained, "\n".join(map(str, unexplained))
    assert {finding.code for finding in build.findings} & NEVER_RUNS == DEAD.get(name, set())
    check_paths(build, name)
    check_jobsets(build)


@pytest.mark.parametrize("name", some(NAMES, 3))
def test_default_output(name: str) -> None:
    plain = compiled(name)
    check_paths(plain, name)
    check_jobsets(plain)
    named = mentioned(plain)
    others = compiled(name, *(fix for fix in FIXES if fix not in named))
    assert [made.data for made in others.objects] == [made.data for made in plain.objects]
    assert [said(finding) for finding in others.findings] == [said(finding) for finding in plain.findings]
    assert not named or mentioned(compiled(name, *FIXES)) == set(), "a fix that is on is no advice"


def compiled(name: str, *fixes: str) -> Build:
    return compile([Source("case.yaml", goldens.text(name))], Options(fixes=fixes))


def mentioned(build: Build) -> set[str]:
    """Return the fixes that findings name."""
    return {name for name in FIXES for finding in build.findings if repr(name) in (finding.hint or "")}


def said(found: Finding) -> tuple[object, ...]:
    return found.code, found.severity, found.message, found.path, found.hint, found.stage


def check_paths(build: Build, name: str) -> None:
    for finding in build.findings:
        places = [(finding.document, finding.path), *((other.document, other.path) for other in finding.related)]
        for document, path in places:
            assert existing(document.data, path) == path or path in document.marks(), (name, finding.code, path)


def check_jobsets(build: Build) -> None:
    for made in build.objects:
        if made.kind == "JobSet":
            admitted = admit(resource("JobSet"), made.data)
            assert (admitted.data, admitted.dropped, admitted.violations) == (made.data, (), ())
            assert default(made.data) == made.data
            typed = {key: value for key, value in as_object(decode(made.data, JOB_SET)).items() if key != "status"}
            assert overlay(made.data, typed) == made.data
