from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import JOB, RUNTIME, XGBOOST, build, names, places, with_runtime

from trainc import Options, Source, compile
from trainc.documents.libyaml import yaml_comments
from trainc.documents.load import comments
from trainc.findings import CODES, Severity
from trainc.findings.severities import REFUSED
from trainc.findings.suppression import read

ONE = XGBOOST.format(name="one")


def above(line: int, comment: str, text: str = ONE) -> str:
    lines = text.splitlines(keepends=True)
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return "".join([*lines[: line - 1], " " * indent + comment + "\n", *lines[line - 1 :]])


def test_json_has_no_comments() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "# trainc: ignore TC409 x"}}'
    assert read(Source("a.json", text), comments) == ((), ())


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_and_marks_of_other_editors(newline: str, mark: str) -> None:
    text = mark + above(1, "# trainc: ignore TC409 reason").replace("\n", newline)
    assert places(build(text)) == []
    assert compile([Source("jobs/team/a.yaml", text.encode())]).findings == ()


@pytest.mark.parametrize("indicator", ["|", "|-", ">+", "|2", "&a |", "!!str >-", "&a !!str\t|"])
def test_beside_the_indicator_of_a_text(indicator: str) -> None:
    comment = "# trainc: ignore TC411 only an example"
    text = f"a:\n  b: {indicator} {comment}\n    password=x {comment}\n    {comment}\n  c: 1 {comment}\n"
    (first, second), findings = read(Source("a.yaml", text), comments)
    assert ((first.line, second.line), findings) == ((2, 5), ())


@pytest.mark.parametrize("value", ["b", '"b"', "|\n  b", "[b]"])
def test_between_an_anchor_and_its_text(value: str) -> None:
    text = f"a: &a # trainc: ignore TC411 only an example\n  {value}\n"
    (comment,), findings = read(Source("a.yaml", text), comments)
    assert (comment.line, findings) == (1, ())


def test_an_unknown_field_of_a_runtime_silenced_leaves_the_other_checks() -> None:
    text = RUNTIME.replace("spec:\n  mlPolicy", "spec:\n  # trainc: ignore TC101 later\n  extra: 1\n  mlPolicy", 1)
    assert all(job.objects for job in with_runtime(2, text).jobs)
    bad = text.replace("        - name: launcher\n", "        - name: launcher\n          replicas: 2\n")
    found = with_runtime(2, bad)
    assert [finding.code for finding in found.findings if finding.severity is Severity.ERROR] == ["TC304"]
    assert found.files == {}


def test_in_a_runtime() -> None:
    codes = {code for code, _, _ in places(with_runtime(2))}
    assert {"TC451", "TC457", "TC458"} <= codes
    silenced = RUNTIME.replace("    mpi:", "    # trainc: ignore TC451, TC458 images of our own\n    mpi:")
    assert {code for code, _, _ in places(with_runtime(2, silenced))} == codes - {"TC451", "TC458"}


def test_a_runtime_that_no_job_uses_may_have_more_to_find() -> None:
    text = RUNTIME.replace("    mpi:", "    # trainc: ignore TC451 reason\n    mpi:")
    alone = compile([Source("runtimes/rt.yaml", text)], Options())
    assert [code for code, _, _ in places(alone)] == ["TC303"]
    assert "TC017" in [code for code, _, _ in places(with_runtime(1, text.replace("TC451", "TC465")))]


def test_under_faithful_too() -> None:
    text = RUNTIME.replace("    mpi:", "    # trainc: ignore TC451, TC458 reason\n    mpi:")
    text += f"---\n{JOB.format(name=names(1)[0])}"
    codes = [finding.code for finding in compile([Source("x.yaml", text)], Options(faithful=True)).findings]
    assert "TC451" not in codes
    assert "TC457" in codes


def test_what_is_refused_is_a_code_of_errors() -> None:
    assert {CODES[code].severity for code in REFUSED} == {Severity.ERROR}


@given(st.text(alphabet="#\ttrainc: ignoreTC409,|>-'\"[]{}&*\n\\x", max_size=60))
def test_any_text_is_read(text: str) -> None:
    for at, rest in yaml_comments(text, "trainc:"):
        assert text[at] == "#"
        assert text[at + 1 :].lstrip().startswith("trainc:")
        assert "\n" not in rest
    read(Source("a.yaml", text), comments)


@given(st.lists(st.sampled_from(sorted(CODES)), min_size=1, max_size=4, unique=True), st.integers(0, 11))
def test_a_comment_takes_only_what_it_names(codes: list[str], line: int) -> None:
    before = {(finding.code, finding.message) for finding in build(ONE).findings}
    after = {
        (finding.code, finding.message)
        for finding in build(above(line + 1, f"# trainc: ignore {', '.join(codes)} reason")).findings
        if finding.code not in ("TC016", "TC017")
    }
    assert after <= before
    assert {code for code, _ in before - after} <= set(codes)
