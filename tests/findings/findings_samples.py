"""Findings for the tests of renderers: a handful with everything in them, and any at all."""

from __future__ import annotations

from hypothesis import strategies as st

from trainc.basics.jsonvalues import Json, JsonObject, Path
from trainc.findings import CODES, Finding, Related, Severity, report
from trainc.inputs.source import Document, Mark, Source

TEXT = "kind: TrainJob\nmetadata: {name: j}\nspec:\n  trainer:\n    numNods: 2\n"
DATA: JsonObject = {"kind": "TrainJob", "metadata": {"name": "j"}, "spec": {"trainer": {"numNods": 2}}}
FIELD: Path = ("spec", "trainer", "numNods")


def document(
    text: str = TEXT, data: JsonObject = DATA, name: str = "jobs/a/j.yaml", marks: dict[Path, Mark] | None = None
) -> Document:
    return Document(Source(name, text), data, 0, lambda: {FIELD: Mark(5, 5)} if marks is None else marks)


def handful() -> list[Finding]:
    """Return an error with all there is, a warning and a note, in two files, out of order."""
    job = document()
    runtime = document("a: 1\nb: 2\n", {}, "runtimes/r.yaml", {("b",): Mark(2, 1)})
    return [
        report("TC303", runtime, ("b",), "runtime 'r' is deprecated"),
        report(
            "TC101",
            job,
            FIELD,
            "unknown field 'numNods'",
            found="numNods",
            expected="numNodes",
            hint="did you mean 'numNodes'?",
            related=(Related("the schema is used here", runtime, ("b",)),),
            stage="crd",
            upstream='unknown field "spec.trainer.numNods"',
        ),
        report("TC015", runtime, (), "ServiceAccount 'r' is not written", severity=Severity.NOTE),
    ]


ODD = "\x00\x07\x1b\x7f\x85\t\r\n\u2028\u202e\ud800\udcff\ufeff\ufffe\uffff\U0001f600é%:,;]&<>\"'\\[](){}-"
"""Characters that some format spells in its own way, or cannot spell."""

words = st.text(st.one_of(st.sampled_from(ODD), st.characters(exclude_categories=())), max_size=20)


def findings_of(words: st.SearchStrategy[str]) -> st.SearchStrategy[list[Finding]]:
    """Return a strategy for findings in which all text comes from ``words``."""
    paths = st.lists(st.one_of(words, st.integers(0, 9)), max_size=3).map(tuple)
    values: st.SearchStrategy[Json] = st.one_of(words, st.none(), st.integers(), st.lists(words, max_size=1))
    data = st.fixed_dictionaries({}, optional={"kind": values, "metadata": values})
    marks = st.builds(Mark, st.integers(1, 3), st.integers(1, 9))
    documents = st.builds(
        lambda name, text, data, mark: Document(Source(name, text), data, 0, lambda: {(): mark}),
        words,
        words,
        data,
        marks,
    )
    optional = st.none() | words
    related = st.lists(st.builds(Related, words, documents, paths), max_size=2).map(tuple)
    diagnostics = st.builds(
        Finding,
        st.sampled_from(sorted(CODES)),
        st.sampled_from(Severity),
        words,
        documents,
        paths,
        optional,
        optional,
        optional,
        related,
        optional,
        optional,
    )
    return st.lists(diagnostics, max_size=4)


findings = findings_of(words)
