"""Policies and bindings as a server stores them, requests, and the decisions about requests.

Source of the defaults: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/v1/defaults.go. The scope of a rule is
``*`` where it is absent.
"""

from __future__ import annotations

from typing import Final

import msgspec

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object
from trainc.inputs.source import Document
from trainc.schema import Violation, admit
from trainc.schema.kinds import BUILT_IN

GROUP, VERSION = "admissionregistration.k8s.io", "v1"
API_VERSION = f"{GROUP}/{VERSION}"
POLICY = "ValidatingAdmissionPolicy"
BINDING = "ValidatingAdmissionPolicyBinding"
KINDS = (POLICY, BINDING)


class Stored(msgspec.Struct, frozen=True, eq=False):
    """A policy or a binding: its document, its name, and its spec with defaults."""

    document: Document
    name: str
    spec: JsonObject

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
        """The policy that a binding binds."""
        return str(self.spec.get("policyName", ""))

    @property
    def actions(self) -> tuple[str, ...]:
        """What a binding does on a failed validation: Deny, Warn or Audit."""
        return tuple(map(str, as_list(self.spec.get("validationActions"))))

    def rows(self, field: str) -> list[JsonObject]:
        """Return the items of a list of objects in the spec; null in it is an empty object, as for Go."""
        return rows(self.spec, field)


class Read(msgspec.Struct, frozen=True, eq=False):
    """A policy or binding; ``stored`` is None if it cannot be decoded."""

    document: Document
    stored: Stored | None
    violations: tuple[Violation, ...] = ()
    dropped: tuple[Path, ...] = ()


def is_policy(document: Document) -> bool:
    """Tell whether a document is a policy or a binding of the supported version."""
    return document.data.get("kind") in KINDS and document.data.get("apiVersion") == API_VERSION


def read(document: Document) -> Read:
    """Decode a policy or binding."""
    kind = str(document.data["kind"])
    resource = BUILT_IN.find(GROUP, VERSION, kind)
    assert resource is not None, "it travels in the package"
    result = admit(resource, document.data)
    if any(violation.decode for violation in result.violations):
        return Read(document, None, result.violations, result.dropped)
    name = str(as_object(result.data.get("metadata")).get("name", ""))
    spec = as_object(result.data.get("spec"))
    defaulted = _policy(spec) if kind == POLICY else _binding(spec)
    return Read(document, Stored(document, name, defaulted), result.violations, result.dropped)


def rows(value: JsonObject, field: str) -> list[JsonObject]:
    """Return the items of a list of objects; null in it is an empty object, as for Go."""
    return [as_object(item) for item in as_list(value.get(field))]


def _policy(spec: JsonObject) -> JsonObject:
    filled: JsonObject = {"failurePolicy": "Fail", **spec}
    return _with_matching(filled, "matchConstraints")


def _binding(spec: JsonObject) -> JsonObject:
    return _with_matching(spec, "matchResources")


def _with_matching(spec: JsonObject, field: str) -> JsonObject:
    given = spec.get(field)
    if not isinstance(given, dict):
        return spec
    filled: JsonObject = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, **given}
    for name in ("resourceRules", "excludeResourceRules"):
        if name in given:
            filled[name] = [{"scope": "*", **rule} for rule in rows(given, name)]
    return {**spec, field: filled}


DENIED, ERROR, UNDECIDED, ANNOTATION = "denied", "error", "undecided", "annotation"
DENY, WARN, AUDIT = "Deny", "Warn", "Audit"
INVALID: Final = "Invalid"
"""The reason of a denial that names none."""


class Request(msgspec.Struct, frozen=True):
    """A request to an API server: what it changes, before and after.

    ``operation`` is CREATE, UPDATE, DELETE or CONNECT; ``object`` is None on DELETE, ``old_object`` on CREATE.
    ``resource`` is the plural. ``namespace`` is empty for objects that have none. ``unknown`` are the paths of what in
    ``object`` that only a cluster knows, even if they have a value.
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
        from trainc.kube.fielderror import quote

        resource = f"{self.resource}.{self.group}" if self.group else self.resource
        prefix = as_object((self.object or {}).get("metadata")).get("generateName")
        return f"{resource} {quote(self.name or str(prefix or ''))}"

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a namespace, which for a server is in itself."""
        return (self.group, self.resource) == ("", "namespaces")

    @property
    def scope(self) -> str:
        """The namespace of the request."""
        return self.name if self.is_namespace else self.namespace


class Decision(msgspec.Struct, frozen=True):
    """One result of a policy for a request; a policy that admits it has none.

    ``binding`` is None where the policy cannot be used at all. ``path`` leads into the policy (or into the binding
    if ``at_binding``); ``position`` is an offset in code points in the expression there, if that caused the result.
    ``action`` is Deny, Warn or Audit. ``outcome``: ``denied`` (a validation is false), ``error`` (failurePolicy Fail
    turns a failure into a denial), ``undecided`` (neither a pass nor a failure; ``message`` names what is unknown
    offline), ``annotation`` (an audit annotation that a server would record).
    ``reason`` is that of the HTTP status, empty if undecided. ``upstream`` is the server's error, its warning, or
    ``key: value`` of the audit annotation. ``object_path``: the field that caused the result if found, else ().
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
