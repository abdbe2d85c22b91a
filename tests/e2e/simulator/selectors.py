"""Selectors of labels and fields, as query parameters have them.

Source: k8s.io/apimachinery/pkg/labels and pkg/fields; the fields of pods: pkg/apis/core/v1/conversion.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from .errors import ApiError
from .objects import Object

_SET: Final = re.compile(r"^\s*(?P<key>\S+)\s+(?P<not>notin|in)\s*\((?P<values>[^()]*)\)\s*$")
_EQUAL: Final = re.compile(r"^\s*(?P<key>[^\s=!,]+)\s*(?P<op>!=|==|=)\s*(?P<value>[^\s=!,]*)\s*$")
_EXISTS: Final = re.compile(r"^\s*(?P<not>!?)\s*(?P<key>[A-Za-z0-9][-A-Za-z0-9_./]*)\s*$")

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
    "spec.nodeName": ("spec", "nodeName"),
    "spec.restartPolicy": ("spec", "restartPolicy"),
    "spec.serviceAccountName": ("spec", "serviceAccountName"),
    "status.phase": ("status", "phase"),
    "status.podIP": ("status", "podIP"),
}

Test = Callable[[Object], bool]


def by_labels(text: str) -> Test:
    """Return whether an object has the labels that a selector asks for.

    Raises:
        ApiError: The text is no selector (400 BadRequest).
    """
    tests = [_label(part) for part in re.split(r",(?![^(]*\))", text) if part.strip()]
    return lambda found: all(test(found["metadata"].get("labels") or {}) for test in tests)


def by_fields(text: str) -> Test:
    """Return whether an object has the fields that a selector asks for.

    Raises:
        ApiError: The text is no selector, or of a field that cannot be selected by (400 BadRequest).
    """
    tests = [_field(part) for part in text.split(",") if part]
    return lambda found: all(test(found) for test in tests)


def _label(part: str) -> Callable[[Mapping[str, str]], bool]:
    if found := _SET.match(part):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["not"] == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(part):
        key, value, same = found["key"], found["value"], found["op"] != "!="
        return lambda labels: (labels.get(key) == value) is same
    if found := _EXISTS.match(part):
        key, there = found["key"], not found["not"]
        return lambda labels: (key in labels) is there
    raise ApiError(400, "BadRequest", f'unable to parse requirement: found "{part}"')


def _field(part: str) -> Test:
    found = _EQUAL.match(part)
    if found is None:
        raise ApiError(400, "BadRequest", f'invalid selector: "{part}"; can\'t understand "{part}"')
    if found["key"] not in _FIELDS:
        raise ApiError(400, "BadRequest", f"field label not supported: {found['key']}")
    path, value, same = _FIELDS[found["key"]], found["value"], found["op"] != "!="
    return lambda each: (_at(each, path) == value) is same


def _at(found: Any, path: tuple[str, ...]) -> str:
    for name in path:
        found = (found or {}).get(name)
    return str(found or "")
