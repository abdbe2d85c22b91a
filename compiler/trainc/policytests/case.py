"""Files of tests: a mapping with ``tests``, each a name, an object and the outcome to expect of policies.

tests:
- name: more GPUs than the namespace may have
  object: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, ...}
  expect:
    gpu-ceiling:
    - asks for 16 GPUs, and namespace team-a may have 8 in one job
    image-digests: pass
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get
from trainc.findings import Finding, has_errors, report
from trainc.inputs.source import Document, Mark, Source
from trainc.project.config import convert, read_document

PASS: Final = "pass"
_INVALID: Final = "TC507"


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


def read(source: Source) -> tuple[tuple[Case, ...], tuple[Finding, ...]]:
    """Return the valid tests of a file, and findings: TC507, and those of any YAML text."""
    data, document, findings = read_document(source)
    if has_errors(findings):
        return (), findings
    problems = convert(data, document, File, _INVALID)[1]
    invalid = {finding.path[1] for finding in problems if len(finding.path) > 1}
    cases: list[Case] = []
    names: set[str] = set()
    for index, raw in enumerate(as_list(get(data, "tests"))):
        if index in invalid:
            continue
        path: Path = ("tests", index)
        test = msgspec.convert(raw, Test)
        found = list(_check(document, path, test, names))
        problems += found
        if not found:
            cases.append(_case(document, path, test, as_object(raw)))
    return tuple(cases), (*findings, *problems)


def _operation(test: Test) -> str:
    return test.operation or ("UPDATE" if test.object is not None and test.old_object is not None else "CREATE")


def _check(document: Document, path: Path, test: Test, names: set[str]) -> Iterator[Finding]:
    if test.name in names:
        yield report(_INVALID, document, (*path, "name"), f"duplicate name {test.name!r}")
    names.add(test.name)
    operation = _operation(test)
    needs = (("object", test.object, operation != "DELETE"), ("oldObject", test.old_object, operation != "CREATE"))
    for key, given, needed in needs:
        if needed != (given is not None):
            verb = "needs an" if needed else "must not have an"
            yield report(_INVALID, document, path, f"{operation} {verb} {key}")


def _case(document: Document, path: Path, test: Test, raw: JsonObject) -> Case:
    def part(*step: str | int) -> Document | None:
        """Return an object in the file as a document whose positions are those of the file."""
        data: Any = get(raw, *step)
        marks = partial(_below, document, (*path, *step))
        return Document(document.source, data, document.index, marks) if data else None

    given = (part("namespace"), *(part("params", index) for index in range(len(test.params))))
    expect = {policy: tuple(_failures(value)) for policy, value in test.expect.items()}
    present = tuple(each for each in given if each is not None)
    return Case(document, path, test.name, _operation(test), part("object"), part("oldObject"), present, expect)


def _failures(expected: Literal["pass"] | list[str | Failure]) -> Iterator[Failure]:
    for item in expected if isinstance(expected, list) else ():
        yield item if isinstance(item, Failure) else Failure(item)


def _below(document: Document, prefix: Path) -> Mapping[Path, Mark]:
    size = len(prefix)
    return {path[size:]: mark for path, mark in document.marks().items() if path[:size] == prefix}
