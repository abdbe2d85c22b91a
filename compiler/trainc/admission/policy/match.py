"""Matches requests with policies and bindings, by the namespaces and params of the cluster.

Sources: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/matching/matching.go,
pkg/admission/plugin/webhook/predicates and pkg/admission/plugin/policy/generic (CollectParams,
ensureParamsForPolicyLocked); k8s.io/apimachinery v0.34 pkg/labels/selector.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from trainc.admission.policy.documents import RULES, Request, Stored, rows
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, put
from trainc.cel.values import Undecided
from trainc.documents.classify import Key, group_and_kind
from trainc.inputs.source import Document
from trainc.schema.kinds import Registry, all_kinds, split_version

if TYPE_CHECKING:
    from trainc.admission.policy.expressions import Bound


class Requirement(NamedTuple):
    """The requirement of a selector for one label."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether a complete set of labels satisfies it."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        return (value is not None) == (self.operator == "Exists")


class Labels(NamedTuple):
    """The labels of an object. Unless ``complete``, it may have others."""

    known: Mapping[str, str]
    complete: bool = True


def requirements(selector: Json) -> tuple[Requirement, ...]:
    """Return the requirements of a selector, which selects everything if there are none."""
    labels = as_object(get(selector, "matchLabels")).items()
    found = [Requirement(key, "In", (str(value),)) for key, value in labels]
    for row in rows(as_object(selector), "matchExpressions"):
        values = tuple(map(str, as_list(row.get("values"))))
        found.append(Requirement(str(row.get("key", "")), str(row.get("operator", "")), values))
    return tuple(found)


def selects(wanted: tuple[Requirement, ...], labels: Labels) -> bool | None:
    """Return whether a selector selects an object with these labels; None if that depends on unknown labels."""
    known = [each for each in wanted if labels.complete or each.key in labels.known]
    if not all(each.holds(labels.known) for each in known):
        return False
    return True if len(known) == len(wanted) else None


def labels_of(data: Json) -> Labels:
    """Return the labels of an object."""
    return Labels({key: str(value) for key, value in as_object(get(data, "metadata", "labels")).items()})


NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that every namespace has, with its own name."""


Row: TypeAlias = tuple[str, str, Document]
"""An object with its namespace and its name."""


class Cluster(msgspec.Struct, frozen=True, eq=False):
    """The objects of the cluster by identity, and its kinds."""

    objects: Mapping[Key, Document]
    registry: Registry
    _by_kind: dict[tuple[str, str], list[Row]] = {}
    _by_name: dict[tuple[str, str], Mapping[tuple[str | None, str], list[Row]]] = {}
    _placed: dict[tuple[str, str], bool | None] = {}
    _labels: dict[str, Labels] = {}

    def namespace(self, name: str) -> JsonObject | None:
        """Return a namespace with the label that a server adds, or None if it is not among the inputs."""
        document = self.objects.get(("v1/Namespace", "", name))
        return named(document.data, name) if document is not None else None

    def namespace_labels(self, name: str) -> Labels:
        """Return the labels of a namespace; if it is not among the inputs, only the label with its name is known."""
        if name not in self._labels:
            given = self.namespace(name)
            unknown = Labels({NAME_LABEL: name}, complete=False)
            self._labels[name] = labels_of(given) if given is not None else unknown
        return self._labels[name]

    def of_kind(self, group: str, kind: str) -> Sequence[Row]:
        """Return namespace, name and document of all objects of a kind, in any version, sorted."""
        if not self._by_kind:
            found: dict[tuple[str, str], list[Row]] = {}
            for key, document in sorted(self.objects.items(), key=lambda item: item[0][1:]):
                found.setdefault(group_and_kind(document.data), []).append((key[1], key[2], document))
            self._by_kind.update(found)
        return self._by_kind.get((group, kind), ())

    def called(self, group: str, kind: str, namespace: str | None, name: str) -> Sequence[Row]:
        """Return the objects of a kind with a name, in a namespace or, for None, in all."""
        wanted = group, kind
        if wanted not in self._by_name:
            found: dict[tuple[str | None, str], list[Row]] = {}
            for row in self.of_kind(*wanted):
                for place in (row[0], None):
                    found.setdefault((place, row[1]), []).append(row)
            self._by_name[wanted] = found
        return self._by_name[wanted].get((namespace, name), ())

    def has_namespace(self, api_version: str, kind: str) -> bool | None:
        """Return whether an object of a kind is written with a namespace; None if there is none in this version."""
        wanted = api_version, kind
        if wanted not in self._placed:
            rows = self.of_kind(split_version(api_version)[0], kind)
            objects = [document for _, _, document in rows if document.data["apiVersion"] == api_version]
            self._placed[wanted] = any(map(is_placed, objects)) if objects else None
        return self._placed[wanted]


def named(namespace: JsonObject, name: str) -> JsonObject:
    """Return a namespace with the label of its name."""
    return put(put(namespace, ("metadata", "name"), name), ("metadata", "labels", NAME_LABEL), name)


GroupVersionName = tuple[str, str, str]
"""Group, version and the name of a kind or a resource."""


class Match(NamedTuple):
    """The kind and resource as which a request is evaluated: its own, or equivalent ones in a rule."""

    kind: GroupVersionName
    resource: GroupVersionName


def own(request: Request) -> Match:
    """Return the kind and resource of a request itself."""
    kind = (request.group, request.version, request.kind)
    return Match(kind, (request.group, request.version, request.resource))


def match(constraints: JsonObject, request: Request, cluster: Cluster) -> Match | None:
    """Return the kind and resource with which constraints match a request, or None.

    Raises Undecided if that depends on unknown labels.
    """
    selector = requirements(constraints.get("objectSelector"))
    versions = [data for data in (request.object, request.old_object) if data is not None]
    if selector and not any(selects(selector, labels_of(data)) for data in versions):
        return None
    policy = constraints.get("matchPolicy")
    if _by_rules(rows(constraints, "excludeResourceRules"), policy, request, cluster) is not None:
        return None
    rules = rows(constraints, "resourceRules")
    found = _by_rules(rules, policy, request, cluster, guess=True) if rules else own(request)
    return found if found is not None and _namespace_selected(constraints, request, cluster) else None


def sees(constraints: JsonObject, namespace: str, cluster: Cluster) -> bool:
    """Return whether constraints may match anything in a namespace; True if that depends on unknown labels."""
    wanted = requirements(constraints.get("namespaceSelector"))
    return not wanted or selects(wanted, cluster.namespace_labels(namespace)) is not False


def _namespace_selected(constraints: JsonObject, request: Request, cluster: Cluster) -> bool:
    wanted = requirements(constraints.get("namespaceSelector"))
    if not wanted or not (request.scope or request.resource == "namespaces"):
        return True
    if request.resource == "namespaces" and not request.sub_resource and request.operation in ("CREATE", "UPDATE"):
        return bool(selects(wanted, labels_of(named(request.object or {}, request.name))))
    found = selects(wanted, cluster.namespace_labels(request.scope))
    if found is None:
        raise Undecided(f"it depends on the labels of namespace {request.scope}, which is not among the inputs")
    return found


def _by_rules(
    rules: list[JsonObject], policy: Json, request: Request, cluster: Cluster, *, guess: bool = False
) -> Match | None:
    """Return how rules match a request; ``guess``: a kind without a schema may be served in each version in them."""
    itself = own(request)
    if any(_applies(rule, request, itself.resource) for rule in rules):
        return itself
    # The other served versions of the resource. Of subresources only status is known to have the same kind.
    if policy != "Equivalent" or request.sub_resource not in ("", "status"):
        return None
    known = cluster.registry.served(request.group, request.kind) if rules else ()
    versions = [each.version for each in known if each.plural == request.resource]
    is_unknown = guess and not known and not all_kinds(request.group)
    for rule in rules:
        if is_unknown:  # a rule applies to all other versions in it, or to none
            versions = [each for each in map(str, as_list(rule.get("apiVersions"))) if each != request.version][:1]
        for version in versions:
            resource = (request.group, version, request.resource)
            if version != request.version and _applies(rule, request, resource):
                return Match((request.group, version, request.kind), resource)
    return None


def _applies(rule: JsonObject, request: Request, resource: GroupVersionName) -> bool:
    group, version, name = resource
    names = as_list(rule.get("resourceNames"))
    clustered = not request.scope or (request.is_namespace and request.version == "v1")
    listed = (("operations", request.operation), ("apiGroups", group), ("apiVersions", version))
    resources = (str(item).partition("/") for item in as_list(rule.get("resources")))
    return (
        rule.get("scope") in (None, "*", "Cluster" if clustered else "Namespaced")
        and all(not {"*", wanted}.isdisjoint(map(str, as_list(rule.get(field)))) for field, wanted in listed)
        and any(of in ("*", name) and sub in ("*", request.sub_resource) for of, _, sub in resources)
        and (not names or request.name in names)
    )


_NAMESPACE: Path = ("metadata", "namespace")
_PARAMS_HINT = "add the params to policies/, or set parameterNotFoundAction: Deny in the binding"
_FAIL_HINT = "add the params to policies/, or set failurePolicy: Fail in the policy"


class ConfigurationError(Exception):
    """A policy or binding that cannot be used; the message is the server's."""


def scope(policy: Stored, cluster: Cluster) -> bool | None:
    """Return whether the params of a policy are namespaced. Raises ConfigurationError if their kind is unknown.

    A kind without a CRD is known if the cluster has an object of it. If no such object is written with a namespace, the
    scope is unknown: None.
    """
    api_version, kind = param_kind(policy)
    group, version = split_version(api_version)
    if (known := cluster.registry.find(group, version, kind)) is not None:
        return known.namespaced
    has_namespace = cluster.has_namespace(api_version, kind)
    if has_namespace is None:
        missing = f"{group}/{version}, Kind={kind}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{missing}'")
    return has_namespace or None


def is_placed(document: Document) -> bool:
    """Return whether a document is written with a namespace, which its data has in any case."""
    return _NAMESPACE in document.marks()


def collect(policy: Stored, binding: Stored, namespace: str, cluster: Cluster) -> tuple[Document | None, ...]:
    """Return the params of a binding for a request in a namespace; a single None if it uses none.

    Raises ConfigurationError.
    """
    reference = param_ref(policy, binding)
    if reference is None:
        return (None,)
    wanted = str(reference.get("namespace") or "")
    params_namespace = None
    namespaced = scope(policy, cluster)
    if namespaced is None:
        namespaced = bool(wanted)
    if namespaced:
        params_namespace = wanted or namespace
        if not params_namespace:
            where = "policy binding that matches cluster-scoped resources"
            raise ConfigurationError(f"cannot use namespaced paramRef in {where}")
    elif wanted:
        raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = _select(policy, reference, params_namespace, cluster)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def doubts(policy: Stored, binding: Stored, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield why the params of a binding in a cluster are unknown, so that it may admit everything, each with a hint."""
    reference = param_ref(policy, binding)
    if reference is None:
        return
    try:
        namespaced = scope(policy, cluster)
    except ConfigurationError:
        if policy.ignores_failures:  # otherwise, it denies
            yield "the kind of its params is unknown", "correct paramKind, or pass its CRD with --crd-dir"
        return
    namespace = str(reference.get("namespace") or "") or None
    if not _select(policy, reference, namespace, cluster):
        if reference.get("parameterNotFoundAction") != "Deny":
            yield "its params were not found", _PARAMS_HINT
        elif policy.ignores_failures:
            yield "its params were not found", _FAIL_HINT
    if namespaced is None and namespace is None and not all_kinds(split_version(param_kind(policy)[0])[0]):
        yield "trainc has no schema of its params, which may be in a namespace or not", "pass their CRD with --crd-dir"


def _select(
    policy: Stored, reference: JsonObject, params_namespace: str | None, cluster: Cluster
) -> tuple[Document, ...]:
    api_version, kind = param_kind(policy)
    group, _ = split_version(api_version)
    if name := reference.get("name"):
        return tuple(document for _, _, document in cluster.called(group, kind, params_namespace, str(name)))
    wanted = requirements(reference.get("selector"))
    return tuple(
        document
        for namespace, _, document in cluster.of_kind(group, kind)
        if params_namespace in (None, namespace) and selects(wanted, labels_of(document.data))
    )


class ParamRefs:
    """The params that bindings refer to, to find a binding of which an object is among the params."""

    def __init__(self, bound: Iterable[tuple[Stored, Stored]]) -> None:
        self._found: dict[tuple[str, str, str, str], list[tuple[Stored, tuple[Requirement, ...]]]] = {}
        for policy, binding in bound:
            if (reference := param_ref(policy, binding)) is not None:
                api_version, kind = param_kind(policy)
                namespace, name = (str(reference.get(key) or "") for key in ("namespace", "name"))
                key = split_version(api_version)[0], kind, namespace, name
                wanted = () if name else requirements(reference.get("selector"))
                self._found.setdefault(key, []).append((policy, wanted))

    def policy_of(self, data: JsonObject) -> Stored | None:
        """Return the first policy of which an object in a namespace is among the params, for requests in any."""
        group, kind = group_and_kind(data)
        own, labels = (str(get(data, "metadata", key)) for key in ("namespace", "name")), labels_of(data)
        for namespace, name in product(*((each, "") for each in own)):
            for policy, wanted in self._found.get((group, kind, namespace, name), ()):
                if selects(wanted, labels):
                    return policy
        return None


def param_ref(policy: Stored, binding: Stored) -> JsonObject | None:
    """Return the reference of a binding to params; None if it uses none."""
    reference = binding.spec.get("paramRef")
    return reference if policy.has_params and isinstance(reference, dict) else None


def param_kind(policy: Stored) -> tuple[str, str]:
    """Return apiVersion and kind of the params of a policy; both are empty for a policy without any."""
    given = as_object(policy.spec.get("paramKind"))
    return str(given.get("apiVersion", "")), str(given.get("kind", ""))


class AppliedBinding(msgspec.Struct, frozen=True):
    """A binding that applies to a request, or may apply (``undecided`` is the reason), and its params.

    ``error``: why it has no params.
    """

    binding: Stored
    undecided: str = ""
    error: str = ""
    params: tuple[Document | None, ...] = ()


class Applied(msgspec.Struct, frozen=True):
    """How a policy applies to a request: the kind that it matches, and its bindings.

    ``undecided``: why it may not apply. ``error``: why the policy cannot be used.
    """

    matched: Match
    bindings: tuple[AppliedBinding, ...] = ()
    undecided: str = ""
    error: str = ""


def apply(bound: Bound, request: Request, cluster: Cluster) -> Applied | None:
    """Return how a policy applies to a request; None if it does not."""
    policy = bound.policy
    matched, undecided = _match_or_reason(policy.constraints, request, cluster)
    if matched is None:
        return None
    if policy.has_params and not undecided:
        try:
            scope(policy, cluster)
        except ConfigurationError as error:
            return Applied(matched, error=str(error))
    bindings: list[AppliedBinding] = []
    for binding in bound.bindings:
        applies, reason = _match_or_reason(binding.constraints, request, cluster)
        if applies is None:
            continue
        try:
            params = collect(policy, binding, request.scope, cluster)
        except ConfigurationError as error:
            bindings.append(AppliedBinding(binding, reason, str(error)))
        else:
            bindings += [AppliedBinding(binding, reason, params=params)] if params else []
    return Applied(matched, tuple(bindings), undecided) if bindings else None


def _match_or_reason(constraints: JsonObject, request: Request, cluster: Cluster) -> tuple[Match | None, str]:
    """Return the match, and why it is undecided: then that of a namespace with all labels."""
    try:
        return match(constraints, request, cluster), ""
    except Undecided as error:
        return match({**constraints, "namespaceSelector": {}}, request, cluster), error.reason


def depends_on_object(bound: Bound, request: Request) -> bool:
    """Return whether the object of a request decides if a policy, or one of its bindings, applies."""
    selectors = ("objectSelector", "namespaceSelector") if request.resource == "namespaces" else ("objectSelector",)
    return any(
        any(requirements(part.get(selector)) for selector in selectors)
        or any(rule.get("resourceNames") for key in RULES for rule in rows(part, key))
        for part in bound.constraints
    )
