"""Admits documents through the schema of their CRD, as an API server does on create."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from trainc.admission.hints import field_hint, rule_hint
from trainc.admission.rules import BrokenRule, failures
from trainc.basics.jsonvalues import Json, Path, dotted, existing, get
from trainc.basics.regex import lazy
from trainc.documents.classify import RUNTIMES
from trainc.documents.positions import unquoted
from trainc.findings import Finding, Severity, report
from trainc.findings.fault import report_fault
from trainc.findings.secrets import is_secret
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError, decode
from trainc.plugins.mpi.implementations import IMPLEMENTATION_PATH, IMPLEMENTATIONS
from trainc.schema import Admitted as Result
from trainc.schema import Resource, Violation, admit, resource, unknown_field_hint
from trainc.schema.inputs import go_types
from trainc.schema.wording import QUOTE_IT, not_allowed
from trainc.schema.wording import show as shown

_SIZE_LIMIT = lazy(r"size\(self[.A-Za-z]*\) <= ([0-9]+)$")
_WHY_SHORT = "shorten it: it becomes part of the names of pods, which are host names (DNS labels)"

UNCHECKED = "TC110"
"""Says that the server evaluates no rules."""

TYPES = go_types()
"""Kind to Go type."""


class Admitted(Struct, frozen=True):
    """A document as the cluster stores it, and what was found on the way."""

    document: Document
    findings: tuple[Finding, ...]


def admit_document(document: Document, stage: str, webhook: str, *, faithful: bool) -> Admitted:
    """Return the document pruned and defaulted, with every violation of its schema.

    ``stage`` and ``webhook`` name the stages at which schema and decoding into Go's types fail.
    """
    kind = str(document.data["kind"])
    result = admit(resource(kind), document.data, TYPES[kind], reads=True)
    severity = Severity.WARNING if faithful else None
    findings = [unknown_field(document, path, resource(kind), severity) for path in result.dropped]
    violations = result.violations if faithful else _in_default_output(document, result.violations)
    findings += [violation_finding(document, v, "decode" if v.decode else stage) for v in violations]
    stored = replace(document, data=result.data)
    findings += [
        rule_finding(stored, failure, stage) for failure in broken_rules(resource(kind), result, faithful=faithful)
    ]
    if not result.violations and not result.readable:
        findings += _undecodable(stored, TYPES[kind], webhook)
    return Admitted(stored, tuple(findings))


def _in_default_output(document: Document, violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Leave out what adds nothing to another violation of its path, and that rules are not checked: they are.

    Default output accepts more MPI implementations than the CRD.
    """
    reported = {violation.path for violation in violations if not violation.secondary}
    return tuple(
        not_allowed(v.path, get(document.data, *v.path), list(IMPLEMENTATIONS), v.upstream)
        if v.code == "TC104" and v.path == IMPLEMENTATION_PATH and document.data["kind"] in RUNTIMES
        else v
        for v in violations
        if v.code != UNCHECKED and not (v.secondary and v.path in reported)
    )


def broken_rules(resource: Resource, result: Result, *, faithful: bool = False) -> tuple[BrokenRule, ...]:
    """Return the rules of the CRD that an admitted object does not meet.

    After an error that makes it pointless, such as a missing field, the server evaluates none. Beyond faithful those
    are evaluated that do not look at such an error, so that one run reports everything.
    """
    if resource.native or any(violation.decode for violation in result.violations):
        return ()
    blocking = tuple(violation.path for violation in result.violations if violation.blocking)
    if blocking and faithful:
        return ()
    return failures(resource.schema, result.data, skip=blocking)


def rule_finding(document: Document, failure: BrokenRule, stage: str | None) -> Finding:
    """Return the finding of a rule that a document does not meet."""
    path, rule = existing(document.data, failure.path), failure.rule
    value = get(document.data, *path)
    found, expected, hint = shown(value) if path else None, rule or None, rule_hint(rule, failure.message)
    if isinstance(value, str) and (limit := _SIZE_LIMIT.search(rule)) is not None and len(value) > int(limit[1]):
        found, expected = f"{len(value)} characters", f"at most {limit[1]} characters"
        hint = _WHY_SHORT if path == ("metadata", "name") else hint
    return report_fault(replace(failure, found=found, expected=expected, hint=hint, stage=stage), document, path)


def unknown_field(document: Document, path: Path, resource: Resource, severity: Severity | None = None) -> Finding:
    """Return the finding of a field that the schema of a document's kind does not have."""
    return report(
        "TC101",
        document,
        path,
        f"unknown field {dotted(path)}",
        severity=severity,
        found=str(path[-1]),
        hint=field_hint(str(document.data["kind"]), path) or unknown_field_hint(resource, path),
        upstream=f'unknown field "{dotted(path)}"',
    )


def violation_finding(document: Document, violation: Violation, stage: str | None = None) -> Finding:
    """Return the finding of a document that violates its schema."""
    hint = violation.hint
    if hint == QUOTE_IT and not is_secret(document.data, violation.path):
        text = unquoted(document, violation.path)
        hint = hint if text is None else f'{hint}: "{text}"'
    milder = violation.advisory and violation.code not in ("TC101", "TC112")
    return report(
        violation.code,
        document,
        existing(document.data, violation.path),
        violation.message,
        severity=Severity.WARNING if milder else None,
        found=violation.found,
        expected=violation.expected,
        hint=field_hint(str(document.data["kind"]), violation.path) or hint,
        stage=stage,
        upstream=violation.upstream or None,
    )


def _undecodable(document: Document, type_name: str, webhook: str) -> list[Finding]:
    try:
        decode(document.data, type_name)
    except GoDecodeError as error:
        value: Json = get(document.data, *error.path)
        message = f"cannot be decoded: {error.message}"
        return [report("TC109", document, error.path, message, found=str(value), stage=webhook, upstream=error.message)]
    return []
