"""A CRD but for its schemas: names, group, versions, subresources, columns, conversion.

Source of the rules: k8s.io/apiextensions-apiserver v0.34 pkg/apis/apiextensions/validation/validation.go, and for what
the server fills in or spells otherwise pkg/apis/apiextensions/v1 (defaults.go, conversion.go).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.kube.fielderror import go_value
from trainc.kube.names import is_dns1035_label, is_dns1123_subdomain
from trainc.schema.definition.columns import column_violations, scale_violations
from trainc.schema.definition.place import CODE, Place, forbidden, invalid, required, unsupported
from trainc.schema.violation import Violation
from trainc.source import Json, as_list, as_object

_SPEC = Place(("spec",), "spec")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_REVIEWS = ("v1", "v1beta1")


def name_rules(name: str, plural: str, group: str) -> tuple[str, ...]:
    """Return why a CRD may not be called ``name``."""
    details = is_dns1123_subdomain(name)
    return details if name == f"{plural}.{group}" else (*details, 'must be spec.names.plural+"."+spec.group')


def spec_violations(spec: Any) -> Iterator[Violation]:
    """Yield what is wrong with a CRD's spec, schemas apart."""
    yield from _group(spec.get("group") or "")
    scope = spec.get("scope") or ""
    if not scope:
        yield required(_SPEC.child("scope"))
    elif scope not in ("Cluster", "Namespaced"):
        yield unsupported(_SPEC.child("scope"), scope, ("Cluster", "Namespaced"))
    yield from _versions(spec.get("versions") or [])
    yield from _names(as_object(spec.get("names")))
    yield from _conversion(as_object(spec.get("conversion")))
    if spec.get("preserveUnknownFields"):
        if _has_defaults(spec.get("versions")):
            detail = "must be false in order to use defaults in the schema"
            yield invalid(_SPEC.child("preserveUnknownFields"), True, detail)
        strategy = as_object(spec.get("conversion")).get("strategy") or "None"
        if strategy != "None":
            at = _SPEC.child("conversion", "strategy")
            yield invalid(at, strategy, "must be None if spec.preserveUnknownFields is true")
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield invalid(_SPEC.child("preserveUnknownFields"), True, detail)


def _has_defaults(value: Json, below: str = "versions") -> bool:
    """Tell whether a schema inside value has a default: the names of properties are no keywords."""
    if isinstance(value, list):
        return any(_has_defaults(item, below) for item in value)
    if not isinstance(value, dict):
        return False
    if below not in ("properties", "definitions", "patternProperties") and value.get("default") is not None:
        return True
    return any(_has_defaults(item, key) for key, item in value.items() if key not in ("enum", "example", "default"))


def approval_violations(group: str, annotations: Any) -> Iterator[Violation]:
    """Yield what is wrong with a CRD in one of Kubernetes' own groups, which need a pull request's address."""
    if not any(group == protected or group.endswith(f".{protected}") for protected in _PROTECTED):
        return
    value = annotations.get(_APPROVAL)
    at = Place(("metadata", "annotations", _APPROVAL), f"metadata.annotations[{_APPROVAL}]")
    if not value:
        detail = "protected groups must have approval annotation"
        see = "see https://github.com/kubernetes/enhancements/pull/1111"
        yield required(at, f'{detail} "{_APPROVAL}", {see}')
    elif not value.startswith("unapproved") and not _is_address(value):
        detail = (
            f'protected groups must have approval annotation "{_APPROVAL}" with either a URL or a reason starting with'
            ' "unapproved", see https://github.com/kubernetes/enhancements/pull/1111'
        )
        yield invalid(at, value, detail)


def _is_address(text: str) -> bool:
    scheme, colon, rest = text.partition("://")
    return bool(colon and scheme and scheme.isalnum() and rest.partition("/")[0])


def _group(group: str) -> Iterator[Violation]:
    at = _SPEC.child("group")
    if not group:
        yield required(at)
    elif details := is_dns1123_subdomain(group):
        yield invalid(at, group, ",".join(details))
    elif "." not in group:
        yield invalid(at, group, "should be a domain with at least one dot")


def _versions(versions: list[Any]) -> Iterator[Violation]:
    at = _SPEC.child("versions")
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        if details := is_dns1035_label(name):
            yield invalid(at.index(index).child("name"), name, ",".join(details))
            if index == 0:  # which the server copies
                text = f"spec.version: Invalid value: {go_value(name)}: {','.join(details)}"
                yield Violation(CODE, at.path, "the first version has no valid name", text, secondary=True)
        yield from _deprecation(version, at.index(index))
    names = [version.get("name") or "" for version in versions]
    if len(set(names)) < len(names):
        yield _of_all(at, versions, "must contain unique version names")
    stored = sum(version.get("storage") is True for version in versions)
    if stored != 1:
        yield _of_all(at, versions, "must have exactly one version marked as storage version")
    if not stored:
        text = "status.storedVersions: Invalid value: null: must have at least one stored version"
        yield Violation(CODE, at.path, "no version is stored", text, secondary=True)


def _of_all(at: Place, versions: list[Any], detail: str) -> Violation:
    found = invalid(at, [version.get("name") or "" for version in versions], detail)
    return Violation(found.code, found.path, found.message, f"{at.text}: Invalid value: {detail}", found=found.found)


def _deprecation(version: Any, at: Place) -> Iterator[Violation]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    here = at.child("deprecationWarning")
    if not version.get("deprecated"):
        yield invalid(here, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        yield invalid(here, warning, "must be <= 256 characters long")
    if not warning:
        yield invalid(here, warning, "must not be an empty string")


def _names(names: Any) -> Iterator[Violation]:
    at = _SPEC.child("names")
    kind = names.get("kind") or ""
    filled = {
        "plural": names.get("plural") or "",
        "singular": names.get("singular") or kind.lower(),
        "kind": kind,
        "listKind": names.get("listKind") or (f"{kind}List" if kind else ""),
    }
    for field, value in filled.items():
        if not value:
            yield required(at.child(field))
    for field, value in filled.items():
        mixed = field in ("kind", "listKind")
        if value and (details := is_dns1035_label(value.lower() if mixed else value)):
            prefix = "may have mixed case, but should otherwise match: " if mixed else ""
            yield invalid(at.child(field), value, prefix + ",".join(details))
    if kind and kind == filled["listKind"]:
        yield invalid(at.child("listKind"), kind, "kind and listKind may not be the same")
    for field in ("shortNames", "categories"):
        for index, value in enumerate(names.get(field) or ()):
            if details := is_dns1035_label(value or ""):
                yield invalid(at.child(field).index(index), value or "", ",".join(details))


def _conversion(conversion: Any) -> Iterator[Violation]:
    strategy, webhook = conversion.get("strategy") or "", as_object(conversion.get("webhook"))
    client: Any = webhook.get("clientConfig")
    at, below = _SPEC.child("conversion"), Place(("spec", "conversion", "webhook"), "spec.conversion")
    if conversion and not strategy:
        yield required(at.child("strategy"))
    elif strategy not in ("", "None", "Webhook"):
        yield unsupported(at.child("strategy"), strategy, ("None", "Webhook"))
    place = Place((*below.path, "clientConfig"), "spec.conversion.webhookClientConfig")
    if strategy != "Webhook":
        if client is not None:
            yield forbidden(place, "should not be set when strategy is not set to Webhook")
        if webhook.get("conversionReviewVersions"):
            detail = "should not be set when strategy is not set to Webhook"
            yield forbidden(below.child("conversionReviewVersions"), detail)
        return
    if client is None:
        yield required(place, "required when strategy is set to Webhook")
    elif (client.get("url") is None) == (client.get("service") is None):
        yield required(place, "exactly one of url or service is required")
    yield from _reviews(as_list(webhook.get("conversionReviewVersions")), below.child("conversionReviewVersions"))


def _reviews(versions: list[Any], at: Place) -> Iterator[Violation]:
    if not versions:
        yield required(at)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(at.index(index), version, "duplicate version")
            continue
        for detail in is_dns1035_label(version):
            yield invalid(at.index(index), version, detail)
    if not set(versions) & set(_REVIEWS):
        yield invalid(at, list(versions), f"must include at least one of {', '.join(_REVIEWS)}")


def version_violations(version: Any, place: Place, hoisted: frozenset[str]) -> Iterator[Violation]:
    """Yield what is wrong with a version's columns and subresources.

    ``hoisted`` names what all versions have in common: the server spells its place as the spec's.
    """
    for field in ("subresources", "additionalPrinterColumns"):
        value = version.get(field)
        if value:
            at = place.child(field)
            at = Place(at.path, f"spec.{field}") if field in hoisted else at
            check = scale_violations if field == "subresources" else column_violations
            yield from check(value, at)
