"""Files of tests: a mapping with ``tests``, each a name, an object and what is expected of it.

    tests:
    - name: more GPUs than the namespace may have
      object: {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, ...}
      expect:
        gpu-ceiling:
        - asks for 16 GPUs, and namespace team-a may have 8 in one job
        image-digests: pass

``oldObject``, ``operation``, ``namespace`` (a Namespace) and ``params`` (a list of objects) may be given, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from msgspec import Struct, field

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, objects
from trainc.findings import Finding, has_errors, report, suggest
from trainc.inputs.source import Document, Mark, Source
from trainc.project.config import read_document

PASS: Final = "pass"
OUTCOMES: Final = ("denied", "error", "undecided")
ACTIONS: Final = ("Deny", "Warn", "Audit")
OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE")

_INVALID: Final = "TC507"
_KEYS: Final[Mapping[str, tuple[type, str]]] = {
    "name": (str, "a text that says what the test shows"),
    "object": (dict, "a Kubernetes object"),
    "oldObject": (dict, "a Kubernetes object"),
    "operation": (str, ", ".join(OPERATIONS)),
    "namespace": (dict, "a Namespace"),
    "params": (list, "a list of Kubernetes objects"),
    "expect": (dict, "a mapping from names of policies to pass or a list of messages"),
}
_FAILURE_KEYS: Final = ("message", "action", "outcome")


class Failure(Struct, frozen=True):
    """One thing that a policy is expected to say; ``action`` is None where any will do."""

    message: str
    outcome: str = "denied"
    action: str | None = None


class Case(Struct, frozen=True, eq=False):
    """One test. ``path`` leads to it in ``document``, the whole file; nothing expected of one is a pass.

    ``object`` and ``old`` are documents of their own, whose places are in the file; so are those of ``given``, the
    namespace and the params.
    """

    document: Document
    path: Path
    name: str
    operation: str
    object: Document | None
    old: Document | None
    given: tuple[Document, ...] = ()
    expect: Mapping[str, tuple[Failure, ...]] = field(default_factory=dict)


def read(source: Source) -> tuple[tuple[Case, ...], tuple[Finding, ...]]:
    """Return the tests of a file, and findings: TC507, and those of any YAML text. One with a fault is left out."""
    data, document, findings = read_document(source)
    if has_errors(findings):
        return (), findings
    tests = data.get("tests") if isinstance(data, dict) else None
    if not isinstance(tests, list) or not tests:
        return (), (*findings, report(_INVALID, document, (), "no tests", expected="a mapping with a list, tests"))
    found = [*findings, *_unknown(document, (), as_object(data), ("tests",))]
    cases: list[Case] = []
    names: set[str] = set()
    for index, test in enumerate(tests):
        path: Path = ("tests", index)
        problems = list(_check(document, path, test, names))
        found += problems
        if not has_errors(problems):
            cases.append(_case(document, path, as_object(test)))
    return tuple(cases), tuple(found)


def _check(document: Document, path: Path, test: Json, names: set[str]) -> Iterator[Finding]:
    if not isinstance(test, dict):
        yield report(_INVALID, document, path, "a test is a mapping")
        return
    yield from _unknown(document, path, test, _KEYS)
    for key, (kind, shape) in _KEYS.items():
        if key in test and not isinstance(test[key], kind):
            yield report(_INVALID, document, (*path, key), f"{key} is of the wrong type", expected=shape)
    for key in ("name", "expect"):
        if not test.get(key):
            yield report(_INVALID, document, path, f"the test has no {key}", expected=_KEYS[key][1])
    name = test.get("name")
    if isinstance(name, str):
        if name in names:
            yield report(_INVALID, document, (*path, "name"), f"a second test is called {name!r}")
        names.add(name)
    yield from _check_operation(document, path, test)
    yield from _check_objects(document, path, test)
    for policy, expected in as_object(test.get("expect")).items():
        yield from _check_expected(document, (*path, "expect", policy), expected)


def _check_operation(document: Document, path: Path, test: JsonObject) -> Iterator[Finding]:
    operation = _operation(test)
    if operation not in OPERATIONS:
        place = (*path, "operation")
        yield report(_INVALID, document, place, "unknown operation", found=operation, expected=", ".join(OPERATIONS))
        return
    for key, needed in (("object", operation != "DELETE"), ("oldObject", operation != "CREATE")):
        if needed != (key in test):
            has = "needs an" if needed else "has no"
            yield report(_INVALID, document, path, f"{operation} {has} {key}")


def _check_objects(document: Document, path: Path, test: JsonObject) -> Iterator[Finding]:
    for place, data in _objects(test):
        metadata = as_object(data.get("metadata"))
        for key, value in (("apiVersion", data.get("apiVersion")), ("kind", data.get("kind"))):
            if not isinstance(value, str):
                yield report(_INVALID, document, (*path, *place), f"the object has no {key}")
        if not isinstance(metadata.get("name"), str):
            yield report(_INVALID, document, (*path, *place), "the object has no metadata.name")


def _check_expected(document: Document, path: Path, expected: Json) -> Iterator[Finding]:
    shape = f"{PASS}, or a list of messages, or of mappings with {', '.join(_FAILURE_KEYS)}"
    if expected == PASS:
        return
    if not isinstance(expected, list) or not expected:
        yield report(_INVALID, document, path, "unclear what is expected", expected=shape)
        return
    for index, item in enumerate(expected):
        place = (*path, index)
        if isinstance(item, dict):
            yield from _unknown(document, place, item, _FAILURE_KEYS)
            for key, choice in (("outcome", OUTCOMES), ("action", ACTIONS)):
                if key in item and item[key] not in choice:
                    found = str(item[key])
                    yield report(
                        _INVALID, document, (*place, key), f"unknown {key}", found=found, expected=", ".join(choice)
                    )
            if not isinstance(item.get("message"), str):
                yield report(_INVALID, document, place, "no message", expected=shape)
        elif not isinstance(item, str):
            yield report(_INVALID, document, place, "unclear what is expected", expected=shape)


def _unknown(
    document: Document, path: Path, data: JsonObject, known: Mapping[str, object] | tuple[str, ...]
) -> Iterator[Finding]:
    for key in data:
        if key not in known:
            yield report(_INVALID, document, (*path, key), f"unknown key {key!r}", hint=suggest(key, tuple(known)))


def _operation(test: JsonObject) -> str:
    return str(test.get("operation") or ("UPDATE" if "object" in test and "oldObject" in test else "CREATE"))


def _objects(test: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    for key in ("object", "oldObject", "namespace"):
        if isinstance(data := test.get(key), dict):
            yield (key,), data
    for index, data in enumerate(objects(test.get("params"))):
        yield ("params", index), data


def _case(document: Document, path: Path, test: JsonObject) -> Case:
    parts = {place: _part(document, (*path, *place), data) for place, data in _objects(test)}
    own = {place: parts.pop(place, None) for place in (("object",), ("oldObject",))}
    expect = {policy: tuple(_failures(value)) for policy, value in as_object(test["expect"]).items()}
    name = str(test["name"])
    return Case(
        document, path, name, _operation(test), own["object",], own["oldObject",], tuple(parts.values()), expect
    )


def _failures(expected: Json) -> Iterator[Failure]:
    for item in expected if isinstance(expected, list) else ():
        if isinstance(item, dict):
            action = item.get("action")
            outcome = str(item.get("outcome", "denied"))
            yield Failure(str(item["message"]), outcome, action if isinstance(action, str) else None)
        else:
            yield Failure(str(item))


def _part(document: Document, prefix: Path, data: JsonObject) -> Document:
    """Return an object in a file as a document: its places are those of the file."""
    return Document(document.source, data, document.index, partial(_below, document, prefix))


def _below(document: Document, prefix: Path) -> Mapping[Path, Mark]:
    size = len(prefix)
    return {path[size:]: mark for path, mark in document.marks().items() if path[:size] == prefix}
