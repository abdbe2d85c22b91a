"""Admits documents through the schema of their CRD, as an API server does on create."""

from __future__ import annotations

import json

from msgspec import Struct
from msgspec.structs import replace

from trainc.admission.rules import BrokenRule, failures
from trainc.admission.update import rewritten
from trainc.basics.jsonvalues import Path, dotted, existing, get
from trainc.basics.regex import lazy
from trainc.cel.declarations import base
from trainc.documents.classify import RUNTIMES, TRAINJOB
from trainc.documents.positions import unquoted
from trainc.findings import Finding, Severity, report, suggest
from trainc.findings.reporting import report_fault
from trainc.findings.secrets import is_secret
from trainc.inputs.source import Document
from trainc.kube.gotypes import GoDecodeError, decode
from trainc.plugins.mpi.implementations import IMPLEMENTATION_PATH, IMPLEMENTATIONS
from trainc.schema import Admitted as Result
from trainc.schema import Resource, Violation, admit, resource, unknown_field_hint
from trainc.schema.inputs import go_types
from trainc.schema.wording import QUOTE_IT, not_allowed, show
from trainc.upstream import RUN_PATH

_SIZE_LIMIT = lazy(r"size\(self[.A-Za-z]*\) <= ([0-9]{1,18})$")
_QUANTITY = "quantit"
"""A part of Go's errors about quantities."""

_WHY_SHORT = "shorten it: it becomes part of the names of pods, which are host names (DNS labels)"

_ONE_POLICY = "Only one of the policy can be configured"
"""The message of the rule of a runtime's mlPolicy."""

UNCHECKED = "TC110"
"""The code of the note that the server does not evaluate the rules."""

TYPES = go_types()
"""Go types by kind."""


class Admitted(Struct, frozen=True):
    """A document as the cluster stores it, and findings."""

    document: Document
    findings: tuple[Finding, ...]

    @property
    def is_refused(self) -> bool:
        """Whether it cannot be used: it has errors other than unknown fields."""
        return any(f.severity is Severity.ERROR and f.code != "TC101" for f in self.findings)


def admit_document(document: Document, stage: str, webhook: str, *, faithful: bool) -> Admitted:
    """Prune, default and validate a document, as Trainer's mutating webhook leaves it.

    ``stage`` and ``webhook`` name the stages at which schema and decoding into Go's types fail.
    """
    kind = str(document.data["kind"])
    result = admit(resource(kind), document.data)
    severity = Severity.WARNING if faithful else None
    findings = [unknown_field(document, path, resource(kind), severity) for path in result.dropped]
    violations = result.violations if faithful else _in_default_output(document, result.violations)
    findings += [violation_finding(document, v, "decode" if v.decode else stage) for v in violations]
    stored = replace(document, data=result.data)
    findings += [
        rule_finding(stored, failure, stage) for failure in broken_rules(resource(kind), result, faithful=faithful)
    ]
    if not result.violations:
        try:
            decode(result.data, TYPES[kind])
            if kind == TRAINJOB and (after := rewritten(result.data)) is not result.data:
                decode(after, TYPES[kind])  # Go writes times and amounts that it cannot read again
                stored = replace(stored, data=after)
        except GoDecodeError as error:
            value, message = str(get(stored.data, *error.path)), f"cannot be decoded: {error.message}"
            where = stored, error.path, message
            hint = "write an amount such as 500m, 2 or 4Gi" if _QUANTITY in error.message else None
            findings.append(report("TC109", *where, found=value, hint=hint, stage=webhook, upstream=error.message))
    return Admitted(stored, tuple(findings))


def _in_default_output(document: Document, violations: tuple[Violation, ...]) -> tuple[Violation, ...]:
    """Remove violations implied by others of the same path, and the note on unchecked rules, which are checked.

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
    """Return the rules of the CRD that an admitted object violates.

    After an error such as a missing field, the server evaluates none. In default output, those are evaluated that do
    not look at such an error, so that one run reports everything.
    """
    if resource.native or any(violation.decode for violation in result.violations):
        return ()
    blocking = tuple(violation.path for violation in result.violations if violation.blocking)
    if blocking and faithful:
        return ()
    return failures(resource.schema, result.data, skip=blocking)


def rule_finding(document: Document, failure: BrokenRule, stage: str | None) -> Finding:
    """Return the finding on a rule that a document violates."""
    path, rule = existing(document.data, failure.path), failure.rule
    value = get(document.data, *path)
    found, expected, hint = show(value) if path else None, rule or None, rule_hint(rule, failure.message)
    if isinstance(value, str) and (limit := _SIZE_LIMIT.search(rule)) is not None and len(value) > int(limit[1]):
        found, expected = f"{len(value)} characters", f"at most {limit[1]} characters"
        hint = _WHY_SHORT if path == ("metadata", "name") else hint
    return report_fault(replace(failure, found=found, expected=expected, hint=hint, stage=stage), document, path)


def unknown_field(document: Document, path: Path, resource: Resource, severity: Severity | None = None) -> Finding:
    """Return the finding on a field that is not in the schema of the document's kind."""
    kind = str(document.data["kind"])
    hint = field_hint(kind, path, unknown_field_hint(resource, path))
    return report(
        "TC101",
        document,
        path,
        f"unknown field {dotted(path)}",
        severity=severity,
        found=str(path[-1]),
        hint=hint or (_right_place(resource, path) if kind == TRAINJOB else None),
        upstream=f'unknown field "{dotted(path)}"',
    )


def violation_finding(document: Document, violation: Violation, stage: str | None = None) -> Finding:
    """Return the finding on a violation of the schema."""
    hint = violation.hint
    if hint == QUOTE_IT and not is_secret(document.data, violation.path):
        if violation.path == RUN_PATH:
            hint = _run_number_hint(document)
        elif (text := unquoted(document, violation.path)) is not None:
            hint = f'{hint}: "{text}"'
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


def _run_number_hint(document: Document) -> str:
    """Return the hint for a run number without quotes: 010 is 8 in YAML 1.1, where 10 may be meant."""
    read, written = show(get(document.data, *RUN_PATH)), (unquoted(document, RUN_PATH) or "").lstrip("0")
    meant = dict.fromkeys(text for text in (written, read) if text.isdecimal() and text[0] != "0")
    if not meant:
        return 'write a positive integer in quotes, such as "2"'
    return f"{QUOTE_IT}: {' or '.join(json.dumps(text) for text in meant)}"


# Hints: replacements in v2.3.0 for fields of earlier releases of Trainer's API, and for misspelt names in expressions.
# Source: the CRDs of v2alpha1 and v2.0.0 to v2.2.0, compared with those of v2.3.0.


_IMPORT = "'trainc import --write' with the names of the files updates this field"
_PATCHES = f"{_IMPORT} to spec.runtimePatches, whose replicatedJobs name the jobs to change"
_PATCHED_METADATA = f"{_IMPORT} to spec.runtimePatches, in trainingRuntimeSpec.template.metadata"
_POD: Path = ("spec", "template", "spec", "replicatedJobs", "[]", "template", "spec", "template", "spec")

_TRAINJOB: dict[Path, str] = {
    ("spec", "podSpecOverrides"): f"removed in Trainer v2.1: {_PATCHES}",
    ("spec", "podTemplateOverrides"): f"removed in Trainer v2.2: {_PATCHES}",
    ("spec", "labels"): f"removed in Trainer v2.2: {_PATCHED_METADATA}.labels",
    ("spec", "annotations"): f"removed in Trainer v2.2: {_PATCHED_METADATA}.annotations",
    ("spec", "datasetConfig"): f"removed in Trainer v2.0: {_IMPORT} to spec.initializer.dataset",
    ("spec", "modelConfig"): (
        f"removed in Trainer v2.0: {_IMPORT} to spec.initializer.model; the training code saves the output"
    ),
    ("spec", "trainer", "numProcPerNode"): (
        "write a number, or leave it out: Trainer then derives it from the resources ('trainc import' replaces auto)"
    ),
    ("spec", "trainer", "resourcesPerNode", "auto"): (
        "write resources below limits or requests, or leave resourcesPerNode out for those of the runtime"
    ),
}
_RUNTIME: dict[Path, str] = {
    ("spec", "mlPolicy", "torch", "numProcPerNode"): (
        "removed in Trainer v2.2: set spec.trainer.numProcPerNode in the TrainJob, or leave it out: Trainer derives it"
        " from the resources; 'trainc import --write' with the names of runtimes and jobs does so"
    ),
    ("spec", "mlPolicy", "torch", "elasticPolicy"): (
        "removed in Trainer v2.2, which has no elastic training: the number of nodes is fixed; for maxRestarts set the"
        " variable PET_MAX_RESTARTS in the container; 'trainc import --write' removes the field"
    ),
    (*_POD, "workloadRef"): "removed in Trainer v2.3: use schedulingGroup.podGroupName",
}


_ADVICE: dict[Path, str] = {
    ("spec", "trainer", "resourcesPerNode"): "write resources below limits or requests",
    ("spec", "runtimeRef"): "write runtimeRef: {name: torch-distributed}; 'trainc runtimes' lists all",
    ("spec", "trainer", "replicas"): "set the number of pods that train with numNodes",
}
"""Hints for often misunderstood fields of a TrainJob, and the fields below them."""


def field_hint(kind: str, path: Path, similar: str | None = None) -> str | None:
    """Return a hint for a field of an earlier release, else ``similar``, else one for an often misunderstood field."""
    if kind not in (TRAINJOB, *RUNTIMES):
        return similar
    table = _TRAINJOB if kind == TRAINJOB else _RUNTIME
    found = table.get(tuple("[]" if isinstance(step, int) else step for step in path))
    return found or similar or _ADVICE.get(path) or _ADVICE.get(path[:-1])


_TRAINER: Path = ("spec", "trainer")
_PATCHED_POD: Path = ("spec", "runtimePatches", 0, "trainingRuntimeSpec", *_POD[1:4], 0, *_POD[5:])


def _right_place(resource: Resource, path: Path) -> str | None:
    """Return a hint for a field in spec or spec.trainer of a TrainJob that belongs elsewhere in it."""
    *parents, name = path
    if tuple(parents) not in (_TRAINER, _TRAINER[:1]):
        return None
    schemas = resource.schema.at
    if (trainer := schemas(_TRAINER)) is not None and name in trainer.properties:
        return f"write it below spec.trainer, as spec.trainer.{name}"
    patched = (schemas(_PATCHED_POD), schemas((*_PATCHED_POD, "containers", 0)))
    if name != "name" and any(schema is not None and name in schema.properties for schema in patched):
        return "set it with a patch in spec.runtimePatches, or in the runtime"
    return None


_UNDECLARED = lazy(r"undeclared reference to '([A-Za-z_][A-Za-z0-9_]*)'")
_MACRO_VARIABLE = lazy(r"\(\s*([A-Za-z_][A-Za-z0-9_]*)\s*,")
_POLICY_NAMES = ("object", "oldObject", "request", "params", "namespaceObject", "variables", "authorizer")


def undeclared(expression: str, position: int, message: str) -> tuple[int, str, str | None]:
    """Return position, message and hint for an error in a policy's expression; only those of unknown names change."""
    found = _UNDECLARED.match(message)
    if found is None:
        return position, message, None
    name = found[1]
    if expression[position : position + 1] != "(":
        if name == "variables":
            return position, message, "a match condition cannot use variables"
        return position, f"unknown name {name!r}", suggest(name, {*_POLICY_NAMES, *_MACRO_VARIABLE.findall(expression)})
    position = max(expression.rfind(name, 0, position), 0)
    if name in base(new=False).functions:
        hint: str | None = "it is new in Kubernetes 1.34, which does not accept it in a new policy"
    else:
        hint = _function_hint(name)
    return position, f"unknown function {name!r}", hint


def rule_hint(rule: str, message: str) -> str | None:
    """Return a hint on a rule of a CRD: what to do, or a function with a name similar to one that does not exist."""
    if message == _ONE_POLICY:
        return "keep one of flux, jax, mpi, torch and xgboost, and remove the others"
    found = _UNDECLARED.search(message)
    return _function_hint(found[1]) if found is not None and f"{found[1]}(" in rule else None


def _function_hint(name: str) -> str | None:
    known = base(new=True)
    names = {macro for macro, _ in known.macros} | {function for function in known.functions if function.isidentifier()}
    return suggest(name, names)
