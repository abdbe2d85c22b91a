"""Policies and bindings as a server stores them, requests, and the decisions about requests.

Source of the defaults: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/v1/defaults.go. The default scope of a
rule is ``*``.
"""

from __future__ import annotations

from typing import Final

import msgspec

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get
from trainc.inputs.source import Document
from trainc.kube.fielderror import quote
from trainc.schema import Violation, admit
from trainc.schema.kinds import BUILT_IN, Registry, split_version

GROUP, VERSION = "admissionregistration.k8s.io", "v1"
API_VERSION = f"{GROUP}/{VERSION}"
POLICY = "ValidatingAdmissionPolicy"
BINDING = "ValidatingAdmissionPolicyBinding"
KINDS = (POLICY, BINDING)
RULES = ("resourceRules", "excludeResourceRules")
"""The fields of constraints that name resources."""


class Stored(msgspec.Struct, frozen=True, eq=False):
    """A policy or a binding: its document, its name, and its spec with defaults.

    ``decoded``: a server can decode it; otherwise the spec is empty. ``dropped``: the paths of unknown fields.
    """

    document: Document
    name: str
    spec: JsonObject
    violations: tuple[Violation, ...] = ()
    dropped: tuple[Path, ...] = ()
    decoded: bool = True

    @property
    def is_policy(self) -> bool:
        """Whether it is a policy, not a binding."""
        return self.document.data["kind"] == POLICY

    @property
    def has_params(self) -> bool:
        """Whether a policy names the kind of its params."""
        return isinstance(self.spec.get("paramKind"), dict)

    @property
    def ignores_failures(self) -> bool:
        """Whether a policy admits a request when its evaluation fails."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def policy_name(self) -> str:
        """The name of the policy that a binding refers to."""
        return str(self.spec.get("policyName", ""))

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions of a binding on a failed validation: Deny, Warn or Audit."""
        return tuple(map(str, as_list(self.spec.get("validationActions"))))

    @property
    def constraints(self) -> JsonObject:
        """The requests that a policy, or a binding, applies to."""
        return as_object(self.spec.get("matchConstraints" if self.is_policy else "matchResources"))


def is_policy(document: Document) -> bool:
    """Return whether a document is a policy or a binding of the supported version."""
    return document.data.get("kind") in KINDS and document.data.get("apiVersion") == API_VERSION


def read(document: Document) -> Stored:
    """Decode a policy or binding."""
    kind = str(document.data["kind"])
    resource = BUILT_IN.find(GROUP, VERSION, kind)
    assert resource is not None, "it is in the package"
    result = admit(resource, document.data)
    name = str(get(result.data, "metadata", "name") or "")
    if any(violation.decode for violation in result.violations):
        return Stored(document, name, {}, result.violations, result.dropped, decoded=False)
    spec = as_object(result.data.get("spec"))
    if kind == POLICY:
        spec = {"failurePolicy": "Fail", **spec}
    field = "matchConstraints" if kind == POLICY else "matchResources"
    if isinstance(given := spec.get(field), dict):
        filled: JsonObject = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, **given}
        for key in RULES:
            if key in given:
                filled[key] = [{"scope": "*", **rule} for rule in rows(given, key)]
        spec = {**spec, field: filled}
    return Stored(document, name, spec, result.violations, result.dropped)


def namespaced_params(policy: Document, registry: Registry) -> bool:
    """Return whether the params of a policy are in namespaces, as those of a kind without a CRD are."""
    kind = as_object(get(policy.data, "spec", "paramKind"))
    resource = registry.find(*split_version(str(kind.get("apiVersion"))), str(kind.get("kind")))
    return resource is None or resource.namespaced


def rows(value: JsonObject, field: str) -> list[JsonObject]:
    """Return the items of a list of objects; null in it is an empty object, as for Go."""
    return [as_object(item) for item in as_list(value.get(field))]


DENIED, ERROR, UNDECIDED, ANNOTATION = "denied", "error", "undecided", "annotation"
DENY, WARN, AUDIT = "Deny", "Warn", "Audit"
INVALID: Final = "Invalid"
"""The default reason of a denial."""


class Request(msgspec.Struct, frozen=True):
    """A request to an API server, with the object before and after.

    ``operation`` is CREATE, UPDATE, DELETE or CONNECT; ``object`` is None on DELETE, ``old_object`` on CREATE.
    ``resource`` is the plural. ``namespace`` is empty for objects that have none. ``unknown`` are the paths of what in
    both that only a cluster knows, even if they have a value.
    """

    operation: str
    object: JsonObject | None
    old_object: JsonObject | None
    group: str
    version: str
    kind: str
    resource: str
    namespace: str
    name: str
    sub_resource: str = ""
    unknown: tuple[Path, ...] = ()

    @property
    def label(self) -> str:
        """The name of the object in the server's errors: ``jobsets.jobset.x-k8s.io "name"``."""
        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        prefix = get(self.object, "metadata", "generateName")
        return f"{resource} {quote(self.name or str(prefix or ''))}"

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a namespace, which the server treats as being in itself."""
        return (self.group, self.resource) == ("", "namespaces")

    @property
    def scope(self) -> str:
        """The namespace of the request."""
        return self.name if self.is_namespace else self.namespace


class Decision(msgspec.Struct, frozen=True):
    """A result of a policy for a request; a policy that admits the request has none.

    ``binding`` is None where the policy cannot be used at all. ``path`` leads into the policy (or into the binding if
    ``at_binding``); ``position`` is an offset in code points in the expression there, if that caused the result.
    ``action`` is Deny, Warn or Audit. ``outcome``: ``denied`` (a validation is false), ``error`` (failurePolicy Fail
    turns a failure into a denial), ``undecided`` (neither a pass nor a failure; ``message`` names what is unknown
    offline), ``annotation`` (an audit annotation that a server would record). ``reason`` is that of the HTTP status,
    empty if undecided. ``upstream`` is the server's error, its warning, or ``key: value`` of the audit annotation.
    ``object_path``: the field that caused the result if found, else ().
    """

    policy: Document
    binding: Document | None
    path: Path
    action: str
    outcome: str
    message: str
    reason: str = ""
    upstream: str = ""
    object_path: Path = ()
    position: int | None = None
    at_binding: bool = False
