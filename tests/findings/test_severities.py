from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from inputs import XGBOOST, build, with_runtime

from trainc.basics.jsonvalues import JsonObject
from trainc.findings import CODES, Severity, has_errors, report
from trainc.findings.severities import LEVELS, REFUSED, apply, check, is_fixed, read
from trainc.inputs.settings import ConfigFile
from trainc.inputs.source import Document, Source
from trainc.project.config import convert, parse

ONE = XGBOOST.format(name="one")
WRONG = ONE.replace("numNodes: 2", "numNodes: two")


def test_what_is_raised_in_one_job_leaves_the_objects_of_the_others() -> None:
    plain = ONE.replace("        example.com/gpu-mem: 16\n", "").replace("name: one", "name: two")
    found = build(ONE, plain, config={"severities": {"TC409": "error"}})
    assert [bool(job.objects) for job in found.jobs] == [False, True]
    assert found.files == {}


def test_a_refusal_stays_an_error_and_says_why() -> None:
    config = {"severities": {"TC102": "ignore"}}
    refused = next(finding for finding in build(WRONG, config=config).findings if finding.code == "TC102")
    assert refused.severity is Severity.ERROR
    assert refused.hint is not None
    assert refused.hint.endswith("severities in trainc.yaml cannot lower it: the cluster refuses it, too")


def test_a_stage_makes_any_error_stay() -> None:
    finding = report("TC309", Document(Source("a", ""), {}), (), "m", stage="webhook")
    assert is_fixed(finding)
    left = apply(finding, {"TC309": None})
    assert left is not None
    assert left.hint == "severities in trainc.yaml cannot lower it: the cluster refuses it, too"


def test_faithful_knows_no_severities() -> None:
    config = {"severities": {"TC409": "error"}}
    found = build(ONE.replace("xgboost-distributed", "none"), config=config, faithful=True)
    assert [finding.code for finding in found.findings] == ["TC301"]
    raised = {finding.code for finding in with_runtime(1, config={"severities": {"TC451": "error"}}).findings}
    assert "TC451" in raised


def test_severities_without_environments() -> None:
    config, findings = parse(Source("trainc.yaml", "severities: {TC409: error, TC001: error, TC005: note}\n"))
    assert findings == ()
    assert config.environments == ("prod",)
    assert config.data["severities"] == {"TC409": "error", "TC001": "error", "TC005": "note"}


@given(
    st.dictionaries(
        st.sampled_from(sorted(CODES)) | st.text(max_size=6), st.sampled_from(LEVELS) | st.none() | st.integers()
    )
)
def test_what_passes_the_check_is_what_is_read(value: dict[str, str | int | None]) -> None:
    data: JsonObject = {"severities": {**value}}
    document = Document(Source("trainc.yaml", json.dumps(data)), data)
    wrong = {finding.path[1] for finding in (*check(document), *convert(data, document, ConfigFile, "TC013")[1])}
    assert set(value) - wrong <= set(read(value))
    assert all(code in CODES for code in read(value))


@given(st.sampled_from(sorted(CODES)), st.sampled_from(Severity), st.sampled_from([*Severity, None]), st.booleans())
def test_no_severity_makes_a_refusal_pass(code: str, before: Severity, after: Severity | None, staged: bool) -> None:
    stage = "crd" if staged else None
    finding = report(code, Document(Source("a", ""), {}), (), "m", severity=before, stage=stage)
    left = apply(finding, {code: after})
    fixed = before is Severity.ERROR and (staged or code in REFUSED)
    assert left is None or left.severity is after or is_fixed(finding)
    if fixed:
        assert left is not None
        assert has_errors([left])
