"""Which policies have nothing to say of a request, told quickly: nearly all requests are admitted without a word.

What of matching cannot depend on the object is told once for all requests of a sort. Then validations are evaluated
with no more than the values that they refer to. Whatever is not plainly true is left to policyset.py, which says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from trainc.admit.policy.cluster import Cluster
from trainc.admit.policy.decision import Request
from trainc.admit.policy.documents import Stored, rows
from trainc.admit.policy.evaluate import BUDGET, CONDITIONS_BUDGET
from trainc.admit.policy.expressions import Bound, Expressions, Programs
from trainc.admit.policy.matching import Match, is_about, match, own
from trainc.admit.policy.params import ConfigurationError, collect, scope
from trainc.admit.policy.request import namespace_value, params_value, request_value
from trainc.admit.policy.selectors import requirements
from trainc.cel.composition import Variables
from trainc.cel.runner import Program
from trainc.cel.values import Undecided, Value
from trainc.records import NamedTuple
from trainc.source import Document, JsonObject, as_object

Sort: TypeAlias = tuple[str, str, str, str, str, str, str]
"""What requests have in common that policies without selectors of objects cannot tell apart."""

_Names: TypeAlias = Mapping[str, Value]


class Case(NamedTuple):
    """A policy that is about requests of one sort: as what it judges them, and with which params.

    ``matched`` is None where that depends on the object, or cannot be told without an error.
    """

    bound: Bound
    matched: Match | None = None
    params: tuple[Value, ...] = ()
    """What ``params`` is, once for each of the params."""


def sort_of(request: Request) -> Sort:
    """Return the sort of a request."""
    return (
        request.operation,
        request.group,
        request.version,
        request.kind,
        request.resource,
        request.scope,
        request.sub_resource,
    )


def cases(policies: Iterable[Bound], sort: Sort, cluster: Cluster) -> tuple[Case, ...]:
    """Return the policies that may be about requests of a sort, in their order."""
    operation, group, version, kind, resource, namespace, sub_resource = sort
    # The name counts only for a namespace, which is in itself.
    request = Request(operation, {}, None, group, version, kind, resource, namespace, namespace, sub_resource)
    found = (_case(bound, request, cluster) for bound in policies)
    return tuple(case for case in found if case is not None)


def _case(bound: Bound, request: Request, cluster: Cluster) -> Case | None:
    constraints = as_object(bound.policy.spec.get("matchConstraints"))
    if not is_about(constraints, request):
        return None
    if _names_objects(constraints):
        return Case(bound)
    if match({**constraints, "objectSelector": {}, "namespaceSelector": {}}, request, cluster) is None:
        return None
    resources = [binding.spec.get("matchResources") for binding in bound.bindings]
    if any(_depends(as_object(each), request) for each in (constraints, *resources)):
        return Case(bound)
    try:
        matched = match(constraints, request, cluster)
        if bound.policy.has_params and matched is not None:
            scope(bound.policy, cluster)
        params = [each for binding in bound.bindings for each in _params(bound.policy, binding, request, cluster)]
    except (Undecided, ConfigurationError):
        return Case(bound)
    values = tuple(map(params_value, dict.fromkeys(params)))
    return Case(bound, matched, values) if matched is not None and values else None


def _params(policy: Stored, binding: Stored, request: Request, cluster: Cluster) -> tuple[Document | None, ...]:
    """Return the params with which a binding judges; none where it is not about the request."""
    resources = binding.spec.get("matchResources")
    if isinstance(resources, dict) and match(resources, request, cluster) is None:
        return ()
    return collect(policy, binding, request.scope, cluster)


def _depends(constraints: JsonObject, request: Request) -> bool:
    """Tell whether more than the sort of a request decides whether constraints match it."""
    if requirements(constraints.get("objectSelector")) or _names_objects(constraints):
        return True
    return request.resource == "namespaces" and bool(requirements(constraints.get("namespaceSelector")))


def _names_objects(constraints: JsonObject) -> bool:
    return any(
        rule.get("resourceNames")
        for field in ("resourceRules", "excludeResourceRules")
        for rule in rows(constraints, field)
    )


def passes(case: Case, request: Request, objects: _Names, cluster: Cluster) -> bool:
    """Tell whether a policy certainly has nothing to say of a request; ``objects`` are what ``object_names`` gives."""
    expressions, matched = case.bound.expressions, case.matched
    programs = expressions.programs
    if programs is None or matched is None:
        return False
    for params in case.params:
        names = objects if "params" not in programs.names else {**objects, "params": params}
        if programs.conditions:
            early = own(request)._replace(kind=matched.kind)
            skipped = _is_skipped(expressions, programs, names, request, early)
            if skipped is None:
                return False
            if skipped:
                continue
        if "request" in programs.names:
            names = {**names, "request": request_value(request, matched)}
        if "namespaceObject" in programs.names:
            names = {**names, "namespaceObject": namespace_value(request, cluster)}
        if not _valid(expressions, programs, names):
            return False
    return True


def _is_skipped(
    expressions: Expressions, programs: Programs, names: _Names, request: Request, early: Match
) -> bool | None:
    """Tell whether a match condition is false, so that nothing is validated; None where more is to be said."""
    known = {**names, "namespaceObject": None}
    if "request" in programs.names:
        known["request"] = request_value(request, early)
    variables = Variables(expressions.made, known) if expressions.made else None
    values, left = _run(programs.conditions, known, variables, CONDITIONS_BUDGET)
    if left < 0 or any(value.__class__ is not bool for value in values):
        return None
    return False in values


def _valid(expressions: Expressions, programs: Programs, names: _Names) -> bool:
    """Tell whether all validations are true, and what they and their messages cost is allowed.

    The server evaluates messages apart, variables included; these come to the same as before, and cost it again.
    """
    variables = Variables(expressions.made, names) if expressions.made else None
    _, left = _run(programs.validations, names, variables, BUDGET, true=True)
    if left < 0:
        return False
    if not programs.messages:
        return True
    again = Variables(expressions.made, names, variables) if variables is not None else None
    return _run(programs.messages, names, again, left)[1] >= 0


def _run(
    programs: tuple[Program, ...], names: _Names, variables: Variables | None, budget: int, *, true: bool = False
) -> tuple[list[Value], int]:
    """Return what programs come to, and what is left of a budget; below 0 where it is used up or something is open.

    ``true``: below 0 also where one is not true.
    """
    values: list[Value] = []
    known = names if variables is None else variables.names
    for program in programs:
        try:
            value, charge = program.judge(known)
        except Undecided:
            return values, -1
        budget -= charge if variables is None else variables.take_charge() + charge
        if budget < 0 or (true and value is not True):
            return values, -1
        values.append(value)
    return values, budget
