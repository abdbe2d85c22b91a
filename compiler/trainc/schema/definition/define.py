"""From a CustomResourceDefinition to the kinds that it defines, or to what an API server refuses in it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from trainc.records import dataclass
from trainc.schema.definition.defaults import default_violations
from trainc.schema.definition.invariants import structural_violations
from trainc.schema.definition.keywords import normal, shape_violations
from trainc.schema.definition.openapi import openapi_violations
from trainc.schema.definition.place import Place, forbidden, invalid, required
from trainc.schema.definition.spec import approval_violations, name_rules, spec_violations, version_violations
from trainc.schema.metarules import NameRule, object_meta_violations
from trainc.schema.native import read_native
from trainc.schema.patterns import is_too_large
from trainc.schema.registry import BUILT_IN
from trainc.schema.structural import Resource, Structural, parse
from trainc.schema.violation import Violation
from trainc.source import Json, JsonObject, Path, as_object

KIND = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_SCHEMA = "openAPIV3Schema"
_HOISTED = ("schema", "subresources", "additionalPrinterColumns")
_AT_STATUS_ROOT = frozenset(
    {
        *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        *(
            "maxLength",
            "minLength",
            "pattern",
            "maxItems",
            "minItems",
            "uniqueItems",
            "multipleOf",
            "required",
            "items",
        ),
        *("properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations"),
    }
)
_NAMED_AT_STATUS_ROOT = (
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern"
    " MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields"
    " XValidations]"
)


@dataclass(frozen=True, slots=True)
class Definition:
    """What a CRD comes to: its kind in each served version, empty where the server refuses the CRD.

    ``dropped``: paths of fields that a CRD does not have. ``schemas``: the schemas of the versions, each with its
    place, as far as they are structural and their defaults fit; one that all versions share comes once.
    """

    resources: tuple[Resource, ...] = ()
    dropped: tuple[Path, ...] = ()
    violations: tuple[Violation, ...] = ()
    schemas: tuple[tuple[Structural, Place], ...] = ()


def define(data: JsonObject) -> Definition:
    """Read a CustomResourceDefinition, a whole object, as an API server does on create.

    The expressions of x-kubernetes-validations are not looked at; they stay in the schemas as they are.
    """
    kind = BUILT_IN.find(*KIND)
    assert kind is not None, "it travels in the package"
    _, dropped, outer = read_native(kind, data)
    # Names and required fields are the business of the rules below, whose texts are the server's.
    shape = [violation for violation in outer if violation.decode]
    spec: Any = as_object(data.get("spec"))
    for index, schema in _schemas(spec):
        shape += shape_violations(schema, ("spec", "versions", index, "schema", _SCHEMA))
    if any(not violation.advisory for violation in shape):
        return Definition((), dropped, tuple(shape))
    schemas: list[tuple[Structural, Place]] = []
    found = [*shape, *_metadata(data, spec), *spec_violations(spec), *_version_violations(spec, schemas)]
    found += approval_violations(spec.get("group") or "", as_object(as_object(data.get("metadata")).get("annotations")))
    resources = () if any(not violation.advisory for violation in found) else tuple(_resources(spec))
    return Definition(resources, dropped, tuple(found), tuple(schemas))


def _metadata(data: JsonObject, spec: Any) -> tuple[Violation, ...]:
    names: Any = as_object(spec.get("names"))
    rule: NameRule = partial(name_rules, plural=names.get("plural") or "", group=spec.get("group") or "")
    return object_meta_violations(as_object(data.get("metadata")), namespaced=True, name_rules=(rule, rule))


def _versions(spec: Any) -> list[Any]:
    versions = spec.get("versions")
    items = versions if isinstance(versions, list) else []
    return [version if isinstance(version, dict) else {} for version in items]


def _schemas(spec: Any) -> Iterator[tuple[int, Json]]:
    for index, version in enumerate(_versions(spec)):
        schema = as_object(version.get("schema")).get(_SCHEMA)
        if schema is not None:
            yield index, schema


def _version_violations(spec: Any, sound: list[tuple[Structural, Place]]) -> Iterator[Violation]:
    """Yield what is wrong in the versions, and put their sound schemas into ``sound``.

    What all have in common the server checks once, as if it were the spec's.
    """
    versions = _versions(spec)
    hoisted = frozenset(
        field for field in _HOISTED if all(_comparable(v, field) == _comparable(versions[0], field) for v in versions)
    )
    status_anywhere = any(_has_status(version) for version in versions)
    schemas = dict(_schemas(spec))
    for index, version in enumerate(versions):
        place = Place(("spec", "versions", index), f"spec.versions[{index}]")
        first = index == 0
        yield from version_violations(
            {key: value for key, value in version.items() if first or key not in hoisted}, place, hoisted
        )
        if index not in schemas:
            yield required(place.child("schema", _SCHEMA))
            continue
        if "schema" in hoisted:
            if first:
                root = Place((*place.path, "schema", _SCHEMA), f"spec.validation.{_SCHEMA}")
                yield from _schema_violations(schemas[0], root, sound, status=status_anywhere)
        else:
            status = _has_status(versions[0] if "subresources" in hoisted else version)
            yield from _schema_violations(schemas[index], place.child("schema", _SCHEMA), sound, status=status)


def _comparable(version: Any, field: str) -> Json:
    """Return a field of a version so that what means the same is equal."""
    value = version.get(field)
    schema = as_object(value).get(_SCHEMA) if field == "schema" else None
    return {_SCHEMA: normal(schema)} if isinstance(schema, dict) else value


def _has_status(version: Any) -> bool:
    return as_object(version.get("subresources")).get("status") is not None


def _schema_violations(
    schema: Any, root: Place, sound: list[tuple[Structural, Place]], *, status: bool
) -> Iterator[Violation]:
    found = [*_root_violations(schema := normal(schema), root, status=status)]
    if not _unreadable(schema):
        broken = structural_violations(schema, root)
        if not broken:
            broken = default_violations(parse(schema, of_defaults=True), root)
            sound += [] if broken else [(_usable(schema), root)]
        found += broken
    found += openapi_violations(schema, root)
    yield from found
    if not found:
        yield from _draft(schema, root)
        yield from _untried(schema, root.path)


def _root_violations(schema: Any, root: Place, *, status: bool) -> Iterator[Violation]:
    first = any(keyword in schema for keyword in ("id", "$schema", "$ref"))  # looked at before the type
    if status and not first and schema.get("type", "object") != "object":
        detail = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        yield invalid(root.child("type"), schema["type"], detail)
    elif status and (others := sorted(set(schema) - _AT_STATUS_ROOT)):
        detail = (
            f"only {_NAMED_AT_STATUS_ROOT} fields are allowed at the root of the schema if the status subresource is"
            " enabled"
        )
        message = f"{others[0]} may not stand at the root of the schema if the status subresource is enabled"
        found = invalid(root.child(others[0]), None, detail)
        yield Violation(found.code, found.path, message, f"{root.text}: Invalid value: {detail}")
    if schema.get("nullable"):
        yield forbidden(root.child("nullable"), "nullable cannot be true at the root")


def _unreadable(schema: Any) -> bool:
    """Tell whether a schema has what no structural schema can be made of; the other rules say so."""
    keywords = ("id", "$schema", "patternProperties", "dependencies", "additionalItems", "definitions", "$ref")
    if any(schema.get(key) or (key == "additionalItems" and key in schema) for key in keywords):
        return True
    if schema.get("x-kubernetes-preserve-unknown-fields") is False or isinstance(schema.get("items"), list):
        return True
    below = [schema.get("items"), schema.get("additionalProperties"), schema.get("not")]
    below += schema.get("properties", {}).values()
    for keyword in ("allOf", "anyOf", "oneOf"):
        below += schema.get(keyword, ())
    return any(isinstance(sub, dict) and _unreadable(sub) for sub in below)


def _draft(schema: Any, root: Place) -> Iterator[Violation]:
    """Yield the violation of $schema, anywhere: no structural schema can be made where it stands."""
    if (steps := _draft_place(schema)) is not None:
        found = invalid(Place((*root.path, *steps), root.text), "", "OpenAPIV3Schema 'schema' is not supported")
        yield Violation(found.code, found.path, "$schema is not supported", found.upstream)


def _draft_place(schema: Any) -> Path | None:
    if not isinstance(schema, dict | list):
        return None
    if isinstance(schema, dict) and isinstance(schema.get("$schema"), str):
        return ("$schema",)
    below: Any = schema.items() if isinstance(schema, dict) else enumerate(schema)
    for key, value in below:
        if key not in ("default", "enum", "example") and (found := _draft_place(value)) is not None:
            return (key, *found)
    return None


def _untried(schema: Json, path: Path) -> Iterator[Violation]:
    """Yield the patterns that cannot be tried here: every text passes them."""
    if isinstance(schema, list):
        for index, item in enumerate(schema):
            yield from _untried(item, (*path, index))
    elif isinstance(schema, dict):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and is_too_large(pattern):
            message = "the pattern is too large to be tried here: every text passes it"
            yield Violation("TC112", (*path, "pattern"), message, "", advisory=True)
        for key, value in schema.items():
            if key not in ("default", "enum", "example"):
                yield from _untried(value, (*path, key))


def _resources(spec: Any) -> Iterator[Resource]:
    names = spec["names"]
    for version in _versions(spec):
        if version.get("served"):
            yield Resource(
                spec["group"],
                version["name"],
                names["kind"],
                spec["scope"] == "Namespaced",
                _has_status(version),
                _usable(normal(version["schema"][_SCHEMA])),
                names["plural"],
            )


def _usable(schema: JsonObject) -> Structural:
    """Parse a schema without the patterns that cannot be tried."""
    return parse(_without_untried(schema))


def _without_untried(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_untried(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    pattern = schema.get("pattern")
    lacking = "pattern" if isinstance(pattern, str) and is_too_large(pattern) else None
    return {key: _without_untried(value) for key, value in schema.items() if key != lacking}
