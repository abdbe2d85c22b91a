from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import with_runtime
from msgspec.structs import replace

from trainc import Finding, Severity
from trainc.findings import report
from trainc.findings.formats import FORMATS
from trainc.findings.settling import JobFindings, collapse, without_count
from trainc.inputs.source import Document, Source

RT = Document(Source("runtimes/rt.yaml", "a: 1\n"), {"a": 1})
EXPLAINED = (("TC108", Severity.WARNING), ("TC005", Severity.ERROR))


def told(message: str, code: str = "TC457", document: Document = RT) -> Finding:
    return report(code, document, (), message)


def collapsed(*jobs: tuple[str, str]) -> list[str]:
    return [finding.message for finding in collapse([], [JobFindings(name, [told(message)]) for name, message in jobs])]


def test_the_same_of_several_jobs() -> None:
    assert collapsed(("t/a", "m")) == ["m"]
    assert collapsed(("t/a", "m"), ("t/b", "m")) == ["m (in 2 TrainJobs: t/a and t/b)"]
    assert collapsed(("t/a", "m"), ("t/b", "m"), ("u/a", "m")) == ["m (in 3 TrainJobs: t/a, t/b and u/a)"]
    assert collapsed(*((f"t/j{n}", "m") for n in range(12))) == ["m (in 12 TrainJobs: t/j0, t/j1 and 10 more)"]


def test_messages_that_differ_in_the_name_only() -> None:
    messages = (("t/a", "job t/a makes a-node-0"), ("t/bc", "job t/bc makes bc-node-0"))
    assert collapsed(*messages) == ["job t/a makes a-node-0 (in 2 TrainJobs: t/a and t/bc)"]
    assert collapsed(("t/a", "makes a-node-0"), ("t/b", "makes b-node-1")) == ["makes a-node-0", "makes b-node-1"]
    assert collapsed(("t/a", "xa, a.b"), ("t/b", "xb, b.b")) == ["xa, a.b", "xb, b.b"]


def test_a_name_that_is_a_word_of_the_message() -> None:
    jobs = (("t/node", "container node"), ("t/b", "container node"), ("t/c", "container node"))
    assert collapsed(*jobs) == ["container node (in 3 TrainJobs: t/node, t/b and t/c)"]


def test_what_differs_otherwise_stays_apart() -> None:
    other = Document(Source("runtimes/rt.yaml", "a: 1\n"), {"a": 1}, 1)
    findings = [told("m"), told("n"), told("m", "TC458"), told("m", document=other), report("TC457", RT, ("a",), "m")]
    assert collapse([], [JobFindings("t/a", findings)]) == findings
    assert len(collapse([], [JobFindings("t/a", findings), JobFindings("t/b", findings)])) == len(findings)


def test_what_is_true_without_any_job_is_not_counted() -> None:
    assert collapse([told("m"), told("m")], [JobFindings("t/a", [told("m")]), JobFindings("t/b", [told("m")])]) == [
        told("m")
    ]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_jobs_through_one_runtime(count: int) -> None:
    found = with_runtime(count)
    bugs = [finding for finding in found.findings if finding.code == "TC457"]
    assert len(bugs) == 1
    assert ("TrainJobs" in bugs[0].message) == (count > 1)
    assert sum(finding.code == "TC409" for finding in found.findings) == count, "each at a line of its own"
    own = [
        finding.message for finding in found.findings if finding.code == "TC303" and finding.file == "runtimes/rt.yaml"
    ]
    assert own
    assert not any("TrainJobs" in message for message in own), "true of the runtime itself"
    for job in found.jobs:
        own = [finding.message for finding in job.findings if finding.code == "TC457"]
        assert own == [without_count(bugs[0].message)], "a job's own findings keep their words"


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_tells_the_count(name: str) -> None:
    assert "(in 5 TrainJobs: team/job-a, team/job-b and 3 more)" in FORMATS[name](with_runtime(5).findings, False)


def test_identity_of_a_finding_has_no_count() -> None:
    def prints(count: int) -> list[str]:
        log = json.loads(FORMATS["sarif"](with_runtime(count).findings, False))
        return [
            result["partialFingerprints"]["traincFinding/v1"]
            for result in log["runs"][0]["results"]
            if result["ruleId"] == "TC457"
        ]

    assert len(prints(1)) == 1
    assert prints(1) == prints(2) == prints(7)
    for count in (1, 3):
        report = FORMATS["junit"](with_runtime(count).findings, False)
        (case,) = [line for line in report.splitlines() if 'name="TC457 ' in line]
        assert "TrainJobs" not in case


words = st.lists(st.sampled_from(["a", "b", "t/a", "a-0", "x"]), min_size=1, max_size=3).map(" ".join)


@given(st.lists(st.tuples(st.sampled_from(["t/a", "t/b", "t/x"]), st.lists(words, max_size=3)), max_size=4))
def test_nothing_gets_lost(jobs: list[tuple[str, list[str]]]) -> None:
    found = collapse([], [JobFindings(name, [told(message) for message in messages]) for name, messages in jobs])
    given_messages = {message for _, messages in jobs for message in messages}
    assert {without_count(finding.message) for finding in found} <= given_messages
    assert len(found) <= len(given_messages)
    assert bool(found) == bool(given_messages)


@pytest.mark.parametrize("code", ["TC202", "TC204"])
def test_a_change_that_the_jobset_does_not_allow_is_not_a_warning_as_well(code: str) -> None:
    advice = report("TC202", RT, ("a",), "has changed", severity=Severity.WARNING)
    elsewhere = report("TC202", RT, (), "has changed", severity=Severity.WARNING)
    error = report(code, RT, ("a",), "the JobSet is refused", severity=Severity.ERROR)
    assert collapse([advice, elsewhere], [JobFindings("t/a", [error])]) == [elsewhere, error]
    assert collapse([], [JobFindings("t/a", [advice, error]), JobFindings("t/b", [advice])]) == [error]
    milder = report(code, RT, ("a",), "the JobSet is refused", severity=Severity.WARNING)
    assert collapse([advice], [JobFindings("t/a", [milder])]) == [advice, milder]


def test_a_warning_explains_no_ambiguous_scalar_that_is_an_error() -> None:
    wrong, ambiguous = (report(code, RT, ("a",), "m", severity=severity) for code, severity in EXPLAINED)
    assert collapse([wrong, ambiguous], []) == [wrong, ambiguous]
    worse = replace(wrong, severity=Severity.ERROR)
    assert collapse([worse, ambiguous], []) == [worse]
