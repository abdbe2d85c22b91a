"""Metadata of objects, and whole objects inside others (x-kubernetes-embedded-resource).

The API server decodes metadata into a Go struct before it applies any schema, and validates it by rules.

Sources of the rules: k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/schema/objectmeta and
customresource_handler.go; k8s.io/apimachinery v0.36 pkg/api/validation/objectmeta.go, as the create strategy of custom
resources calls it. managedFields are ignored: a server replaces them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted, get, put_all
from trainc.kube.fielderror import go_value, invalid
from trainc.kube.gojson import go_json
from trainc.kube.gotypes import GoDecodeError, decode, fields, unknown_fields
from trainc.kube.names import (
    TOTAL_ANNOTATION_SIZE_LIMIT,
    is_dns1035_label,
    is_dns1123_label,
    is_dns1123_subdomain,
    is_kube_finalizer,
    is_qualified_name,
    mask_trailing_dash,
    validate_annotations,
    validate_labels,
)
from trainc.schema.structural import Structural
from trainc.schema.wording import ARTICLES, Violation, show, type_hint, wrong_type

OBJECT_META = "v1.ObjectMeta"
"""The Go type of metadata."""

NameRule = Callable[[str], tuple[str, ...]]
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"


def _segment_prefix(name: str) -> tuple[str, ...]:
    return tuple(f"may not contain '{char}'" for char in "/%" if char in name)


def _segment(name: str) -> tuple[str, ...]:
    return (f"may not be '{name}'",) if name in (".", "..") else _segment_prefix(name)


SEGMENT: tuple[NameRule, NameRule] = (_segment, _segment_prefix)
"""The rules for names that must only fit into a URL, and for prefixes of them (generateName)."""


def _masked(rule: NameRule) -> tuple[NameRule, NameRule]:
    return rule, lambda prefix: rule(mask_trailing_dash(prefix))


SUBDOMAIN = _masked(is_dns1123_subdomain)
"""The rules for the names of custom resources, and for prefixes of them."""

NAME_RULES: Final[dict[str, tuple[NameRule, NameRule]]] = {
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), SEGMENT),
    "Namespace": _masked(is_dns1123_label),
    "Service": _masked(is_dns1035_label),
}
"""The rules for names of built-in kinds whose names are not subdomains."""


def read_metadata(data: JsonObject, *, namespaced: bool) -> tuple[JsonObject, tuple[Path, ...], Violation | None]:
    """Return data with its metadata as the API server decodes it, the dropped paths, and the error of decoding it.

    Unknown, empty and null fields are dropped, and so is the namespace of a cluster-scoped kind.
    """
    if "metadata" not in data:
        return data, (), None
    given = data["metadata"]
    try:
        metadata = decode(given, OBJECT_META)
    except GoDecodeError as error:
        return data, (), undecodable(("metadata", *error.path), get(data, "metadata", *error.path), error)
    assert isinstance(metadata, dict), "a struct is written as an object"
    if not namespaced and "namespace" in metadata:
        metadata = {key: value for key, value in metadata.items() if key != "namespace"}
    if metadata == given:
        return data, (), None
    return (
        {**data, "metadata": metadata},
        tuple(unknown_fields(given, OBJECT_META, ("metadata",))),
        None,
    )


_TYPES = {
    "string": "string",
    "types.UID": "string",
    "bool": "boolean",
    **dict.fromkeys(("int", "int32", "int64"), "integer"),
}
"""The JSON types of scalars, by Go type."""


def undecodable(path: Path, value: Json, error: GoDecodeError, upstream: str | None = None) -> Violation:
    """Return the violation of a value that Go cannot decode; ``upstream`` defaults to Go's text."""
    upstream = error.message if upstream is None else upstream
    if not error.go_type:
        message = f"{dotted(path)} cannot be decoded: {error.message}"
        return Violation("TC108", path, message, upstream, show(value), decode=True)
    kind = "array" if error.go_type.startswith("[]") else _TYPES.get(error.go_type, "object")
    expected = ARTICLES.get(kind, f"a {kind}")
    violation = wrong_type("TC108", path, upstream, value, expected=expected, hint=type_hint([kind], value))
    return replace(violation, blocking=False, decode=True)


def object_meta_violations(
    metadata: JsonObject,
    *,
    namespaced: bool,
    path: Path = ("metadata",),
    name_rules: tuple[NameRule, NameRule] = SUBDOMAIN,
) -> tuple[Violation, ...]:
    """Return the violations of metadata that Go has decoded and encoded.

    ``namespaced``: the object has a namespace; if it is absent, it is the request's, which is valid. ``name_rules``:
    for a name, and for the beginning of one.
    """
    found: list[Violation] = []

    def check(key: str, rule: NameRule, message: str) -> None:
        value = str(metadata.get(key) or "")
        for detail in rule(value) if value else ():
            here = (*path, key)
            found.append(_violation(here, message, invalid(dotted(here), value, detail), value, detail))

    check("generateName", name_rules[1], "is not the beginning of a valid name")
    check("name", name_rules[0], "is not a valid name")
    if not metadata.get("name"):
        upstream = f"{dotted((*path, 'name'))}: Required value: name or generateName is required"
        message = f"{dotted((*path, 'name'))} is missing"
        found.append(Violation("TC103", path, message, upstream, expected="name", blocking=True))
    if namespaced:
        check("namespace", is_dns1123_label, "is not a valid name of a namespace")
    elif namespace := metadata.get("namespace"):
        upstream = f"{dotted(path)}.namespace: Forbidden: not allowed on this type"
        found.append(_violation((*path, "namespace"), "is not allowed on this kind", upstream, namespace))
    generation: Any = metadata.get("generation", 0)
    if generation < 0:
        upstream = invalid(f"{dotted(path)}.generation", generation, "must be greater than or equal to 0")
        found.append(_violation((*path, "generation"), "must not be negative", upstream, generation))
    for field, violations_of in _FIELDS.items():
        if field in metadata:
            found += violations_of(metadata[field], (*path, field))
    return tuple(found)


def _violation(path: Path, message: str, upstream: str, value: Any, expected: str | None = None) -> Violation:
    return Violation("TC108", path, f"{dotted(path)} {message}", upstream, found=show(value), expected=expected)


def _label_violations(labels: Any, path: Path) -> Iterator[Violation]:
    for key in sorted(labels):
        for number, upstream in enumerate(validate_labels({key: labels[key]}, dotted(path))):
            at_fault = key if number < len(is_qualified_name(key)) else labels[key]
            yield _keyed(path, key, "is not a valid label", upstream, at_fault)


def _annotation_violations(annotations: Any, path: Path) -> Iterator[Violation]:
    size = 0
    for key in sorted(annotations):
        size += len(key.encode()) + len(annotations[key].encode())
        for upstream in validate_annotations({key: ""}, dotted(path)):
            yield _keyed(path, key, "is not a valid annotation key", upstream, key)
    if size > TOTAL_ANNOTATION_SIZE_LIMIT:
        limit = f"may not be more than {TOTAL_ANNOTATION_SIZE_LIMIT} bytes"
        upstream = f"{dotted(path)}: Too long: {limit}"
        message = f"{dotted(path)} exceed the total size limit"
        yield Violation("TC108", path, message, upstream, f"{size} bytes", limit, blocking=True)


def _keyed(path: Path, key: str, message: str, upstream: str, value: Any) -> Violation:
    """Return the violation of an entry; in the server's text, the expected form follows the value."""
    text, expected = f'{dotted(path)} "{key}" {message}', upstream.partition('": ')[2]
    return Violation("TC108", (*path, key), text, upstream, show(value), expected)


_WHOLE: Final = 4
"""The most errors on further controllers with the server's texts, which show all owners and the first controller.

Others name only the further one: their texts would grow with the square of the owners.
"""


def _owner_violations(owners: Any, path: Path) -> Iterator[Violation]:
    """Check owners. The server's texts have no index, so they may repeat; the paths have it."""
    text, every = dotted(path), ""
    controller, further = "", 0
    for index, owner in enumerate(owners):
        here = (*path, index)
        version = owner["apiVersion"]
        group, slash, name = version.partition("/")
        read = "" if "/" in name else name if slash else group
        checks = {"apiVersion": (read, "version must not be empty")}
        checks.update({key: (owner[key], "must not be empty") for key in ("kind", "name", "uid")})
        for key, (value, detail) in checks.items():
            if not value:
                upstream = invalid(f"{text}.{key}", owner[key], detail)
                yield _violation((*here, key), detail, upstream, owner[key])
        if version == "v1" and owner["kind"] == "Event":
            upstream = f"{text}: Invalid value: {_struct(owner)}: /v1, Kind=Event is disallowed from being an owner"
            yield _violation(here, "is an Event, which may not own anything", upstream, owner)
        if owner.get("controller"):
            current = f"{owner['kind']}/{owner['name']}"
            if controller:
                detail = 'Only one reference can have Controller set to true. Found "true" in references for'
                further += 1
                every = every or f"[{','.join(map(_struct, owners))}]"
                known = f"{every}: {detail} {controller} and {current}" if further <= _WHOLE else f"{detail} {current}"
                upstream = f"{text}: Invalid value: {known}"
                yield _violation(here, "is a second controller", upstream, owner)
            controller = controller or current


def _struct(owner: JsonObject) -> str:
    ordered = (key for key in fields("v1.OwnerReference") if key in owner)
    return "{" + ",".join(f"{go_json(key)}:{go_json(owner[key])}" for key in ordered) + "}"


def _finalizer_violations(finalizers: Any, path: Path) -> Iterator[Violation]:
    text = dotted(path)
    for index, finalizer in enumerate(finalizers):
        for detail in is_qualified_name(finalizer):
            upstream = invalid(text, finalizer, detail)
            yield _violation((*path, index), "is not a valid finalizer", upstream, finalizer, detail)
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        detail = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
        upstream = f"{text}: Invalid value: {go_value(finalizers)}: {detail}"
        yield _violation(path, f"hold both {_ORPHAN} and {_FOREGROUND}", upstream, finalizers)


_ANY_FINALIZER: Final = ("PodDisruptionBudget", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
"""The built-in kinds whose finalizers need no domain, as for custom resources."""


def finalizer_violations(kind: str, metadata: JsonObject) -> Iterator[Violation]:
    """Yield the violations of finalizers that only built-in kinds have (validateKubeFinalizerName)."""
    for index, finalizer in enumerate(map(str, as_list(metadata.get("finalizers")))):
        for detail in () if kind in _ANY_FINALIZER else is_kube_finalizer(finalizer):
            path: Path = ("metadata", "finalizers", index)
            upstream = invalid(dotted(path), finalizer, detail)
            yield _violation(path, "has no domain", upstream, finalizer, f"a form such as example.com/{finalizer}")


_FIELDS: Final[dict[str, Callable[[Any, Path], Iterator[Violation]]]] = {
    "labels": _label_violations,
    "annotations": _annotation_violations,
    "ownerReferences": _owner_violations,
    "finalizers": _finalizer_violations,
}
"""The checks of metadata by field."""


def read_embedded(schema: Structural, data: JsonObject) -> tuple[JsonObject, tuple[Path, ...], Violation | None]:
    """Return data with the metadata of embedded objects as Go decodes it, the dropped paths, and the first error.

    Go decodes apiVersion, kind and metadata of an embedded object.
    """
    rewritten, dropped = dict[Path, Json](), list[Path]()
    for value, path, text in _embedded(schema, data, (), ""):
        for key in ("apiVersion", "kind"):
            if not isinstance(value.get(key, ""), str):
                upstream = f"{text}.{key}: Invalid value: {go_value(value[key])}: must be a string"
                here = (*path, key)
                return data, (), undecodable(here, value[key], GoDecodeError(here, "", "string"), upstream)
        if "metadata" not in value:
            continue
        given, inner = value["metadata"], (*path, "metadata")
        try:
            metadata = decode(given, OBJECT_META)
        except GoDecodeError as error:
            upstream = f"{text}.metadata: Invalid value: {go_value(given)}: {error.message}"
            return data, (), undecodable((*inner, *error.path), get(given, *error.path), error, upstream)
        dropped += ((*inner, *unknown) for unknown in unknown_fields(given, OBJECT_META))
        if metadata != given:
            rewritten[inner] = metadata
    return (as_object(put_all(data, rewritten)) if rewritten else data), tuple(dropped), None


def embedded_violations(schema: Structural, data: JsonObject) -> Iterator[Violation]:
    """Yield the violations of apiVersion, kind and metadata of embedded objects."""
    for value, path, text in _embedded(schema, data, (), ""):
        yield from _type_violations(value, path, text)
        if isinstance(metadata := value.get("metadata"), dict):
            inner, named = (*path, "metadata"), {"name": "fakename", **metadata}  # an embedded object needs no name
            spaced = "namespace" in metadata
            for wrong in object_meta_violations(named, namespaced=spaced, path=inner, name_rules=SEGMENT):
                upstream = str(wrong.upstream).replace(dotted(inner), f"{text}.metadata", 1)
                yield replace(wrong, upstream=upstream)


def _embedded(schema: Structural, value: Json, path: Path, text: str) -> Iterator[tuple[JsonObject, Path, str]]:
    """Yield embedded objects, outermost first, with their paths and the server's spelling of the paths."""
    if isinstance(value, dict):
        if schema.embedded:
            yield value, path, text
        for key, item in value.items():
            if (child := schema.child(key)) is not None:
                spelt = f"{text}.{key}".lstrip(".") if key in schema.properties else f"{text}[{key}]"
                yield from _embedded(child, item, (*path, key), spelt)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            yield from _embedded(schema.items, item, (*path, index), f"{text}[{index}]")


def _type_violations(value: JsonObject, path: Path, text: str) -> Iterator[Violation]:
    for key in ("apiVersion", "kind"):
        here = (*path, key)
        if key not in value:
            upstream = f"{text}.{key}: Required value"
            yield Violation("TC103", path, f"{dotted((*path, key))} is missing", upstream, expected=key, blocking=True)
            continue
        name = str(value[key])
        details = [] if name else ["must not be empty"]
        if key == "apiVersion":
            details += [f"unexpected GroupVersion string: {name}"] if name.count("/") > 1 else []
        elif name and (wrong := is_dns1035_label(name.lower())):
            details.append(f"may have mixed case, but should otherwise match: {','.join(wrong)}")
        for detail in details:
            upstream = f"{text}.{key}: Invalid value: {go_value(name)}: {detail}"
            yield Violation("TC106", here, f"{dotted(here)} {detail}", upstream, found=name)
