"""What a Kubernetes API server does with its own kinds, which it decodes into Go's structs.

Unlike custom resources, they are not validated against a schema: a value of another type cannot be decoded, an unknown
field is dropped (kubectl and Argo CD ask for an error), null is an absent field, and a field that OpenAPI calls
required is one that the kind's own validation asks for. Two list items of one key are a matter of server-side apply.

Sources: k8s.io/apimachinery pkg/runtime/serializer/json and pkg/api/resource, k8s.io/kubernetes v1.34 pkg/apis.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from trainc.kube.gotypes import GoDecodeError, decode
from trainc.kube.names import is_dns1035_label, is_dns1123_label, mask_trailing_dash
from trainc.schema.defaulting import default
from trainc.schema.embedded import SEGMENT
from trainc.schema.formats import is_byte
from trainc.schema.listtype import list_errors
from trainc.schema.metadata import read_metadata
from trainc.schema.metarules import SUBDOMAIN, NameRule, object_meta_violations
from trainc.schema.pruning import drop_nulls, prune
from trainc.schema.structural import Resource, Structural
from trainc.schema.violation import Violation
from trainc.schema.wording import misspelt, show, spelled_types, type_hint
from trainc.source import Json, JsonObject, Path, dotted

_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_CLASSES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "array": (list,),
    "object": (dict,),
}
_KINDS = {
    ("string", "byte"): ("[]byte", "base64"),
    ("string", "date-time"): ("Time", "a time as in 2006-01-02T15:04:05Z"),
    ("integer", "int32"): ("int32", "a 32-bit integer"),
    ("integer", "int64"): ("int64", "a 64-bit integer"),
    ("", "quantity"): ("Quantity", "a quantity such as 500m or 2Gi"),
    ("", ""): ("IntOrString", "an integer or a string"),
}
"""Type and format in a schema, Go's type that decodes such a value, and its name in a finding."""


def _masked(rule: NameRule) -> tuple[NameRule, NameRule]:
    return rule, lambda prefix: rule(mask_trailing_dash(prefix))


NAME_RULES: Final[dict[str, tuple[NameRule, NameRule]]] = {
    "ClusterRole": SEGMENT,
    "ClusterRoleBinding": SEGMENT,
    "Role": SEGMENT,
    "RoleBinding": SEGMENT,
    "Namespace": _masked(is_dns1123_label),
    "Service": _masked(is_dns1035_label),
}
"""The rules for names of kinds whose names are not subdomains."""


def read_native(resource: Resource, data: JsonObject) -> tuple[JsonObject, tuple[Path, ...], tuple[Violation, ...]]:
    """Return a whole object as the server goes on with it, the paths of unknown fields, and what is wrong.

    Where anything cannot be decoded, the object comes back as it was.
    """
    named, unknown, refusal = read_metadata(resource, data)
    if refusal is not None:
        return data, (), (refusal,)
    metadata = named.get("metadata", {})
    assert isinstance(metadata, dict), "Go has decoded it"
    found = list(
        object_meta_violations(
            metadata, namespaced=resource.namespaced, name_rules=NAME_RULES.get(resource.kind, SUBDOMAIN)
        )
    )
    pruned, dropped = prune(resource.schema, named)
    undecodable = False
    for name, schema in resource.schema.properties.items():
        if data.get(name) is not None:
            of_status = resource.status and name == "status"
            for violation in _violations(schema, data[name], (name,), complete=not of_status):
                found.append(violation)
                undecodable |= violation.decode
    found += _missing(resource.schema, data, ())
    if undecodable:
        return data, (*unknown, *dropped), tuple(found)
    filled = default(resource.schema, drop_nulls(resource.schema, pruned))
    assert isinstance(filled, dict), "an object stays one"
    if resource.status:
        filled = {key: value for key, value in filled.items() if key != "status"}
    return filled, (*unknown, *dropped), tuple(found)


def _violations(schema: Structural, value: Any, path: Path, *, complete: bool) -> Iterator[Violation]:
    """Yield what is wrong with a value that is not null. ``complete``: what is required must be there."""
    if schema.int_or_string:
        yield from _scalar(schema, value, path)
    elif schema.type and value.__class__ not in _CLASSES[schema.type]:
        yield _mistyped(schema, value, path)
    elif isinstance(value, dict):
        if complete:
            yield from _missing(schema, value, path)
        for key, item in value.items():
            child = schema.properties.get(key) or schema.additional
            if child is not None and item is not None:
                yield from _violations(child, item, (*path, key), complete=complete)
    elif isinstance(value, list):
        if schema.items is not None:
            for index, item in enumerate(value):
                given: Json = {} if item is None and schema.items.type == "object" else item
                if given is not None:
                    yield from _violations(schema.items, given, (*path, index), complete=complete)
        yield from _repeated(schema, value, path)
    else:
        yield from _scalar(schema, value, path)


def _scalar(schema: Structural, value: Any, path: Path) -> Iterator[Violation]:
    form = schema.keywords.get("format", "")
    if (schema.type, form) not in _KINDS:
        return
    go_type, wanted = _KINDS[schema.type, form]
    if _decodes(value, go_type):
        return
    code = "TC105" if go_type.startswith("int") else "TC102" if go_type == "IntOrString" else "TC106"
    yield Violation(code, path, f"{dotted(path)} must be {wanted}", "", found=show(value), expected=wanted, decode=True)


def _decodes(value: Json, go_type: str) -> bool:
    """Tell whether Go can read a value; of bytes, whether it is base64 but for line breaks, as Go reads it."""
    if go_type == "[]byte":
        text = str(value).replace("\r", "").replace("\n", "")
        return not text or is_byte(text)
    try:
        decode(value, go_type)
    except GoDecodeError:
        return False
    return True


def _mistyped(schema: Structural, value: Any, path: Path) -> Violation:
    wanted = spelled_types(schema.type)
    hint = type_hint([schema.type], value)
    return Violation(
        "TC102",
        path,
        f"{dotted(path)} must be {wanted}",
        "",
        found=show(value),
        expected=wanted,
        hint=hint,
        decode=True,
    )


def _missing(schema: Structural, value: dict[str, Any], path: Path) -> Iterator[Violation]:
    for name in schema.keywords.get("required", ()):
        if value.get(name) is None:
            place = dotted(path) or "the document"
            hint = misspelt(name, value, schema.properties)
            yield Violation("TC103", path, f"{place} lacks {name}", "", expected=name, hint=hint)


def _repeated(schema: Structural, items: list[Any], path: Path) -> Iterator[Violation]:
    """Yield the items whose key, defaults counted, is that of an item before them; nulls have none."""
    kind = schema.keywords.get(_LIST_TYPE)
    keys = schema.keywords.get(_LIST_KEYS, ())
    if kind == "map":
        if schema.items is None or not all(isinstance(item, dict) for item in items):
            return
        items = [default(schema.items, item) for item in items]
        if any(item.get(key) is None for item in items for key in keys):
            return
    elif kind != "set":
        return
    named = " and ".join(keys) if kind == "map" else "value"
    for failure in list_errors(schema.keywords, items):
        place = (*path, failure.at)
        yield Violation(
            "TC107",
            place,
            f"{dotted(place)} has the same {named} as an item before it: server-side apply refuses that",
            "",
            found=show(failure.value),
            expected=f"items of different {named}",
            advisory=True,
        )
