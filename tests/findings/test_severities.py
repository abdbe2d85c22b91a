from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from inputs import XGBOOST, build, places, with_runtime

from trainc.basics.jsonvalues import JsonObject
from trainc.cli.root import trainc
from trainc.findings import CODES, Severity, has_errors, report
from trainc.findings.severities import LEVELS, REFUSED, apply, check, is_fixed, read
from trainc.inputs.settings import ConfigFile
from trainc.inputs.source import Document, Source
from trainc.project.config import convert, parse

ONE = XGBOOST.format(name="one")
UNKNOWN = ONE.replace("    numNodes: 2\n", "    numNodes: 2\n    numNods: 2\n")
WRONG = ONE.replace("numNodes: 2", "numNodes: two")


@pytest.mark.parametrize(
    ("level", "severities"), [("error", ["error"]), ("warning", ["warning"]), ("note", ["note"]), ("ignore", [])]
)
def test_a_warning_can_become_anything(level: str, severities: list[str]) -> None:
    found = build(ONE, config={"severities": {"TC409": level}})
    assert [finding.severity for finding in found.findings] == severities
    assert bool(found.files) == bool(found.jobs[0].objects) == (level != "error")
    assert found.jobs[0].findings == found.findings


def test_what_is_raised_in_one_job_leaves_the_objects_of_the_others() -> None:
    plain = ONE.replace("        example.com/gpu-mem: 16\n", "").replace("name: one", "name: two")
    found = build(ONE, plain, config={"severities": {"TC409": "error"}})
    assert [bool(job.objects) for job in found.jobs] == [False, True]
    assert found.files == {}


def test_an_error_of_our_own_can_be_lowered_and_is_then_compiled() -> None:
    found = build(UNKNOWN, config={"severities": {"TC101": "note"}})
    assert places(found) == [("TC101", 9, "note"), ("TC409", 11, "warning")]
    assert found.jobs[0].objects


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


def test_a_comment_goes_before_a_severity() -> None:
    text = f"# trainc: ignore TC409 it is memory\n{ONE}"
    assert places(build(text, config={"severities": {"TC409": "error"}})) == []


def test_findings_on_comments_have_severities_too() -> None:
    text = f"# trainc: ignore TC408 it is memory\n{ONE}"
    assert places(build(text, config={"severities": {"TC017": "error"}})) == [
        ("TC017", 1, "error"),
        ("TC409", 11, "warning"),
    ]
    assert build(text, config={"severities": {"TC017": "error"}}).files == {}
    assert places(build(text, config={"severities": {"TC017": "ignore"}})) == [("TC409", 11, "warning")]


@pytest.mark.parametrize(
    ("value", "message", "path"),
    [
        ("{TC999: error}", "unknown code 'TC999'", ("severities", "TC999")),
        ("{tc409: error}", "unknown code 'tc409'", ("severities", "tc409")),
        ("{TC409: fatal}", "severities.TC409 must be", ("severities", "TC409")),
        ("{TC409: Error}", "severities.TC409 must be", ("severities", "TC409")),
        ("{TC409: [error]}", "severities.TC409 must be", ("severities", "TC409")),
        ("{TC409: }", "severities.TC409 must be", ("severities", "TC409")),
        ("{TC001: note}", "TC001 cannot be lowered: trainc cannot compile such input", ("severities", "TC001")),
        ("{TC902: ignore}", "TC902 cannot be lowered: trainc cannot continue after it", ("severities", "TC902")),
        ("{TC103: warning}", "TC103 cannot be lowered: the cluster refuses it, too", ("severities", "TC103")),
        ("[TC103]", "severities must be a mapping", ("severities",)),
        ("", "severities must be a mapping", ("severities",)),
    ],
)
def test_what_is_wrong_in_the_file_is_placed(value: str, message: str, path: tuple[str, ...]) -> None:
    config, findings = parse(Source("trainc.yaml", f"environments: {{prod: {{}}}}\nseverities: {value}\n"))
    (finding,) = findings
    assert finding.code == "TC013"
    assert finding.message.startswith(message)
    assert finding.path == path
    assert finding.line == 2
    assert config.data == {"environments": {"prod": {}}}


def test_severities_without_environments() -> None:
    config, findings = parse(Source("trainc.yaml", "severities: {TC409: error, TC001: error, TC005: note}\n"))
    assert findings == ()
    assert config.environments == ("prod",)
    assert config.data["severities"] == {"TC409": "error", "TC001": "error", "TC005": "note"}


def test_through_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs/team").mkdir(parents=True)
    (tmp_path / "jobs/team/one.yaml").write_text(ONE)
    (tmp_path / "trainc.yaml").write_text("severities: {TC409: note}\n")
    monkeypatch.chdir(tmp_path)
    lowered = CliRunner().invoke(trainc, ["validate", "--fail-on", "warning"])
    assert (lowered.exit_code, "note[TC409]" in lowered.output) == (0, True)
    (tmp_path / "trainc.yaml").write_text("severities: {TC409: error}\n")
    for command in (["validate"], ["render"], ["build", "jobs/team/one.yaml"]):
        raised = CliRunner().invoke(trainc, command)
        assert (raised.exit_code, "error[TC409]" in raised.output) == (1, True)
    assert not (tmp_path / "out").exists()


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
