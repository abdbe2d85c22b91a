from __future__ import annotations

import re

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
WARNED = ("TC409", 10, "warning")


def above(line: int, comment: str, text: str = ONE) -> str:
    lines = text.splitlines(keepends=True)
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return "".join([*lines[: line - 1], " " * indent + comment + "\n", *lines[line - 1 :]])


def behind(line: int, comment: str, text: str = ONE) -> str:
    lines = text.splitlines()
    return "\n".join([*lines[: line - 1], f"{lines[line - 1]} {comment}", *lines[line:]])


def test_the_job_has_one_warning() -> None:
    assert places(build(ONE)) == [WARNED]


@pytest.mark.parametrize("line", [1, 5, 7, 9, 10], ids=["document", "spec", "trainer", "resources", "limits"])
@pytest.mark.parametrize("put", [above, behind])
def test_a_comment_covers_what_begins_on_the_line_and_all_below(line: int, put: object) -> None:
    assert callable(put)
    found = build(put(line, "# trainc: ignore TC409 the second is memory"))
    assert places(found) == []
    assert found.files


@pytest.mark.parametrize("line", [3, 6, 8, 11, 12])
def test_and_nothing_else(line: int) -> None:
    found = build(above(line, "# trainc: ignore TC409 not here"))
    codes = [code for code, _, _ in places(found)]
    assert sorted(codes) == ["TC017", "TC409"]


@pytest.mark.parametrize(
    "between", ["", "\n", "    # another comment\n", "    \n    # a\n\n"], ids=["none", "empty", "comment", "several"]
)
def test_blank_lines_and_comments_may_stand_between(between: str) -> None:
    line = "    resourcesPerNode:\n"
    assert places(build(ONE.replace(line, f"    # trainc: ignore TC409 reason\n{between}{line}"))) == []


@pytest.mark.parametrize(
    "comment",
    [
        "#trainc:ignore TC409 reason",
        "#  trainc:   ignore  TC409   reason",
        "# trainc: ignore TC409 - reason",
        "# trainc: ignore TC409: reason",
        "# trainc: ignore TC015,TC409 reason",
        "# trainc: ignore TC015 , TC409 reason",
        "# trainc: ignore TC015 TC409 reason",
        "# trainc: ignore TC409, TC409 ein Grund: é",
    ],
)
def test_spellings(comment: str) -> None:
    assert "TC409" not in [code for code, _, _ in places(build(above(9, comment)))]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# trainc:", "unknown comment trainc:"),
        ("# trainc: ingore TC409 reason", "unknown comment trainc: ingore"),
        ("# trainc: ignored TC409 reason", "unknown comment trainc: ignored"),
        ("# trainc: ignore", "the comment has no code"),
        ("# trainc: ignore all of it", "the comment has no code"),
        ("# trainc: ignore TC409", "missing reason for ignoring TC409"),
        ("# trainc: ignore TC409, TC015 --", "missing reason for ignoring TC409, TC015"),
        ("# trainc: ignore tc409 reason", "unknown code 'tc409'"),
        ("# trainc: ignore TC40 reason", "unknown code 'TC40'"),
        ("# trainc: ignore TC016 reason", "TC016 cannot be silenced: it reports such comments"),
        ("# trainc: ignore TC002 reason", "TC002 cannot be silenced: trainc cannot compile such input"),
        ("# trainc: ignore TC902 reason", "TC902 cannot be silenced: trainc cannot continue after it"),
        ("# trainc: ignore TC801 reason", "TC801 cannot be silenced: the cluster refuses it, too"),
    ],
)
def test_what_does_not_silence_says_so(comment: str, message: str) -> None:
    found = build(above(9, comment))
    assert [code for code, _, _ in places(found)] == ["TC016", "TC409"]
    assert found.findings[0].message.startswith(message)
    assert found.findings[0].line == 9
    pointed = re.search(r"tc409|TC\d+", message) if "reason" not in message.split() else None
    assert found.findings[0].column == 5 + (comment.index(pointed[0]) if pointed else 0)


def test_the_codes_that_are_right_count_beside_a_wrong_one() -> None:
    found = build(above(9, "# trainc: ignore TC4O9, TC409 reason"))
    assert [code for code, _, _ in places(found)] == ["TC016"]


@pytest.mark.parametrize(
    "line",
    [
        'note: "# trainc: ignore TC409 reason"',
        "note: 'a # trainc: ignore TC409 reason'",
        "note: |\n      # trainc: ignore TC409 reason",
        "note: >-\n      x\n      # trainc: ignore TC409 reason\n      y",
        "note: a#trainc:ignore TC409 reason",
        "note: x # see # trainc: ignore TC409 reason",
    ],
)
def test_only_a_comment_is_a_comment(line: str) -> None:
    text = ONE.replace("  name: one\n", f"  name: one\n  annotations:\n    {line}\n")
    found = build(f"# trainc: see the guide\n{text}")
    assert [code for code, _, _ in places(found)] == ["TC016", "TC409"]


def test_comments_in_every_document_of_a_text() -> None:
    first = above(9, "# trainc: ignore TC409 first")
    second = above(1, "# trainc: ignore TC409 second", XGBOOST.format(name="two"))
    assert places(build(f"{first}---\n{second}")) == []
    assert places(build(f"{first}---\n{XGBOOST.format(name='two')}"))[0][0] == "TC409"
    trailing = f"{ONE}# trainc: ignore TC409 it covers nothing here\n---\n{XGBOOST.format(name='two')}"
    assert [code for code, _, _ in places(build(trailing))] == ["TC409", "TC017", "TC409"]


def test_json_has_no_comments() -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "# trainc: ignore TC409 x"}}'
    assert read(Source("a.json", text), comments) == ((), ())


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_lines_and_marks_of_other_editors(newline: str, mark: str) -> None:
    text = mark + above(1, "# trainc: ignore TC409 reason").replace("\n", newline)
    assert places(build(text)) == []
    assert compile([Source("jobs/team/a.yaml", text.encode())]).findings == ()


def test_an_error_of_our_own_can_be_silenced_and_is_then_compiled() -> None:
    text = ONE.replace("    numNodes: 2\n", "    numNodes: 2\n    numNods: 2\n")
    assert places(build(text)) == [("TC101", 9, "error"), ("TC409", 11, "warning")]
    found = build(above(9, "# trainc: ignore TC101 our fork has it", text))
    assert places(found) == [("TC409", 12, "warning")]
    assert found.jobs[0].objects
    assert found.files


def test_an_unknown_field_of_a_runtime_silenced_leaves_the_other_checks() -> None:
    text = RUNTIME.replace("spec:\n  mlPolicy", "spec:\n  # trainc: ignore TC101 later\n  extra: 1\n  mlPolicy", 1)
    assert all(job.objects for job in with_runtime(2, text).jobs)
    bad = text.replace("        - name: launcher\n", "        - name: launcher\n          replicas: 2\n")
    found = with_runtime(2, bad)
    assert [finding.code for finding in found.findings if finding.severity is Severity.ERROR] == ["TC304"]
    assert found.files == {}


def test_what_a_cluster_refuses_stays() -> None:
    text = above(8, "# trainc: ignore TC102 reason", ONE.replace("numNodes: 2", "numNodes: two"))
    found = build(text)
    assert [(code, severity) for code, _, severity in places(found) if code != "TC110"] == [
        ("TC016", "warning"),
        ("TC102", "error"),
    ]
    assert found.files == {}


def test_an_error_keeps_back_what_is_unused() -> None:
    text = above(8, "# trainc: ignore TC408 reason", ONE.replace("numNodes: 2", "numNodes: two"))
    assert "TC017" not in [code for code, _, _ in places(build(text))]


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
