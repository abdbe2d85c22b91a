"""The params of a binding: which objects they are, or why there are none.

Source: k8s.io/apiserver v0.34 pkg/admission/plugin/policy/generic/policy_dispatcher.go (CollectParams) and
policy_source.go (ensureParamsForPolicyLocked).
"""

from __future__ import annotations

from trainc.admit.policy.cluster import Cluster
from trainc.admit.policy.documents import Stored
from trainc.admit.policy.selectors import labels_of, requirements, selects
from trainc.schema.kinds import split_version
from trainc.source import Document, JsonObject, as_object


class ConfigurationError(Exception):
    """A policy or binding that cannot be used, in the server's words."""


def scope(policy: Stored, cluster: Cluster) -> bool:
    """Tell whether the params of a policy are in namespaces. Raises ConfigurationError if their kind is not known.

    A kind that no CRD given defines is known if there is an object of it.
    """
    api_version, kind = _kind(policy)
    group, version = split_version(api_version)
    if (known := cluster.registry.find(group, version, kind)) is not None:
        return known.namespaced
    objects = cluster.of_kind(api_version, kind)
    if not objects:
        missing = f"{group}/{version}, Kind={kind}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{missing}'")
    return any(namespace for namespace, _, _ in objects)


def collect(policy: Stored, binding: Stored, namespace: str, cluster: Cluster) -> tuple[Document | None, ...]:
    """Return the params with which a binding judges a request in a namespace; one None where it uses none.

    Raises ConfigurationError.
    """
    reference = binding.spec.get("paramRef")
    if not policy.has_params or not isinstance(reference, dict):
        return (None,)
    wanted = str(reference.get("namespace") or "")
    place = None
    if scope(policy, cluster):
        place = wanted or namespace
        if not place:
            where = "policy binding that matches cluster-scoped resources"
            raise ConfigurationError(f"cannot use namespaced paramRef in {where}")
    elif wanted:
        raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = _select(policy, reference, place, cluster)
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def lacks_params(policy: Stored, binding: Stored, cluster: Cluster) -> bool:
    """Tell whether a binding passes everything because none of its params is given, in any namespace."""
    reference = binding.spec.get("paramRef")
    if not policy.has_params or not isinstance(reference, dict) or reference.get("parameterNotFoundAction") == "Deny":
        return False
    try:
        scope(policy, cluster)
    except ConfigurationError:
        return False  # it denies
    return not _select(policy, reference, str(reference.get("namespace") or "") or None, cluster)


def _select(policy: Stored, reference: JsonObject, place: str | None, cluster: Cluster) -> tuple[Document, ...]:
    api_version, kind = _kind(policy)
    name, selector = str(reference.get("name") or ""), requirements(reference.get("selector"))
    return tuple(
        document
        for namespace, found, document in cluster.of_kind(api_version, kind)
        if place in (None, namespace) and (found == name if name else selects(selector, labels_of(document.data)))
    )


def _kind(policy: Stored) -> tuple[str, str]:
    given = as_object(policy.spec.get("paramKind"))
    return str(given.get("apiVersion", "")), str(given.get("kind", ""))
