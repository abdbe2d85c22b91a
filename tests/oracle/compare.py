"""Compares what trainc makes of a case with the oracle's verdict on it (see judge.go)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trainc import Build, Finding, Job, Options, Severity, Source
from trainc import compile as compile_sources
from trainc.admission.crd import UNCHECKED
from trainc.basics.jsonvalues import get

STAGES = ("decode", "runtime-crd", "runtime-webhook", "crd", "webhook", "build", "jobset-crd", "jobset-webhook")
# Of the stage decode, whose texts are no contract, only the stage counts; of the others the text of every error.
RULE = re.compile(r'([^ ]+: Invalid value): "(?:object|array|string|integer|number|boolean)": (?s:(.*))')
NOT_DECODABLE = "Not decodable"
# What an upstream text may hold that no pure function can know: the time of admission, and Go's addresses.
_CLOCK = ',"time":"2026-01-01T00:00:00Z"'
_ADDRESS = re.compile(r"0x[0-9a-f.]+")

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One spot where we differ: of a document, at a stage (``objects`` behind the last one), at a path.

    ``path`` is ``stage``, ``errors``, ``warnings`` or a place in an object. ``result`` is the oracle's on the document.
    """

    document: str
    stage: str
    path: str
    upstream: Any
    ours: Any
    result: Result

    def __str__(self) -> str:
        return f"{self.document}: {self.path}\n  upstream: {_show(self.upstream)}\n  ours:     {_show(self.ours)}"


def _show(value: Any) -> str:
    if isinstance(value, list):
        return "".join(f"\n    {_show(item)}" for item in value) or "none"
    return "absent" if value is ABSENT else json.dumps(value, ensure_ascii=False)


class _Absent:
    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


def compile_case(text: str) -> Build:
    """Compile a case's text as faithfully as we can."""
    return compile_sources([Source("case.yaml", text)], Options(faithful=True))


def compare(verdict: Mapping[str, Any], build: Build) -> list[Difference]:
    """Return every difference between the oracle's verdict on a case and our build of it."""
    differences = list(_faults(build))
    broken = [d for d in verdict["documents"] if d["stage"] == "decode" and not d["kind"]]
    if broken and not any(_stage(f) == "decode" for f in _errors(build.findings)):
        differences.append(Difference("case", "decode", "stage", "decode", None, broken[0]))
    jobs = {(job.namespace, job.name): job for job in build.jobs}
    for document in verdict["documents"]:
        if document["kind"]:
            differences += _compare_document(document, build)
    for result in verdict["results"]:
        job = jobs.pop((result["namespace"], result["name"]), None)
        if job is not None:
            differences += _compare_job(_of_runtime(result, verdict["documents"]), job)
        elif not broken:
            differences += _compare_document(result, build)
    for (namespace, name), job in jobs.items():
        if not broken and not _errors(job.findings):
            differences.append(Difference(f"TrainJob {namespace}/{name}", "decode", "stage", ABSENT, "compiled", {}))
    return differences


def _faults(build: Build) -> Iterator[Difference]:
    """Yield our own crashes, which no divergence may hide."""
    for finding in build.findings:
        if finding.code.startswith("TC9"):
            yield Difference(_name(finding), "internal", finding.code, None, finding.message, {})


def _name(finding: Finding) -> str:
    data = finding.document.data
    return f"{data.get('kind')} {get(data, 'metadata', 'namespace')}/{get(data, 'metadata', 'name')}"


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.severity is Severity.ERROR or finding.code == UNCHECKED]


def _stage(finding: Finding) -> str:
    """Return the stage of an error of ours; one that upstream lacks is told by its code."""
    if finding.stage is not None:
        return finding.stage
    return "decode" if finding.code.startswith("TC0") else finding.code


def _first_stage(findings: Iterable[Finding]) -> str | None:
    order = {stage: index for index, stage in enumerate(STAGES)}
    return min((_stage(f) for f in findings), key=lambda stage: order.get(stage, len(order)), default=None)


def _compare_document(result: Result, build: Build) -> list[Difference]:
    """Compare a runtime, or a TrainJob that never became a job of ours."""
    key = (result["kind"], result["namespace"], result["name"])
    found = [
        finding
        for finding in build.findings
        if finding.document.data.get("kind") == key[0]
        and _text(get(finding.document.data, "metadata", "name")) == key[2]
        and (_text(get(finding.document.data, "metadata", "namespace")) or "default") == (key[1] or "default")
        and (_stage(finding) == "decode" or _stage(finding).startswith("runtime-") or key[0] == "TrainJob")
    ]
    return _compare_errors(result, _errors(found))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _of_runtime(result: Result, documents: Iterable[Result]) -> Result:
    """Return the result of a job whose runtime was refused as one of the runtime's stage, errors included."""
    for document in documents if result.get("refused") else ():
        name = f"{document['namespace']}/{document['name']}" if document["namespace"] else document["name"]
        if f"{document['kind']} {name}" == result["refused"]:
            return {**result, "stage": document["stage"], "errors": document["errors"]}
    return result


def _compare_job(result: Result, job: Job) -> list[Difference]:
    errors = _errors(job.findings)
    if result.get("refused") and errors:  # upstream then does not find the runtime; the runtime itself is compared
        return []
    differences = _compare_errors(result, errors)
    if differences or result["stage"] is not None:
        return differences
    differences += _compare_warnings(result, job.findings)
    ours = {_identity(made.data): made.data for made in job.objects}
    upstream = {_identity(made): made for made in result["objects"]}
    for name in sorted({*ours, *upstream}):
        for path, theirs, mine in _walk(upstream.get(name, ABSENT), ours.get(name, ABSENT), name):
            differences.append(_differ(result, path, theirs, mine, stage="objects"))
    return differences


def _differ(result: Result, path: str, upstream: Any, ours: Any, stage: str | None = None) -> Difference:
    document = f"{result['kind']} {result['namespace']}/{result['name']}"
    return Difference(document, stage or result["stage"] or "accepted", path, upstream, ours, result)


def _compare_errors(result: Result, errors: list[Finding]) -> list[Difference]:
    stage = _first_stage(errors)
    if stage != result["stage"]:
        found = [f"{_stage(f)}: {f.code}: {f.upstream or f.message}" for f in errors]
        wanted = [f"{result['stage']}: {e['message']}" for e in result["errors"]]
        return [_differ(result, "stage", wanted, found)]
    if stage in (None, "decode") or any(error["type"] == NOT_DECODABLE for error in result["errors"]):
        return []
    if any(finding.code.startswith("TC0") for finding in errors):  # a document without a name: nothing else is said
        return []
    # As sets: upstream may say one thing twice, and we may say it of two places.
    theirs = {error_text(error) for error in result["errors"]}
    mine = {finding_text(f) for f in errors if f.stage == stage}
    return [_differ(result, "errors", sorted(theirs - mine), sorted(mine - theirs))] if theirs != mine else []


def error_text(error: Mapping[str, Any]) -> str:
    """Return an error's text; that of a rule without the value, which releases of Kubernetes show in different ways."""
    by_rule = error.get("cel")
    return _plain(f"{error['field']}: {error['type']}: {error['detail']}" if by_rule else str(error["message"]))


def finding_text(finding: Finding) -> str:
    """Return what a finding says in upstream's words, as error_text gives them."""
    text = finding.upstream or f"({finding.code} {finding.message})"
    return _plain(RULE.sub(r"\1: \2", text) if finding.code in ("TC201", "TC202") else text)


def _plain(text: str) -> str:
    return _ADDRESS.sub("0x", text.replace(_CLOCK, ""))


def _compare_warnings(result: Result, findings: Iterable[Finding]) -> list[Difference]:
    """Upstream's warnings must be among ours; we may have more."""
    mine = {f.upstream for f in findings if f.upstream}
    missing = [text for text in result["warnings"] if text not in mine]
    return [_differ(result, "warnings", missing, [], stage="warnings")] if missing else []


def _identity(made: Mapping[str, Any]) -> str:
    group = made["apiVersion"].rpartition("/")[0]
    return f"{made['kind']}{'.' + group if group else ''}/{made['metadata']['name']}"


def _walk(upstream: Any, ours: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield path and values of the smallest parts that differ. Types count: 1 is not true, nor 1.0."""
    if isinstance(upstream, dict) and isinstance(ours, dict):
        for key in sorted({*upstream, *ours}):
            joint = "/" if path.count("/") == 1 else "."
            yield from _walk(upstream.get(key, ABSENT), ours.get(key, ABSENT), f"{path}{joint}{key}")
    elif isinstance(upstream, list) and isinstance(ours, list) and len(upstream) == len(ours):
        for index, (theirs, mine) in enumerate(zip(upstream, ours, strict=True)):
            yield from _walk(theirs, mine, f"{path}[{index}]")
    elif type(upstream) is not type(ours) or upstream != ours:
        yield path, upstream, ours


def order_free(verdict: Mapping[str, Any]) -> str:
    """Return a verdict as text in which the order of environment variables does not count."""
    return json.dumps(_order_free(verdict), sort_keys=True)


def _order_free(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _order_free(item, name) for name, item in value.items() if name != "id"}
    if key == "env":
        return sorted(map(json.dumps, value))
    if key in ("message", "detail"):  # where whole objects are quoted, env among the rest
        return "".join(sorted(value))
    return [_order_free(item) for item in value] if isinstance(value, list) else value
