"""Policies and bindings as a server stores them: decoded, with defaults.

Source of the defaults: k8s.io/kubernetes v1.34 pkg/apis/admissionregistration/v1/defaults.go. The scope of a rule is
``*`` where it is absent.
"""

from __future__ import annotations

from trainc.records import dataclass
from trainc.schema import Violation, admit
from trainc.schema.kinds import BUILT_IN
from trainc.source import Document, JsonObject, Path, as_list, as_object

GROUP, VERSION = "admissionregistration.k8s.io", "v1"
API_VERSION = f"{GROUP}/{VERSION}"
POLICY = "ValidatingAdmissionPolicy"
BINDING = "ValidatingAdmissionPolicyBinding"
KINDS = (POLICY, BINDING)


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
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
        """Whether a policy lets pass what it fails to judge."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def policy_name(self) -> str:
        """The policy that a binding binds."""
        return str(self.spec.get("policyName", ""))

    @property
    def actions(self) -> tuple[str, ...]:
        """What a binding makes of a failed validation."""
        return tuple(map(str, as_list(self.spec.get("validationActions"))))

    def rows(self, field: str) -> list[JsonObject]:
        """Return the items of a list of objects in the spec; null in it is an empty object, as for Go."""
        return rows(self.spec, field)


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A policy or binding as far as it could be read: without ``stored`` it cannot be decoded."""

    document: Document
    stored: Stored | None
    violations: tuple[Violation, ...] = ()
    dropped: tuple[Path, ...] = ()


def is_policy(document: Document) -> bool:
    """Tell whether a document is a policy or a binding of the version that is read."""
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
