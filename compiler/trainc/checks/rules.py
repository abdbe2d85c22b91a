"""Rules for values that many fields of a pod share, as Kubernetes 1.34 words them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.checks.problem import Place, Problem
from trainc.kube.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name, is_valid_label_value
from trainc.source import Json, JsonObject, as_list, as_object, get, objects

MAX_ID = 2**31 - 1
MAX_PORT = 65535
MAX_MODE = 0o777
MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def text(value: Json, *path: str | int) -> str:
    """Return the string at path, empty where it is absent: Go's types know no difference."""
    found = get(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Json, *path: str | int) -> int | None:
    """Return the integer at path, or None."""
    found = get(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def between(low: int, high: int) -> str:
    """Return the detail of a number out of range."""
    return f"must be between {low} and {high}, inclusive"


def dns_label(place: Place, value: str) -> Iterator[Problem]:
    """Check a DNS label."""
    return place.each_invalid(value, is_dns1123_label(value))


def dns_subdomain(place: Place, value: str) -> Iterator[Problem]:
    """Check a DNS subdomain, the name of most objects."""
    return place.each_invalid(value, is_dns1123_subdomain(value))


def qualified_name(place: Place, value: str) -> Iterator[Problem]:
    """Check the key of a label."""
    return place.each_invalid(value, map(_as_in_134, is_qualified_name(value)))


def label_value(place: Place, value: str) -> Iterator[Problem]:
    """Check the value of a label."""
    return place.each_invalid(value, label_value_details(value))


def label_value_details(value: str) -> list[str]:
    """Return what is wrong with the value of a label."""
    return [_as_in_134(detail) for detail in is_valid_label_value(value)]


def labels(place: Place, values: Mapping[str, Json]) -> Iterator[Problem]:
    """Check labels, in order of their keys; each problem lies at its key, and is named after all of them."""
    for key in sorted(values):
        yield from qualified_name(place.within(key), key)
        yield from label_value(place.within(key), str(values[key]))


def _as_in_134(detail: str) -> str:
    """Return a detail in the words of Kubernetes 1.34; kube/names.py has those of Trainer's own libraries (1.36)."""
    return detail.replace(" bytes", " characters").replace("a valid label key must", "a qualified name must")


def label_selector(place: Place, selector: Json) -> Iterator[Problem]:
    """Check a label selector; an absent one is fine."""
    yield from labels(place.child("matchLabels"), as_object(get(selector, "matchLabels")))
    for index, requirement in enumerate(objects(get(selector, "matchExpressions"))):
        yield from requirement_problems(place.child("matchExpressions").index(index), requirement)


def requirement_problems(place: Place, requirement: JsonObject, *, node: bool = False) -> Iterator[Problem]:
    """Check one expression of a selector; ``node`` allows those that only nodes are selected by."""
    operator, values = text(requirement, "operator"), as_list(requirement.get("values"))
    at = place.child("values")
    if operator in ("In", "NotIn"):
        if not values:
            yield at.required("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield at.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif node and operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield at.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield place.child("operator").invalid(operator, "not a valid selector operator", typed=True)
    yield from qualified_name(place.child("key"), text(requirement, "key"))
    for index, value in enumerate(values):
        yield from label_value(at.index(index), str(value))


def id_in_range(place: Place, value: Json) -> Iterator[Problem]:
    """Check the number of a user or a group."""
    if isinstance(value, int) and not 0 <= value <= MAX_ID:
        yield place.invalid(value, between(0, MAX_ID))


def mode(place: Place, value: Json) -> Iterator[Problem]:
    """Check the permissions of a file."""
    if isinstance(value, int) and not 0 <= value <= MAX_MODE:
        yield place.invalid(value, MODE)


def no_backsteps(place: Place, path: str) -> Iterator[Problem]:
    """Check that no step of a path goes up."""
    if ".." in path.split("/"):
        yield place.invalid(path, "must not contain '..'")


def descending(place: Place, path: str) -> Iterator[Problem]:
    """Check a path that stays below where it starts."""
    if path.startswith("/"):
        yield place.invalid(path, "must be a relative path")
    yield from no_backsteps(place, path)


def file_below(place: Place, path: str) -> Iterator[Problem]:
    """Check the path of a file that Kubernetes writes into a volume."""
    yield from descending(place, path)
    if path.startswith("..") and not path.startswith("../"):
        yield place.invalid(path, "must not start with '..'")
