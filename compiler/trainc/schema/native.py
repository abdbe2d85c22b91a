"""Validates built-in kinds as an API server does, which decodes them into Go's structs.

Unlike custom resources, they are not validated against a schema: a value of another type cannot be decoded, an unknown
field is dropped (kubectl and Argo CD request an error), null is an absent field, and a field that is required in
OpenAPI is one that the kind's own validation requires. Only server-side apply rejects two list items with one key.

Sources: k8s.io/apimachinery pkg/runtime/serializer/json and pkg/api/resource, k8s.io/kubernetes v1.34 pkg/apis.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from trainc.basics.jsonvalues import Json
from trainc.kube.gotypes import GoDecodeError, decode
from trainc.kube.strfmt import is_byte
from trainc.schema.values import CLASSES, NUMERIC, Mismatch
from trainc.schema.walk import Node, Part
from trainc.schema.wording import GO_TYPE, LIST_KEYS, LIST_TYPE, UNKNOWN, Failure, Failures, Visit

_GO_TYPES = {
    ("string", "byte"): ("[]byte", "TC106", "base64"),
    ("string", "date-time"): ("Time", "TC106", "a time as in 2006-01-02T15:04:05Z"),
    ("integer", "int32"): ("int32", "TC105", "a 32-bit integer"),
    ("integer", "int64"): ("int64", "TC105", "a 64-bit integer"),
    ("", "quantity"): ("Quantity", "TC106", "a quantity such as 500m or 2Gi"),
    ("", ""): ("IntOrString", "TC102", "an integer or a string"),
}
"""By type and format in a schema: the Go type that decodes the value, the code of a finding, the name of the type."""

_ZEROS: Final[Mapping[str, Json]] = {"object": {}, "string": "", "integer": 0, "number": 0, "boolean": False}
"""Type to Go's zero value. That of a list is null."""


class NativeNode(Node):
    """The schema of a value that Go decodes."""

    def visit_null_item(self, failures: Failures) -> Any:
        """Return Go's zero value, as which a null in a list is stored, or in a mapping of keys with any name."""
        zero = "0" if self.schema.keywords.get("format") == "quantity" else _ZEROS.get(self.schema.type)
        return zero if zero is None else self.visit(zero, failures)

    def _field(self, key: str) -> Part:
        part = super()._field(key)
        if self.schema.additional is None or key in self.schema.properties:
            return part

        def visit_null(_value: Any, failures: Failures) -> Any:
            return part.visit_null_item(failures)

        return Part(lambda cls: visit_null if cls is type(None) else part.visits[cls])

    def _make_visit(self, cls: type) -> Visit:
        usual = super()._make_visit(cls)
        if cls is type(None) or self._takes(cls):
            return usual

        def visit(value: Any, failures: Failures) -> Any:
            unknown = Failures(failures.work)
            stored = usual(value, unknown)
            failures += (failure for failure in unknown if failure.keyword == UNKNOWN)
            if self._go_type is not None and self.schema.int_or_string:
                failures.append(Failure(GO_TYPE, value, self.schema, self._go_type[1:]))
            else:
                failures.append(Failure("type", value, self.schema, Mismatch(self.schema.type, "")))
            return stored

        return visit

    def _takes(self, cls: type) -> bool:
        """Return whether values of a class are of the schema's type; an int or string is decoded."""
        if self.schema.int_or_string:
            return cls not in (dict, list)
        kind = self.schema.type
        return not kind or (cls in (int, float) if kind in NUMERIC else cls is CLASSES[kind])

    @property
    def _go_type(self) -> tuple[str, str, str] | None:
        """The row of _GO_TYPES of a scalar."""
        if not self.schema.type and not self.schema.int_or_string:
            return None
        return _GO_TYPES.get((self.schema.type, self.schema.keywords.get("format", "")))

    def checks(self, cls: type) -> tuple[list[Visit], list[Visit]]:
        """Return the checks of values of a class, all of which follow the checks of their parts."""
        if cls is dict:
            return [], []
        if cls is list:
            return [], [self._check_list_type] if self.schema.keywords.get(LIST_TYPE) in ("set", "map") else []
        return [], [self._check_decoding] if self._go_type is not None else []

    def _check_decoding(self, value: Any, failures: Failures) -> Any:
        assert self._go_type is not None
        go_type, *words = self._go_type
        if not _decodes(value, go_type):
            failures.append(Failure(GO_TYPE, value, self.schema, words))
        return value

    def _check_list_type(self, value: list[Any], failures: Failures) -> list[Any]:
        """Check that the keys of items, including defaults, differ; items without a key are skipped."""
        keys = self.schema.keywords.get(LIST_KEYS, ())
        if self.schema.keywords[LIST_TYPE] == "set" or all(
            isinstance(item, dict) and all(item.get(key) is not None for key in keys) for item in value
        ):
            super()._check_list_type(value, failures)
        return value


def _decodes(value: Json, go_type: str) -> bool:
    """Return whether Go can decode a value. Bytes must be base64; line breaks are ignored, as by Go."""
    if go_type == "[]byte":
        text = str(value).replace("\r", "").replace("\n", "")
        return not text or is_byte(text)
    try:
        decode(value, go_type)
    except GoDecodeError:
        return False
    return True
