"""`trainc fix` and `trainc rerun`: only the words of a finding change, in any layout; docs/fix.md has every code."""

from __future__ import annotations

import json
import re
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import RUNTIME, Run, job

from builders import runtime, trainjob
from folders import put, tree
from trainc import Source
from trainc.cli.reporter import Reporter
from trainc.documents.edit import Edit, apply
from trainc.documents.load import load
from trainc.findings import CODES
from trainc.findings.fixes import FIXABLE, NEW_RUN, Action, Fix, fix_of
from trainc.inputs.source import Document
from trainc.pipeline.compile import compile as compiled
from trainc.project.environments import Outcome
from trainc.project.fixing import fix_all, read_documents
from trainc.upstream import RUN_PATH

ERRORS = Path(__file__).parents[1] / "errors"
PAGE = (Path(__file__).parents[2] / "docs" / "fix.md").read_text(encoding="utf-8")

# Layouts.

_BLANKS = st.sampled_from(("", " ", "   ", "\t"))
_COMMENTS = st.sampled_from(("", "  # wh\u00fd \U0001f600: [not], {yaml}", ' # "quoted', "\t# trainc"))
_QUOTES = st.sampled_from(("", "'", '"'))
_FIELDS = {"numNods": "numNodes", "imag": "image", "comand": "command", "resourcesPerNod": "resourcesPerNode"}
_VALUES = {
    "numNods": ("2", '"2"', "'2'"),
    "imag": ("example.com/a:1", '"example.com/a:1"', "'example.com/a:1'"),
    "comand": ("[sh, -c, 'exit 0']", '["sh"]', "\n{indent}  - sh", "\n{indent}- |-\n{indent}    sh  # no comment\n"),
    "resourcesPerNod": ("{{limits: {{memory: 1Gi}}}}", "\n{indent}  limits:\n{indent}    memory: 1Gi  # lots"),
}
WORD = re.compile(r"numNods|imag(?!e)|comand|resourcesPerNod(?!e)|(?<=app: )(?:yes|1\.10|0x1F)|(?<=numNods)(.*?: *)")


@st.composite
def manifests(draw: st.DrawFn) -> str:
    """A stream of TrainJobs with misspelt fields and unquoted labels, in any layout."""
    newline = draw(st.sampled_from(("\n", "\r\n")))
    texts = []
    for number in range(draw(st.integers(1, 3))):
        step = " " * draw(st.integers(1, 5))
        fields = draw(st.lists(st.sampled_from(sorted(_FIELDS)), min_size=1, unique=True))
        lines = [f"#{draw(_COMMENTS)}", "apiVersion: trainer.kubeflow.org/v1alpha1", "kind:   TrainJob", "metadata:"]
        lines += [f"{step}name: j{number}{draw(_COMMENTS)}"]
        lines += [f"{step}labels: {{app: {draw(st.sampled_from(('yes', '1.10', '0x1F', 'text')))}}}{draw(_COMMENTS)}"]
        lines += ["spec:", f"{step}runtimeRef: {{name:  plain}}{draw(_COMMENTS)}", f"{step}trainer:{draw(_COMMENTS)}"]
        for field in fields:
            quote = draw(_QUOTES)
            value = draw(st.sampled_from(_VALUES[field])).format(indent=step * 2)
            space = "" if value.startswith("\n") else " " + draw(_BLANKS).replace("\t", "")
            comment = draw(_COMMENTS) if "\n" not in value else ""
            lines += [
                f"{step * 2}{quote}{field}{quote}:{space}{value}{comment}",
                *draw(st.sampled_from(([], ["", "#"]))),
            ]
        texts.append("\n".join(lines) + draw(st.sampled_from(("", "\n", "\n\n"))))
    text = "\n---\n".join(texts)
    return draw(st.sampled_from(("", "\ufeff"))) + text.replace("\n", newline)


def fixed(sources: dict[str, Source]) -> tuple[dict[str, Source], Outcome]:
    def compile_all(files: Any) -> Outcome:
        build = compiled(files.values())
        return Outcome(jobs={"prod": build.jobs}, files={}, findings=build.findings, made={})

    result = fix_all(sources, compile_all, lambda finding, fix: fix.safe)
    return dict(result.files), result.outcome


@settings(max_examples=40)
@given(manifests())
def test_only_the_words_change(text: str) -> None:
    sources = {name: Source(name, each.encode()) for name, each in (("r.yaml", RUNTIME), ("j.yaml", text))}
    files, outcome = fixed(sources)
    assert not [each for each in outcome.findings if each.severity == "error"]
    again, _ = fixed(files)
    assert again == files
    assert files["r.yaml"] is sources["r.yaml"]
    expected = re.sub(r"(?<=app: )(yes|1\.10|0x1F)", r'"\1"', text)
    for old, new in _FIELDS.items():
        expected = re.sub(rf"\b{old}\b", new, expected)
    expected = re.sub(r"""(numNodes['"]?: *)["']2["']""", r"\g<1>2", expected)
    assert files["j.yaml"].text.decode() == expected  # type: ignore[union-attr]  # bytes


_KEYS = st.text(string.ascii_lowercase, min_size=1, max_size=4)
_DATA = st.recursive(
    st.integers(0, 9) | st.booleans() | _KEYS | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(_KEYS, _KEYS, max_size=3), _DATA, st.sampled_from((None, 1, 2, "\t")), st.integers(2, 99))
def test_a_run_number_changes_nothing_else_in_json(annotations: Any, spec: Any, indent: Any, run: int) -> None:
    metadata = {"name": "a", "annotations": annotations} if annotations or run % 2 else {"labels": {}, "name": "a"}
    data = {"kind": "TrainJob", "metadata": metadata, "spec": spec, "apiVersion": "v1"}
    source = Source("a.json", json.dumps(data, indent=indent))
    edited, done = apply(source, (Edit(0, Fix(Action.SET_RUN, RUN_PATH, str(run))),), read_documents)
    assert len(done) == 1
    metadata = {**metadata, "annotations": {**annotations, RUN_PATH[-1]: str(run)}}
    assert json.loads(edited.text) == {**data, "metadata": metadata}
    (old, new) = (re.sub(r'"annotations": *\{\s*\}|\s', "", str(each.text)) for each in (source, edited))
    inserted = re.sub(r',?"annotations":\{"trainc.dev/run":"\d+"\}|"trainc.dev/run":"\d+",?|\s', "", new)
    assert inserted.replace(",,", ",") == old.replace(",,", ",") or not annotations


def test_an_edit_that_would_change_more_is_refused() -> None:
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec:\n"
    source = Source("a.yaml", f"{head}  a: &x {{numNods: 1}}\n  b: *x\n")
    edit = Edit(0, Fix(Action.RENAME, ("spec", "a", "numNods"), "numNodes"))
    other = Edit(0, Fix(Action.REPLACE, ("metadata", "name"), "b"))
    assert apply(source, (edit,), read_documents) == (source, ())
    edited, done = apply(source, (edit, other), read_documents)
    assert done == (other,)
    assert edited.text == source.text.replace("name: a", "name: b")  # type: ignore[arg-type]  # text
    assert load(edited)[1] == ()


def test_an_edit_that_would_change_another_document_keeps_no_edit_from_it() -> None:
    item = "- apiVersion: v1\n  kind: X\n  metadata: {name: n-%s}\n  spec: {a: %s}\n"
    items = "".join(item % each for each in (("1", "&x {b: 1}"), ("2", "*x"), ("3", "{b: 1}")))
    source = Source("a.yaml", f"apiVersion: v1\nkind: List\nitems:\n{items}")
    edits = [Edit(index, Fix(Action.RENAME, ("spec", "a", "b"), "c")) for index in (0, 2)]
    edited, done = apply(source, edits, read_documents)
    assert done == (edits[1],)
    assert edited.text == str(source.text).replace("spec: {a: {b: 1}}", "spec: {a: {c: 1}}")


def test_a_colon_in_a_flow_collection_hides_nothing_below_it() -> None:
    head = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\n"
    texts = [f"{head}metadata: {{name: a{number}}}\nspec: {{image: a:1, x: 2}}\n" for number in range(3)]
    source = Source("a.yaml", "---\n".join(texts))
    edit = Edit(2, Fix(Action.QUOTE, ("spec", "x")))
    edited, done = apply(source, (edit,), read_documents)
    assert (edited.text, done) == ('x: "2"'.join(source.text.rsplit("x: 2", 1)), (edit,))  # type: ignore[arg-type]


# Files.


def test_files_that_cannot_be_edited(repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(repository, "jobs/a/one.yaml", job("one").replace("name: one", "name: one, labels: {a: 1}"))
    path.chmod(0o444)
    before = tree(repository)
    result = run("fix")
    assert result.exit_code == 1
    assert "jobs/a/one.yaml: not edited: read-only file\n" in result.stderr
    result = run("rerun", "a/one", "a/two")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (1, "no run number was changed")
    assert tree(repository) == before
    path.chmod(0o640)
    assert run("fix", "--quiet").exit_code == 0
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o444)
    result = run("rerun", "a/two", "a/one")
    assert (result.exit_code, result.stderr) == (2, "trainc: error: jobs/a/one.yaml: read-only file\n")
    assert (repository / "jobs/a/two.yaml").read_bytes() == before["jobs/a/two.yaml"]


def test_a_link_elsewhere_is_read_and_not_replaced(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, "one.yaml", job("one").replace("name: one", "name: one, labels: {a: 1}"))
    (tmp_path / "link.yaml").symlink_to("one.yaml")
    before = path.read_bytes()
    monkeypatch.chdir(tmp_path)
    result = run("fix", "link.yaml")
    message = "link.yaml: not edited: symbolic link, which trainc does not follow to write\n"
    assert (result.exit_code, message in result.stderr) == (1, True)
    assert (path.read_bytes(), (tmp_path / "link.yaml").is_symlink()) == (before, True)


def test_a_job_that_is_not_found_may_be_in_a_file_that_is_not_read(repository: Path, run: Run) -> None:
    put(repository, "jobs/a/one.yaml", job("one") + "<<<<<<< HEAD\n# a\n=======\n# b\n>>>>>>> other\n")
    result = run("rerun", "a/one")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("jobs/a/one.yaml:7:1: error[TC002]: ")


def test_a_configuration_that_is_not_read_is_reported_once(repository: Path, run: Run) -> None:
    (repository / "trainc.yaml").rename(repository / "trainc.yml")
    result = run("fix")
    assert (result.exit_code, result.stdout.count("error[TC011]")) == (1, 1)


@pytest.mark.parametrize("name", ["trainc.yaml", "images.lock.yaml"])
@pytest.mark.parametrize("text", ["1e400\n", "- {a: yes}\n"])
def test_a_configuration_that_is_not_a_mapping_is_left(repository: Path, run: Run, name: str, text: str) -> None:
    (repository / name).write_text(text, encoding="utf-8")
    result = run("fix", "--unsafe")
    assert result.exit_code == 1
    assert ": not fixed[TC005]: needs an edit by hand\n" in result.output
    assert (repository / name).read_text(encoding="utf-8") == text


def test_a_file_that_changes_meanwhile_is_not_overwritten(
    repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trainc.cli.fix as module

    path = put(repository, "jobs/a/one.yaml", job("one").replace("name: one", "name: one, labels: {a: 1}"))
    write = module.write_sources

    def late(*args: Any) -> Any:
        path.write_text("changed", encoding="utf-8")
        return write(*args)

    monkeypatch.setattr(module, "write_sources", late)
    result = run("fix")
    assert (result.exit_code, result.stderr) == (2, "trainc: error: jobs/a/one.yaml: changed since it was read\n")
    assert path.read_text(encoding="utf-8") == "changed"


def test_the_summary_on_a_terminal_names_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [job(name).replace(f"name: {name}", f"name: {name}, labels: {{a: 1}}") for name in ("one", "two")]
    findings = compiled(
        [Source("r.yaml", RUNTIME), *(Source(f"{number}.yaml", text) for number, text in enumerate(texts))]
    ).findings
    assert Reporter().text_of(findings).summary == "2 errors"
    monkeypatch.setattr(Reporter, "_terminal", True)
    assert Reporter().text_of(findings).summary == "2 errors\n2 findings can be fixed with 'trainc fix'"
    assert Reporter().text_of(findings[:1]).summary == "1 error\n1 finding can be fixed with 'trainc fix'"
    assert Reporter(advises=False).text_of(findings).summary == "2 errors"
    assert Reporter("json").text_of(findings).summary == ""


# docs/fix.md.


def codes_of(table: str) -> set[str]:
    """Return the codes in the first column; `TC451 to TC465` are all of a range."""
    found: set[str] = set()
    for row in re.findall(r"(?m)^\| (TC[^|]*)\|", table):
        for first, last in re.findall(r"(TC\d+)(?: to (TC\d+))?", row):
            found |= {code for code in CODES if first <= code <= (last or first)}
    return found


def hinted() -> set[str]:
    """Return the codes whose findings have a hint, in the table of codes or in a case of tests/errors."""
    found = {code for code, entry in CODES.items() if entry.hint}
    for path in ERRORS.glob("*.txt"):
        code = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            if head := re.match(r".*:\d+:\d+: \w+\[(TC\d+)\]: ", line):
                code = head[1]
            if line.lstrip().startswith("= hint: "):
                found.add(code)
    return found


def test_the_page_decides_for_every_code_with_a_hint() -> None:
    fixes, reasons = PAGE.split("## Fixes by code")[1].split("Findings of these codes")
    assert codes_of(fixes) == {*FIXABLE, *NEW_RUN}
    assert codes_of(fixes) & codes_of(reasons) == set()
    assert hinted() - codes_of(fixes) == codes_of(reasons)


@pytest.mark.parametrize(("kind", "edits"), [("", False), (", kind: ClusterTrainingRuntime", True)])
def test_a_kind_that_is_a_default_is_not_replaced(kind: str, edits: bool) -> None:
    """The document may have the default, or not, as that of a job that another process compiled."""
    texts = {
        "jobs/a/one.yaml": trainjob("one", runtime=f"rt{kind}", metadata=", namespace: a"),
        "runtimes/rt.yaml": runtime(kind="TrainingRuntime", metadata=", namespace: a"),
    }
    (finding,) = (each for each in compiled([Source(*each) for each in texts.items()]).findings if each.code == "TC301")
    assert (fix_of(finding) is not None) is edits


def test_impossible_edits_of_many_documents_cost_few_reads() -> None:
    reads = 0

    def read(source: Source) -> tuple[tuple[Document, ...], int]:
        nonlocal reads
        reads += 1
        return load(source)[0], 0

    one = "apiVersion: v1\nkind: X\nmetadata: {name: n%d}\nspec:\n  a: &a {b: 1}\n  c: %s\n"
    text = "---\n".join(one % (number, "*a" if number % 3 else "{}") for number in range(300))
    edits = [Edit(number, Fix(Action.RENAME, ("spec", "a", "b"), "z")) for number in range(300)]
    edited, done = apply(Source("a.yaml", text), edits, read)
    assert [edit.index for edit in done] == [*range(0, 300, 3)]
    assert str(edited.text).count("{z: 1}") == 100
    assert reads < 5


def test_many_impossible_edits_of_one_document_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainc.documents.edit._MOST_READ", 0)
    fields = "".join(f"  a{number}: &a{number} {{b: 1}}\n  c{number}: *a{number}\n" for number in range(100))
    source = Source("a.yaml", f"apiVersion: v1\nkind: X\nmetadata: {{name: x}}\nspec:\n  last: {{b: 1}}\n{fields}")
    reads: list[Source] = []

    def read(each: Source) -> tuple[tuple[Document, ...], int]:
        reads.append(each)
        return load(each)[0], 0

    edits = [Edit(0, Fix(Action.RENAME, ("spec", f"a{number}", "b"), "z")) for number in range(100)]
    assert apply(source, edits, read) == (source, ())
    assert len(reads) == 3
