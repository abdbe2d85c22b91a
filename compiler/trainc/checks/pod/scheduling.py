"""Where a pod may run: tolerations, node selectors, affinity, spread constraints, gates."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.checks.problem import Place, Problem
from trainc.checks.rules import (
    dns_subdomain,
    label_selector,
    label_value_details,
    labels,
    number,
    qualified_name,
    requirement_problems,
    text,
)
from trainc.kube.names import is_dns1123_label
from trainc.source import Json, JsonObject, as_list, as_object, get, objects

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
OPERATORS = ("Equal", "Exists")
UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")
NODE_POLICIES = ("Honor", "Ignore")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def scheduling_problems(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Check everything of a pod's spec that chooses its node."""
    yield from labels(place.child("nodeSelector"), as_object(spec.get("nodeSelector")))
    for index, toleration in enumerate(objects(spec.get("tolerations"))):
        yield from _toleration(place.child("tolerations").index(index), toleration)
    affinity, at = as_object(spec.get("affinity")), place.child("affinity")
    yield from _node_affinity(at.child("nodeAffinity"), affinity.get("nodeAffinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from _pod_affinity(at.child(kind), affinity.get(kind))
    constraints = objects(spec.get("topologySpreadConstraints"))
    for index, constraint in enumerate(constraints):
        spread = place.child("topologySpreadConstraints").index(index)
        yield from _spread(spread, constraint, constraints[index + 1 :])
    yield from _gates(place.child("schedulingGates"), spec.get("schedulingGates"))
    if node := text(spec, "nodeName"):
        yield from dns_subdomain(place.child("nodeName"), node)


def _toleration(place: Place, toleration: JsonObject) -> Iterator[Problem]:
    key, operator, value = (text(toleration, field) for field in ("key", "operator", "value"))
    effect, at = text(toleration, "effect"), place.child("operator")
    if key:
        yield from qualified_name(place.child("key"), key)
    elif operator != "Exists":
        detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield at.invalid(operator, detail, typed=True)
    if number(toleration, "tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield place.child("effect").invalid(effect, detail, typed=True)
    if operator in ("Equal", ""):
        if details := label_value_details(value):
            yield at.invalid(value, ";".join(details))
    elif operator == "Exists":
        if value:
            yield at.invalid(value, "value must be empty when `operator` is 'Exists'")
    else:
        yield at.unsupported(operator, OPERATORS)
    if effect and effect not in EFFECTS:
        yield place.child("effect").unsupported(effect, EFFECTS)


def _node_affinity(place: Place, affinity: Json) -> Iterator[Problem]:
    if isinstance(required := get(affinity, REQUIRED), dict):
        at = place.child(REQUIRED, "nodeSelectorTerms")
        terms = objects(required.get("nodeSelectorTerms"))
        if not terms:
            yield at.required("must have at least one node selector term")
        for index, term in enumerate(terms):
            yield from _term(at.index(index), term)
    for index, preferred in enumerate(objects(get(affinity, PREFERRED))):
        at = place.child(PREFERRED).index(index)
        yield from _weight(at.child("weight"), preferred)
        # A value that no label can have is allowed here: no node has it, and none has to.
        for problem in _term(at.child("preference"), as_object(preferred.get("preference"))):
            if ".values[" not in problem.upstream.partition(": ")[0]:
                yield problem


def _weight(place: Place, term: JsonObject) -> Iterator[Problem]:
    weight = number(term, "weight") or 0
    if not 1 <= weight <= 100:
        yield place.invalid(weight, "must be in the range 1-100")


def _term(place: Place, term: JsonObject) -> Iterator[Problem]:
    for index, requirement in enumerate(objects(term.get("matchExpressions"))):
        yield from requirement_problems(place.child("matchExpressions").index(index), requirement, node=True)
    for index, requirement in enumerate(objects(term.get("matchFields"))):
        yield from _field(place.child("matchFields").index(index), requirement)


def _field(place: Place, requirement: JsonObject) -> Iterator[Problem]:
    operator, key = text(requirement, "operator"), text(requirement, "key")
    values = as_list(requirement.get("values"))
    if operator not in ("In", "NotIn"):
        yield place.child("operator").invalid(operator, "not a valid selector operator", typed=True)
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield place.child("values").required(detail)
    if key != "metadata.name":
        yield place.child("key").invalid(key, "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            yield from dns_subdomain(place.child("values").index(index), str(value))


def _pod_affinity(place: Place, affinity: Json) -> Iterator[Problem]:
    for index, term in enumerate(objects(get(affinity, REQUIRED))):
        yield from _pod_term(place.child(REQUIRED).index(index), term)
    for index, preferred in enumerate(objects(get(affinity, PREFERRED))):
        at = place.child(PREFERRED).index(index)
        yield from _weight(at.child("weight"), preferred)
        yield from _pod_term(at.child("podAffinityTerm"), as_object(preferred.get("podAffinityTerm")))


def _pod_term(place: Place, term: JsonObject) -> Iterator[Problem]:
    for kind in ("labelSelector", "namespaceSelector"):
        yield from label_selector(place.child(kind), term.get(kind))
    for index, namespace in enumerate(as_list(term.get("namespaces"))):
        named = place.within("namespaces", index).named(f"{place.field}.namespace")
        yield from named.each_invalid(str(namespace), is_dns1123_label(str(namespace)))
    yield from _label_keys(place, term, ("matchLabelKeys", "mismatchLabelKeys"))
    key = text(term, "topologyKey")
    if not key:
        yield place.child("topologyKey").required("can not be empty")
    yield from qualified_name(place.child("topologyKey"), key)


def _label_keys(place: Place, term: JsonObject, kinds: tuple[str, ...]) -> Iterator[Problem]:
    """Check keys whose values are those of the pod itself."""
    for kind in kinds:
        keys = as_list(term.get(kind))
        if keys and not isinstance(term.get("labelSelector"), dict):
            yield place.child(kind).forbidden("must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            yield from qualified_name(place.child(kind).index(index), str(key))
    mismatched = as_list(term.get("mismatchLabelKeys"))
    for index, key in enumerate(as_list(term.get("matchLabelKeys"))):
        if "mismatchLabelKeys" in kinds and key in mismatched:
            at = place.child("matchLabelKeys").index(index)
            yield at.invalid(key, "exists in both matchLabelKeys and mismatchLabelKeys")


def _spread(place: Place, constraint: JsonObject, others: list[JsonObject]) -> Iterator[Problem]:
    skew, key = number(constraint, "maxSkew") or 0, text(constraint, "topologyKey")
    action = text(constraint, "whenUnsatisfiable")
    if skew <= 0:
        yield place.child("maxSkew").invalid(skew, "must be greater than zero")
    if not key:
        yield place.child("topologyKey").required("can not be empty")
    if action not in UNSATISFIABLE:
        yield place.child("whenUnsatisfiable").unsupported(action, UNSATISFIABLE)
    if any(text(c, "topologyKey") == key and text(c, "whenUnsatisfiable") == action for c in others):
        named = place.named(f"{place.field}.{{topologyKey, whenUnsatisfiable}}")
        yield named.duplicate(f"{{{key}, {action}}}")
    if (domains := number(constraint, "minDomains")) is not None:
        at = place.child("minDomains")
        if domains <= 0:
            yield at.invalid(domains, "must be greater than zero")
        if action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield at.invalid(domains, detail)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if policy in constraint and constraint[policy] not in NODE_POLICIES:
            yield place.child(policy).unsupported(constraint[policy], NODE_POLICIES)
    yield from _label_keys(place, constraint, ("matchLabelKeys",))
    yield from label_selector(place.child("labelSelector"), constraint.get("labelSelector"))


def _gates(place: Place, gates: Json) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, gate in enumerate(objects(gates)):
        at, name = place.index(index), text(gate, "name")
        yield from qualified_name(at, name)
        if name in seen:
            yield at.duplicate(name)
        seen.add(name)
