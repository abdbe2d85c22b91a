"""Admits one object as we do it, on create or on update, to be compared with the oracle's verdict on a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainc import Finding, Options, Severity, Source
from trainc.admission.crd import UNCHECKED, admit_document, rule_finding
from trainc.admission.jobset import admit_jobset
from trainc.admission.rules import failures
from trainc.admission.update import jobset_changes, rewritten, trainjob_changes
from trainc.basics.jsonvalues import Json, JsonObject
from trainc.inputs.source import Document
from trainc.pipeline.job import REFUSALS
from trainc.pipeline.runtimes import admit_runtime
from trainc.schema import resource


class Answer(NamedTuple):
    """The first stage that refuses, and every reason: place, type, detail."""

    stage: str | None
    reasons: frozenset[tuple[str, ...]]


class Refusal(NamedTuple):
    """A stage that refuses, and the whole text."""

    stage: str
    text: str


class Admission(NamedTuple):
    """What is stored, and who refuses it."""

    stored: JsonObject
    refusals: tuple[Refusal, ...]


def request(asked: Mapping[str, Any]) -> Admission:
    """Admit ``new``; as an update of ``old``, if that is there."""
    if "old" not in asked:
        return _create(asked["new"])
    old = _create(asked["old"]).stored
    new = _create(asked["new"], old)
    return Admission(new.stored, (*new.refusals, *_changes(new.stored, old)))


def _changes(new: JsonObject, old: JsonObject) -> Iterator[Refusal]:
    kind = str(new["kind"])
    prefix = "jobset-" if kind == "JobSet" else ""
    found = [failure for failure in failures(resource(kind).schema, new, old) if failure.transition]
    yield from refusals(rule_finding(_document(new), failure, f"{prefix}crd") for failure in found)
    for change in (jobset_changes if prefix else trainjob_changes)(new, old):
        yield Refusal(f"{prefix}webhook", change.upstream)


def _create(data: JsonObject, before: JsonObject | None = None) -> Admission:
    """Admit an object but for rules of changes; ``before`` is what mutating webhooks see as the old object."""
    document = _document(data)
    if data["kind"] == "JobSet":
        stored, refused = admit_jobset(document.data, {})
        return Admission(stored, tuple(Refusal(one.stage, one.upstream) for one in refused))
    if data["kind"] == "TrainJob":
        admitted = admit_document(document, "crd", "webhook", faithful=True)
        refused = tuple(refusals(admitted.findings))
        stored = admitted.document.data
        return Admission(stored if refused else rewritten(stored, before), refused)
    admitted = admit_runtime(document, Options(faithful=True))
    return Admission(admitted.document.data, tuple(refusals(admitted.findings)))


def _document(data: JsonObject) -> Document:
    metadata = data["metadata"]
    assert isinstance(metadata, dict)
    return Document(Source("request.yaml", ""), {**data, "metadata": {"namespace": "default", **metadata}})


def refusals(findings: Iterable[Finding]) -> Iterator[Refusal]:
    """Yield the stage and the text of every finding that says why something is refused."""
    for finding in findings:
        if finding.severity is Severity.ERROR or finding.code == UNCHECKED:
            yield Refusal(str(finding.stage), finding.upstream or finding.message)


def verdict(result: Mapping[str, Any]) -> Answer:
    """Return the oracle's answer: of a whole case, or of one result in it."""
    return Answer(result["stage"], frozenset((e["field"], e["type"], e["detail"]) for e in result["errors"]))


def answer(found: Iterable[Refusal], real: Answer) -> Answer:
    """Return our answer, in the real one's parts where a text of ours holds the same place, type and detail."""
    refused = list(found)
    stage = min((one.stage for one in refused), key=REFUSALS.index, default=None)
    return Answer(stage, frozenset(_reason(one.text, real) for one in refused if one.stage == stage))


def _reason(text: str, real: Answer) -> tuple[str, ...]:
    """Cut the value out of a text: for rules, releases of Kubernetes show another one, or none."""
    for place, kind, detail in real.reasons:
        if text.startswith(f"{place}: {kind}: ") and text.endswith(f": {detail}"):
            return place, kind, detail
    return (text,)


def without_times(stored: Mapping[str, Any]) -> Json:
    """Return a stored object without the times that only a webhook's clock knows."""
    patches = stored["spec"].get("runtimePatches")
    if patches is None:
        return dict(stored)
    timeless = [{key: value for key, value in patch.items() if key != "time"} for patch in patches]
    return {**stored, "spec": {**stored["spec"], "runtimePatches": timeless}}
