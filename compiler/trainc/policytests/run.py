"""Runs tests of policies: admits each object as a cluster does, then evaluates the policies for it.

A file of tests is a mapping with ``tests``, each a name, an object and the outcome to expect of policies:

tests:
- name: more GPUs than the namespace may have
  object: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, ...}
  expect:
    gpu-ceiling:
    - asks for 16 GPUs, and namespace team-a may have 8 in one job
    image-digests: pass
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from trainc.admission.base_revision import identify
from trainc.admission.companions import admit_companions, admit_object
from trainc.admission.crd import admit_document
from trainc.admission.jobset import admit_jobset
from trainc.admission.policy import Decision, PolicySet
from trainc.admission.policy.match import Cluster
from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get, objects, put
from trainc.documents.classify import POLICIES, RUNTIMES, TRAINJOB, classify, identity
from trainc.documents.load import load
from trainc.documents.positions import Marks, divide
from trainc.findings import Finding, Severity, has_errors, report, suggest
from trainc.findings.formats import Case as JunitCase
from trainc.findings.formats import junit
from trainc.findings.redaction import TEXT_WIDTH
from trainc.findings.reporting import report_fault
from trainc.findings.settling import collapse
from trainc.inputs.source import Document, Source
from trainc.pipeline.policies import is_policy, only_for_policies, server_request
from trainc.project.config import convert, read_document
from trainc.schema.kinds import Registry, split_version

_FAILED: Final = "TC505"
_UNTESTED: Final = "TC506"
_INVALID: Final = "TC507"
_VALIDATIONS: Path = ("spec", "validations")


class Result(Struct, frozen=True):
    """The result of a test: it passed if it has no findings."""

    case: Case
    findings: tuple[Finding, ...] = ()


class Run(Struct, frozen=True):
    """The results of all tests, in order, and findings on untested policies."""

    results: tuple[Result, ...]
    untested: tuple[Finding, ...] = ()


class Platform(Struct, frozen=True, eq=False):
    """The environment of the tests: the policies by name and with all other objects, and the registered kinds."""

    policies: Mapping[str, Document]
    registry: Registry
    set: PolicySet

    def decisions_on(self, case: Case) -> tuple[Decision, ...]:
        """Return the decisions of the policies about a test's object."""
        policies = self.set
        if case.given:
            given = {identity(document): document for document in case.given}
            policies = replace(policies, cluster=Cluster({**policies.cluster.objects, **given}, self.registry))
        current = case.object or case.old
        assert current is not None, "a test without any object is refused when it is read"
        old = case.old.data if case.old is not None else None
        request = server_request(current.data, old, self.registry)
        if request is None:
            return ()
        if case.object is None:
            request = replace(request, object=None)
        return policies.decide(replace(request, operation=case.operation))


def load_platform(sources: Iterable[Source], crds: tuple[Source, ...] = ()) -> tuple[Platform, tuple[Finding, ...]]:
    """Return the environment of the tests, from the sources of a run and from CRDs, and findings."""
    documents: list[Document] = []
    findings: list[Finding] = []
    for source in sources:
        loaded, found = load(source)
        documents += loaded
        findings += found
    sorted_out, more = classify(documents)
    companions = admit_companions(sorted_out.cluster.values(), crds, faithful=False)
    stored = {**sorted_out.cluster, **{identity(document): document for document in companions.documents}}
    objects = only_for_policies(stored)
    given = tuple(document for document in sorted_out.cluster.values() if is_policy(document))
    policies = {identity(d)[2]: d for d in given if d.data["kind"] == POLICIES[0]}
    policy_set = PolicySet.load(given, objects, companions.registry)
    findings += (*more, *companions.findings, *policy_set.findings)
    return Platform(policies, companions.registry, policy_set), tuple(collapse(findings, ()))


def run(cases: Iterable[Case], platform: Platform) -> Run:
    """Run tests against the policies of a platform."""
    results: list[Result] = []
    shown: set[tuple[str, Path]] = set()
    for case in cases:
        result, decisions = _result(case, platform)
        results.append(result)
        failed = [(identity(d.policy)[2], d.path[:3]) for d in decisions if d.outcome in ("denied", "error")]
        shown |= {(name, path) for name, path in failed if name in case.expect}
    return Run(tuple(results), tuple(_untested(platform.policies, shown)))


def _result(case: Case, platform: Platform) -> tuple[Result, tuple[Decision, ...]]:
    admitted, findings = stored_case(case, platform.registry)
    known = platform.policies
    findings += tuple(
        report(
            _INVALID,
            case.document,
            (*case.path, "expect", name),
            f"{case.label}: policy {name!r} not found",
            hint=suggest(name, known),
        )
        for name in case.expect
        if name not in known
    )
    if has_errors(findings):
        return Result(case, findings), ()
    decisions = platform.decisions_on(admitted)
    found: list[Finding] = []
    by_policy: dict[str, list[Decision]] = {}
    for decision in decisions:
        by_policy.setdefault(identity(decision.policy)[2], []).append(decision)
    for policy, expected in case.expect.items():
        found += _compared(case, policy, expected, by_policy.get(policy, []))
    return Result(case, tuple(found)), decisions


def stored_case(case: Case, registry: Registry) -> tuple[Case, tuple[Finding, ...]]:
    """Return a test with its objects as a cluster would store them, and the errors that a cluster would report.

    As in policies/, params of an unknown kind stay as they are written.
    """
    found: list[Finding] = []

    def stored(document: Document | None, *, is_given: bool = False) -> Document | None:
        made, findings = _stored(document, registry, is_given) if document is not None else (None, ())
        for finding in (finding for finding in findings if finding.severity is Severity.ERROR):
            message = f"{case.label}: a cluster would reject this object: {finding.message}"
            position = finding.document, finding.path
            found.append(report(_INVALID, *position, message, found=finding.found, hint=finding.hint))
        return made

    given = tuple(each for each in (stored(each, is_given=True) for each in case.given) if each is not None)
    case = replace(case, object=stored(case.object), old=stored(case.old), given=given)
    return case, tuple(dict.fromkeys(found))


def _stored(document: Document, registry: Registry, is_given: bool) -> tuple[Document, tuple[Finding, ...]]:
    document, kind = _in_namespace(document), document.data["kind"]
    known = registry.find(*split_version(str(document.data["apiVersion"])), str(kind))
    if known is None:
        if is_given:
            return document, ()
        message = f"unknown kind {kind} in {document.data['apiVersion']}"
        return document, (report(_INVALID, document, ("kind",), message, hint="pass its CRD with --crd-dir"),)
    if kind in (TRAINJOB, *RUNTIMES):
        admitted = admit_document(document, "crd", "webhook", faithful=False)
        return admitted.document, admitted.findings
    stored, findings = admit_object(document, registry)
    if kind != "JobSet" or has_errors(findings):
        return stored, findings
    data, refused = admit_jobset(document.data, {})
    return replace(document, data=data), tuple(report_fault(replace(each, stage=None), document) for each in refused)


def _in_namespace(document: Document) -> Document:
    path: Path = ("metadata", "namespace")
    if identity(document)[1] == "" or get(document.data, *path):
        return document
    return replace(document, data=put(document.data, path, "default"))


def _compared(case: Case, policy: str, expected: tuple[Failure, ...], decisions: list[Decision]) -> Iterator[Finding]:
    """Yield the expected results that a policy does not give; if it gives all of them, its other results."""
    said = [decision for decision in decisions if decision.outcome != "annotation"]
    position = (*case.path, "expect", policy)
    shown = "; ".join(dict.fromkeys(map(_shown, said))) or PASS
    given = {key for decision in said for key in _matching(decision)}
    listed = {(failure.outcome, failure.message, failure.action) for failure in expected}
    missing = [index for index, each in enumerate(expected) if (each.outcome, each.message, each.action) not in given]
    for index in missing:
        message = f"{case.label}: policy {policy!r} does not give the expected result"
        wanted = f"{expected[index].action or expected[index].outcome}: {expected[index].message}"
        yield report(_FAILED, case.document, (*position, index), message, found=shown, expected=wanted)
    beyond = [_shown(decision) for decision in said if listed.isdisjoint(_matching(decision))]
    for text in () if missing else dict.fromkeys(beyond):
        message = f"{case.label}: policy {policy!r} gives an unexpected result"
        wanted = "only the listed results" if expected else PASS
        yield report(_FAILED, case.document, position, message, found=text, expected=wanted)


def _matching(decision: Decision) -> tuple[tuple[str, str, str | None], ...]:
    """Return the outcome, message and action of expected failures that match a decision."""
    return tuple((decision.outcome, decision.message, action) for action in (decision.action, None))


def _shown(decision: Decision) -> str:
    return f"{decision.outcome} ({decision.action}): {decision.message}"


def _untested(policies: Mapping[str, Document], shown: set[tuple[str, Path]]) -> Iterator[Finding]:
    for name, document in sorted(policies.items()):
        if not any(policy == name for policy, _ in shown):
            yield report(_UNTESTED, document, ("metadata", "name"), f"policy {name!r} fails in no test")
            continue
        for index, _ in enumerate(objects(get(document.data, *_VALIDATIONS))):
            path = (*_VALIDATIONS, index)
            if (name, path) not in shown:
                yield report(_UNTESTED, document, path, f"this validation of policy {name!r} fails in no test")


PASS: Final = "pass"


# The files of tests.


class ObjectName(Struct, frozen=True):
    """The metadata that an object needs."""

    name: str


class Manifest(Struct, frozen=True):
    """A Kubernetes object."""

    api_version: str = msgspec.field(name="apiVersion")
    kind: str
    metadata: ObjectName


class Failure(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that a policy is expected to say; ``action`` is None where any will do."""

    message: str
    outcome: Literal["denied", "error", "undecided"] = "denied"
    action: Literal["Deny", "Warn", "Audit"] | None = None


Expected = Literal["pass"] | Annotated[list[str | Failure], Meta(min_length=1)]


class Test(Struct, frozen=True, forbid_unknown_fields=True):
    """A test in a file; operation defaults to UPDATE if it has both objects, else to CREATE."""

    name: Annotated[str, Meta(min_length=1)]
    expect: Annotated[dict[str, Expected], Meta(min_length=1)]
    object: Manifest | None = None
    old_object: Manifest | None = msgspec.field(default=None, name="oldObject")
    operation: Literal["CREATE", "UPDATE", "DELETE"] | None = None
    namespace: Manifest | None = None
    params: list[Manifest] = []


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of tests."""

    tests: Annotated[list[Test], Meta(min_length=1)]


class Case(Struct, frozen=True, eq=False):
    """One test. ``path`` leads to it in ``document``, the whole file; nothing expected of a policy is a pass.

    ``object`` and ``old`` are documents whose positions are in the file; so are those of ``given``, the namespace and
    the params.
    """

    document: Document
    path: Path
    name: str
    operation: str
    object: Document | None
    old: Document | None
    given: tuple[Document, ...] = ()
    expect: Mapping[str, tuple[Failure, ...]] = msgspec.field(default_factory=dict)

    @property
    def label(self) -> str:
        """The test, as each of its findings names it."""
        return f"test {self.name[:TEXT_WIDTH]!r}"


def read(source: Source) -> tuple[tuple[Case, ...], tuple[Finding, ...]]:
    """Return the valid tests of a file, and findings: TC507, and those of any YAML text."""
    data, document, findings = read_document(source)
    if has_errors(findings):
        return (), findings
    problems = convert(data, document, File, _INVALID)[1]
    invalid = {finding.path[1] for finding in problems if len(finding.path) > 1}
    cases: list[Case] = []
    names: set[str] = set()
    tests = as_list(get(data, "tests"))
    marks = divide(document.marks, [path for index, raw in enumerate(tests) for path in _parts(index, as_object(raw))])
    for index, raw in enumerate(tests):
        if index in invalid:
            continue
        path: Path = ("tests", index)
        test = msgspec.convert(raw, Test)
        given = test.object is not None, test.old_object is not None
        operation = test.operation or ("UPDATE" if all(given) else "CREATE")
        needed = operation != "DELETE", operation != "CREATE"
        if test.name in names:
            problems.append(report(_INVALID, document, (*path, "name"), f"duplicate name {test.name!r}"))
        for key, has, needs in zip(("object", "oldObject"), given, needed, strict=True):
            if needs != has:
                problems.append(
                    report(_INVALID, document, path, f"{operation} {'needs an' if needs else 'must not have an'} {key}")
                )
        if (differing := _differing(as_object(raw))) is not None:
            problems.append(report(_INVALID, document, (*path, differing[0]), differing[1]))
        elif test.name not in names and given == needed:
            cases.append(_case(document, path, test, operation, marks))
        names.add(test.name)
    return tuple(cases), (*findings, *problems)


def _differing(test: JsonObject) -> tuple[str, str] | None:
    """Return which of the objects of a test cannot be in a request together with the others, and why."""
    found = {key: identify(as_object(test[key])) for key in ("object", "oldObject", "namespace") if test.get(key)}
    new, old, space = map(found.get, ("object", "oldObject", "namespace"))
    if new and old:
        for part, one, other in zip(("group", "kind", "namespace", "name"), new, old, strict=True):
            if one != other:
                return "oldObject", f"object and oldObject must have the same {part}: no request changes it"
    current = new or old
    if space and current and current[2] and space != ("", "Namespace", "", current[2]):
        return "namespace", f"namespace must be that of the object: Namespace {current[2]}"
    return None


def _parts(index: int, test: JsonObject) -> Iterator[Path]:
    """Yield the paths of the objects of a test."""
    yield from (("tests", index, key) for key in ("object", "oldObject", "namespace"))
    yield from (("tests", index, "params", number) for number, _ in enumerate(as_list(test.get("params"))))


def _case(document: Document, path: Path, test: Test, operation: str, marks: Mapping[Path, Marks]) -> Case:
    def part(*step: str | int) -> Document | None:
        """Return an object in the file as a document whose positions are those of the file."""
        where = (*path, *step)
        data: Any = get(document.data, *where)
        return Document(document.source, data, document.index, marks[where]) if data else None

    given = (part("namespace"), *(part("params", index) for index in range(len(test.params))))
    failures = {policy: expected if isinstance(expected, list) else [] for policy, expected in test.expect.items()}
    expect = {
        policy: tuple(each if isinstance(each, Failure) else Failure(each) for each in expected)
        for policy, expected in failures.items()
    }
    present = tuple(each for each in given if each is not None)
    return Case(document, path, test.name, operation, part("object"), part("oldObject"), present, expect)


def as_junit(results: Iterable[Result], findings: Iterable[Finding]) -> str:
    """Return a JUnit report in ASCII; ``findings`` are those on anything but a test, such as a file."""
    cases: list[JunitCase] = [
        (case.document.source.name, case.name, case.document.locate(case.path).line, found)
        for case, found in ((result.case, result.findings) for result in results)
    ]
    cases += ((each.file, f"{each.code}: {each.message}", each.line, (each,)) for each in findings)
    return junit("trainc policy test", cases)
