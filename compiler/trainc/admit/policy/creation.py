"""Findings on policies and bindings themselves: what a server refuses of them, and what they miss of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from trainc.admit.policy.creationbinding import binding_problems
from trainc.admit.policy.creationpolicy import policy_problems
from trainc.admit.policy.documents import POLICY, Read, Stored
from trainc.admit.policy.expressions import Expressions
from trainc.admit.policy.fieldchecks import Problem
from trainc.admit.policy.unmatched import unmatched
from trainc.documents.positions import within
from trainc.findings import Diagnostic, report, suggest
from trainc.source import Document, as_object, dotted, existing, get

REFUSED, UNCOMPILED, UNBOUND, DANGLING, NO_PARAMS = "TC511", "TC512", "TC513", "TC514", "TC515"


def creation_findings(given: Sequence[Read], policies: Mapping[Document, Expressions]) -> tuple[Diagnostic, ...]:
    """Return what is to be said of policies and bindings before any request."""
    return tuple(chain(chain.from_iterable(_one(each, policies) for each in given), _between(given)))


def _one(each: Read, policies: Mapping[Document, Expressions]) -> Iterator[Diagnostic]:
    document = each.document
    for path in each.dropped:
        message = f"unknown field {dotted(path)}"
        yield report("TC101", document, path, message, found=str(path[-1]), upstream=f'unknown field "{dotted(path)}"')
    for violation in each.violations:
        yield report(
            violation.code,
            document,
            existing(document.data, violation.path),
            violation.message,
            found=violation.found,
            expected=violation.expected,
            hint=violation.hint,
            upstream=violation.upstream or None,
        )
    if each.stored is None:
        return
    expressions = policies.get(document)
    found = policy_problems(each.stored, expressions) if expressions is not None else binding_problems(each.stored)
    yield from (_finding(document, problem) for problem in found)
    yield from unmatched(each.stored)


def _finding(document: Document, problem: Problem) -> Diagnostic:
    path = existing(document.data, problem.path)
    if problem.position is None:
        found, expected = problem.found, problem.expected
        return report(
            REFUSED, document, path, problem.message, found=found, expected=expected, upstream=problem.upstream
        )
    placed = within(document, path, problem.position)
    return report(UNCOMPILED, placed, path, _first(problem.message), found=problem.found, upstream=problem.upstream)


def _first(text: str) -> str:
    """Return the message of an expression's first error, without cel-go's picture of the place."""
    line = text.removeprefix("compilation failed: ").split("\n", 1)[0]
    head, mark, rest = line.partition(": ")
    return rest.partition(" ")[2] or rest if mark and head == "ERROR" and rest.startswith("<input>") else line


def _between(given: Sequence[Read]) -> Iterator[Diagnostic]:
    policies = {each.stored.name: each.stored for each in given if each.stored is not None and _is_policy(each)}
    bindings = [each.stored for each in given if each.stored is not None and not _is_policy(each)]
    for binding in bindings:
        if binding.policy_name and binding.policy_name not in policies:
            yield _dangling(binding, sorted(policies))
        elif binding.policy_name:
            yield from _params(policies[binding.policy_name], binding)
    bound = {binding.policy_name for binding in bindings}
    for name, policy in policies.items():
        if name not in bound:
            message = f"no binding binds {name}: it decides nothing"
            yield report(UNBOUND, policy.document, ("metadata", "name"), message, found=name)


def _is_policy(each: Read) -> bool:
    return each.document.data["kind"] == POLICY


def _dangling(binding: Stored, known: list[str]) -> Diagnostic:
    path, name = ("spec", "policyName"), binding.policy_name
    message = f"no policy {name} is given: the binding decides nothing here"
    return report(DANGLING, binding.document, path, message, found=name, hint=suggest(name, known))


def _params(policy: Stored, binding: Stored) -> Iterator[Diagnostic]:
    """Warn where one of the two has params and the other does not: the server takes both for no params."""
    refers = isinstance(binding.spec.get("paramRef"), dict)
    if policy.has_params == refers:
        return
    if refers:
        message, path = f"policy {policy.name} has no paramKind: paramRef is ignored", ("spec", "paramRef")
    else:
        kind = get(as_object(policy.spec.get("paramKind")), "kind")
        message = f"policy {policy.name} has params of kind {kind}, and no paramRef says which: params is null"
        path = ("spec", "policyName")
    yield report(NO_PARAMS, binding.document, path, message)
