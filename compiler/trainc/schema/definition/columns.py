"""Columns for kubectl and the scale subresource of a CRD.

Source of the rules: k8s.io/apiextensions-apiserver v0.34 pkg/apis/apiextensions/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainc.schema.definition.place import Place, invalid, required
from trainc.schema.violation import Violation
from trainc.source import as_object

_TYPES = "boolean,date,integer,number,string"
_FORMATS = "byte,date,date-time,double,float,int32,int64,password"


def column_violations(columns: Any, place: Place) -> Iterator[Violation]:
    """Yield what is wrong with additionalPrinterColumns."""
    for index, column in enumerate(columns):
        at = place.index(index)
        kind, form = column.get("type") or "", column.get("format") or ""
        if not column.get("name"):
            yield required(at.child("name"))
        if not kind:
            yield required(at.child("type"), f"must be one of {_TYPES}")
        elif kind not in _TYPES.split(","):
            yield invalid(at.child("type"), kind, f"must be one of {_TYPES}")
        if form and form not in _FORMATS.split(","):
            yield invalid(at.child("format"), form, f"must be one of {_FORMATS}")
        yield from _json_path(column.get("jsonPath") or "", Place((*at.path, "jsonPath"), f"{at.text}.JSONPath"))


def scale_violations(subresources: Any, place: Place) -> Iterator[Violation]:
    """Yield what is wrong with the scale subresource."""
    if subresources.get("scale") is None:
        return
    scale: Any = as_object(subresources["scale"])
    at = place.child("scale")
    for field, root in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        yield from _json_path(scale.get(field) or "", at.child(field), root)
    selector = scale.get("labelSelectorPath") or ""
    if selector:
        yield from _json_path(selector, at.child("labelSelectorPath"), ".spec.", ".status.")


def _json_path(path: str, place: Place, *roots: str) -> Iterator[Violation]:
    if not path:
        yield required(place)
    elif not path.startswith("."):
        yield invalid(place, path, "must be a simple json path starting with .")
    elif roots and not path.startswith(roots):
        either = "either " if len(roots) > 1 else ""
        under = " or ".join(root.rstrip(".") for root in roots)
        yield invalid(place, path, f"should be a json path under {either}{under}")
