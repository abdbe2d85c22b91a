"""Which requests a policy or binding is about.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/matching/matching.go and pkg/admission/plugin/webhook/
predicates (rules, namespace, object).
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.admit.policy.cluster import Cluster, named
from trainc.admit.policy.decision import Request
from trainc.admit.policy.documents import rows
from trainc.admit.policy.selectors import labels_of, requirements, selects
from trainc.cel.values import Undecided
from trainc.records import NamedTuple
from trainc.source import Json, JsonObject, as_list

GroupVersionName = tuple[str, str, str]
"""Group, version and the name of a kind or a resource."""


class Match(NamedTuple):
    """The kind and the resource as which a request is judged: its own, or an equivalent one that a rule names."""

    kind: GroupVersionName
    resource: GroupVersionName


def own(request: Request) -> Match:
    """Return kind and resource of a request as it was made."""
    kind = (request.group, request.version, request.kind)
    return Match(kind, (request.group, request.version, request.resource))


def match(constraints: JsonObject, request: Request, cluster: Cluster) -> Match | None:
    """Return as what constraints match a request, or None. Raises Undecided if labels not known decide it."""
    if not _objects_selected(constraints, request):
        return None
    policy = constraints.get("matchPolicy")
    if _by_rules(rows(constraints, "excludeResourceRules"), policy, request, cluster) is not None:
        return None
    rules = rows(constraints, "resourceRules")
    found = _by_rules(rules, policy, request, cluster) if rules else own(request)
    return found if found is not None and _namespace_selected(constraints, request, cluster) else None


def is_about(constraints: JsonObject, request: Request) -> bool:
    """Tell whether constraints name the resource of a request; if not they match none like it, whatever else is so."""
    rules = rows(constraints, "resourceRules")
    sub_resource = request.sub_resource
    return not rules or any(
        _is_resource(str(item), request.resource, sub_resource)
        for rule in rules
        for item in as_list(rule.get("resources"))
    )


def sees(constraints: JsonObject, namespace: str, cluster: Cluster) -> bool:
    """Tell whether constraints may match anything in a namespace; also where labels that are not known decide it."""
    asked = requirements(constraints.get("namespaceSelector"))
    return not asked or selects(asked, cluster.namespace_labels(namespace)) is not False


def _objects_selected(constraints: JsonObject, request: Request) -> bool:
    asked = requirements(constraints.get("objectSelector"))
    if not asked:
        return True
    return any(data is not None and selects(asked, labels_of(data)) for data in (request.object, request.old_object))


def _namespace_selected(constraints: JsonObject, request: Request, cluster: Cluster) -> bool:
    asked = requirements(constraints.get("namespaceSelector"))
    if not asked or not (request.scope or request.resource == "namespaces"):
        return True
    if request.resource == "namespaces" and not request.sub_resource and request.operation in ("CREATE", "UPDATE"):
        return bool(selects(asked, labels_of(named(request.object or {}, request.name))))
    found = selects(asked, cluster.namespace_labels(request.scope))
    if found is None:
        raise Undecided(f"the labels of namespace {request.scope}, which is not given, decide whether this applies")
    return found


def _by_rules(rules: list[JsonObject], policy: Json, request: Request, cluster: Cluster) -> Match | None:
    made = own(request)
    if any(_applies(rule, request, made.resource) for rule in rules):
        return made
    if policy != "Equivalent":
        return None
    equivalents = tuple(_equivalents(request, cluster)) if rules else ()
    for rule in rules:
        for other in equivalents:
            if _applies(rule, request, other.resource):
                return other
    return None


def _equivalents(request: Request, cluster: Cluster) -> Iterator[Match]:
    """Yield the other served versions of the resource. Of subresources only status is known to have the same kind."""
    if request.sub_resource not in ("", "status"):
        return
    for known in cluster.registry.served(request.group, request.kind):
        if known.plural == request.resource and known.version != request.version:
            yield Match((known.group, known.version, known.kind), (known.group, known.version, known.plural))


def _applies(rule: JsonObject, request: Request, resource: GroupVersionName) -> bool:
    group, version, name = resource
    names = as_list(rule.get("resourceNames"))
    return (
        _in_scope(rule.get("scope"), request)
        and _listed(rule, "operations", request.operation)
        and _listed(rule, "apiGroups", group)
        and _listed(rule, "apiVersions", version)
        and any(_is_resource(str(item), name, request.sub_resource) for item in as_list(rule.get("resources")))
        and (not names or request.name in names)
    )


def _in_scope(scope: Json, request: Request) -> bool:
    if scope in (None, "*"):
        return True
    clustered = not request.scope or (request.is_namespace and request.version == "v1")
    return clustered == (scope == "Cluster") and scope in ("Cluster", "Namespaced")


def _listed(rule: JsonObject, field: str, wanted: str) -> bool:
    items = as_list(rule.get(field))
    return "*" in items or wanted in items


def _is_resource(item: str, resource: str, sub_resource: str) -> bool:
    of, _, sub = item.partition("/")
    return of in ("*", resource) and sub in ("*", sub_resource)
