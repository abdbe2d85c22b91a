"""The rules of CRDs that a user gives: those that a server refuses, and those that an object does not meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainc.documents.positions import within
from trainc.findings import Diagnostic, report
from trainc.schema import Admitted, Resource, has_rules
from trainc.source import Document, existing

if TYPE_CHECKING:
    from trainc.schema.definition import Definition

_UNCOMPILED = ("rule compile error: ", "rule compiler initialization error: ")


def refused_rules(document: Document, definition: Definition) -> Iterator[Diagnostic]:
    """Yield what a server refuses of the rules of a CRD that is created."""
    ruled = [(schema, place) for schema, place in definition.schemas if has_rules(schema)]
    if not ruled:
        return
    from trainc.admit.definition import rule_problems

    errors = tuple(violation.path for violation in definition.violations if not violation.advisory)
    for schema, place in ruled:
        for problem in rule_problems(schema, place, errors):
            path = existing(document.data, problem.path)
            yield report(
                "TC203",
                within(document, path, problem.offset) if problem.offset else document,
                path,
                problem.message,
                upstream=problem.upstream,
            )


def broken_rules(document: Document, resource: Resource, result: Admitted) -> Iterator[Diagnostic]:
    """Yield the rules of its CRD that an admitted object does not meet; ``document`` holds the object as admitted.

    What does not compile is told where the CRD is.
    """
    if resource.native or not has_rules(resource.schema) or any(v.decode for v in result.violations):
        return
    from trainc.admit.crd import rule_finding
    from trainc.admit.rules import failures

    blocking = tuple(violation.path for violation in result.violations if violation.blocking)
    for failure in failures(resource.schema, result.data, skip=blocking):
        if not failure.message.startswith(_UNCOMPILED):
            yield rule_finding(document, failure, None)
