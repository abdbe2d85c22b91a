"""Defaults in the schemas of a CRD: each must fit the schema that it stands in.

Source of the rules: k8s.io/apiextensions-apiserver v0.34 pkg/apiserver/schema/defaulting/validation.go. Defaults inside
the metadata of embedded objects, which are tried there inside an object made up around them, and the CEL rules that a
default must fulfil are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainc.records import replace
from trainc.schema.definition.place import CODE, Place, invalid
from trainc.schema.embedded import EmbeddedError, embedded_violations, read_embedded
from trainc.schema.judge import is_clean
from trainc.schema.pruning import OBJECT_FIELDS, prune, prune_value
from trainc.schema.structural import Structural
from trainc.schema.violation import Violation
from trainc.source import Json

NO_FIELD = "<nil>"
_LIST_MAP = "for an array of list-type map"
_EMBEDDED = "x-kubernetes-embedded-resource"


def default_violations(schema: Structural, place: Place) -> list[Violation]:
    """Return what is wrong with the defaults of a structural schema, the root of a version."""
    root = Structural({**schema.keywords, _EMBEDDED: True}, schema.table, schema.number)
    return list(_violations(root, place, whole=True))


def _violations(schema: Structural, place: Place, *, whole: bool) -> Iterator[Violation]:
    if schema.default is not None:
        yield from _own(schema, place.child("default"), whole=whole)
    if schema.items is not None:
        yield from _violations(schema.items, place.child("items"), whole=schema.items.embedded)
    for name, sub in schema.properties.items():
        if not (whole and name in OBJECT_FIELDS):
            yield from _violations(sub, place.child("properties").key(name), whole=sub.embedded)


def _own(schema: Structural, place: Place, *, whole: bool) -> Iterator[Violation]:
    value = schema.default
    kept, _ = prune(schema, value) if whole else prune_value(schema, value)
    if kept != value:
        yield invalid(place, value, "must not have unknown fields")
    try:
        read_embedded(schema, value)
    except EmbeddedError as error:
        yield _placed(error.violation, place)
        return
    found = embedded_violations(schema, value)
    if not found and not is_clean(schema, value):
        found = _explained(schema, value)
    for violation in found:
        yield _placed(violation, place)


def _explained(schema: Structural, value: Json) -> tuple[Violation, ...]:
    from trainc.schema.explain import explain

    # Two items of one key are not looked for in defaults.
    return tuple(v for v in explain(schema, value) if v.code != "TC107" and not v.upstream.endswith(_LIST_MAP))


def _placed(violation: Violation, place: Place) -> Violation:
    """Move a violation of a default's value to where the default stands."""
    text = violation.upstream
    if text.startswith(f"{NO_FIELD}: "):
        text = f"{place.text}{text.removeprefix(NO_FIELD)}"
    else:
        text = f"{place.text}{'' if text.startswith('.') else '.'}{text}"
    message = violation.message.replace("the document", "default", 1)
    joined = message if message.startswith("default") else f"default: {message}"
    return replace(violation, code=CODE, path=(*place.path, *violation.path), message=joined, upstream=text)
