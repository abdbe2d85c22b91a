"""Admits one object as we do it, on create or on update, to be compared with the oracle's verdict on a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from trainc import Diagnostic, Options, Source
from trainc.admit.crd import admit_document, rule_finding
from trainc.admit.rules import failures
from trainc.runtimes import admit_runtime
from trainc.schema import resource
from trainc.source import Document, JsonObject


class Admission(NamedTuple):
    """What is stored, and what was found."""

    stored: JsonObject
    findings: tuple[Diagnostic, ...]


def request(asked: Mapping[str, Any]) -> Admission:
    """Admit ``new``; as an update of ``old``, if that is there."""
    admission = _create(asked["new"])
    if "old" not in asked:
        return admission
    kind = asked["new"]["kind"]
    found = failures(resource(kind).schema, admission.stored, _create(asked["old"]).stored)
    document = _document(admission.stored)
    transitions = [rule_finding(document, failure, "crd") for failure in found if failure.transition]
    return Admission(admission.stored, (*admission.findings, *transitions))


def _create(data: JsonObject) -> Admission:
    document = _document(data)
    if data["kind"] == "TrainJob":
        admitted = admit_document(document, "crd", "webhook", faithful=True)
    else:
        admitted = admit_runtime(document, Options(faithful=True))
    return Admission(admitted.document.data, admitted.findings)


def _document(data: JsonObject) -> Document:
    metadata = data["metadata"]
    assert isinstance(metadata, dict)
    return Document(Source("request.yaml", ""), {**data, "metadata": {"namespace": "default", **metadata}})
