"""Fields of objects and what is wrong with them, in the words of Kubernetes' field errors (1.34)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects
from trainc.findings.fault import Fault
from trainc.kube.fielderror import go_value, quote
from trainc.kube.gojson import go_json
from trainc.kube.names import is_dns1123_label, is_dns1123_subdomain, is_qualified_name, is_valid_label_value

NOT_NEGATIVE = "must be greater than or equal to 0"


class Field(msgspec.Struct, frozen=True):
    """A field of an object: its path, and its name in the server's Go code, which may differ from the path."""

    code: str
    path: Path
    name: str

    def coded(self, code: str) -> Field:
        """Return the field with another code for its problems."""
        return Field(code, self.path, self.name)

    def child(self, *names: str) -> Field:
        """Return the field of that name, or the one below it for further names."""
        return Field(self.code, (*self.path, *names), ".".join((self.name, *names)))

    def index(self, index: int) -> Field:
        """Return an item of the list."""
        return Field(self.code, (*self.path, index), f"{self.name}[{index}]")

    def key(self, key: str) -> Field:
        """Return an entry of the map."""
        return Field(self.code, (*self.path, key), f"{self.name}[{key}]")

    def within(self, *path: str | int) -> Field:
        """Return a field below this one for which the server uses this field's name."""
        return Field(self.code, (*self.path, *path), self.name)

    def named(self, name: str) -> Field:
        """Return the field with another name."""
        return Field(self.code, self.path, name)

    def items(self, parent: Json, name: str) -> Iterator[tuple[Field, JsonObject]]:
        """Yield the objects in the list ``name`` of ``parent``, the value of this field, each with its own field."""
        at = self.child(name)
        return ((at.index(index), item) for index, item in enumerate(objects(get(parent, name))))

    def one_of(self, parent: Json, name: str, supported: Sequence[str]) -> Iterator[Fault]:
        """Yield the problem if ``name`` of ``parent``, the value of this field, is set and not supported."""
        if (value := text(parent, name)) and value not in supported:
            yield self.child(name).unsupported(value, supported)

    def not_negatives(self, parent: JsonObject, names: Iterable[str]) -> Iterator[Fault]:
        """Yield a problem for each of ``names`` that is negative in ``parent``, the value of this field."""
        for name in names:
            yield from self.child(name).not_negative(parent.get(name))

    def required(self, detail: str = "") -> Fault:
        """Return the problem of a missing or empty value."""
        text = f"{self.name}: Required value"
        return Fault(self.code, self.path, detail or "a value is required", f"{text}: {detail}" if detail else text)

    def forbidden(self, detail: str) -> Fault:
        """Return the problem of a field that must not be set."""
        return Fault(self.code, self.path, detail, f"{self.name}: Forbidden: {detail}")

    def invalid(self, value: Json, detail: str, *, typed: bool = False) -> Fault:
        """Return the problem of a wrong value. ``typed``: its Go type is a named string, which Go writes as JSON."""
        shown = go_json(value) if typed else go_value(value, struct=True)
        return self._valued("Invalid value", shown, detail, value)

    def each_invalid(self, value: str, details: Iterable[str]) -> Iterator[Fault]:
        """Yield a problem for everything that is wrong with a value."""
        return (self.invalid(value, detail) for detail in details)

    def unsupported(self, value: Json, supported: Sequence[str]) -> Fault:
        """Return the problem of a value that is not one of those supported, which are listed in the order given."""
        detail = f"supported values: {', '.join(map(quote, supported))}"
        return self._valued("Unsupported value", go_json(value), detail, value)

    def duplicate(self, value: Json) -> Fault:
        """Return the problem of a value that occurs twice."""
        return self._valued("Duplicate value", go_value(value), "", value, "is there twice")

    def not_found(self, value: str, detail: str = "", ours: str = "") -> Fault:
        """Return the problem of a name for which nothing exists."""
        return self._valued("Not found", quote(value), detail, value, ours)

    def too_many(self, count: int, limit: int) -> Fault:
        """Return the problem of a list with too many items."""
        detail = f"must have at most {limit} item{'' if limit == 1 else 's'}"
        return self._valued("Too many", str(count), detail, count)

    def too_long(self, limit: int) -> Fault:
        """Return the problem of a string with too many bytes."""
        detail = f"may not be more than {limit} bytes"
        return Fault(self.code, self.path, detail, f"{self.name}: Too long: {detail}")

    def not_negative(self, value: Json) -> Iterator[Fault]:
        """Yield the problem of a number below 0; none for what is no number."""
        if isinstance(value, int) and value < 0:
            yield self.invalid(value, NOT_NEGATIVE)

    def _valued(self, kind: str, shown: str, detail: str, value: Json, ours: str = "") -> Fault:
        text = f"{self.name}: {kind}: {shown}"
        found = value if isinstance(value, str) else str(value) if isinstance(value, int) else None
        said = ours or detail or kind.lower()
        return Fault(self.code, self.path, said, f"{text}: {detail}" if detail else text, found)


# Rules for values that many fields of a pod share, as Kubernetes 1.34 words them.


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


def dns_label(field: Field, value: str) -> Iterator[Fault]:
    """Check a DNS label."""
    return field.each_invalid(value, is_dns1123_label(value))


def dns_subdomain(field: Field, value: str) -> Iterator[Fault]:
    """Check a DNS subdomain, the name of most objects."""
    return field.each_invalid(value, is_dns1123_subdomain(value))


def qualified_name(field: Field, value: str) -> Iterator[Fault]:
    """Check the key of a label."""
    return field.each_invalid(value, map(_as_in_134, is_qualified_name(value)))


def label_value(field: Field, value: str) -> Iterator[Fault]:
    """Check the value of a label."""
    return field.each_invalid(value, label_value_details(value))


def label_value_details(value: str) -> list[str]:
    """Return what is wrong with the value of a label."""
    return [_as_in_134(detail) for detail in is_valid_label_value(value)]


def labels(field: Field, values: Mapping[str, Json]) -> Iterator[Fault]:
    """Check labels, in order of their keys; each problem lies at its key, and is named after all of them."""
    for key in sorted(values):
        yield from qualified_name(field.within(key), key)
        yield from label_value(field.within(key), str(values[key]))


def _as_in_134(detail: str) -> str:
    """Return a detail in the words of Kubernetes 1.34; kube/names.py has those of Trainer's own libraries (1.36)."""
    return detail.replace(" bytes", " characters").replace("a valid label key must", "a qualified name must")


def label_selector(field: Field, selector: Json) -> Iterator[Fault]:
    """Check a label selector; an absent one is fine."""
    yield from labels(field.child("matchLabels"), as_object(get(selector, "matchLabels")))
    for at, requirement in field.items(selector, "matchExpressions"):
        yield from selector_requirement(at, requirement)


def selector_requirement(field: Field, requirement: JsonObject, *, node: bool = False) -> Iterator[Fault]:
    """Check one expression of a selector; ``node`` allows those that only nodes are selected by."""
    operator, values = text(requirement, "operator"), as_list(requirement.get("values"))
    at = field.child("values")
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
        yield field.child("operator").invalid(operator, "not a valid selector operator", typed=True)
    yield from qualified_name(field.child("key"), text(requirement, "key"))
    for index, value in enumerate(values):
        yield from label_value(at.index(index), str(value))


def id_in_range(field: Field, value: Json) -> Iterator[Fault]:
    """Check the number of a user or a group."""
    if isinstance(value, int) and not 0 <= value <= MAX_ID:
        yield field.invalid(value, between(0, MAX_ID))


def mode(field: Field, value: Json) -> Iterator[Fault]:
    """Check the permissions of a file."""
    if isinstance(value, int) and not 0 <= value <= MAX_MODE:
        yield field.invalid(value, MODE)


def no_backsteps(field: Field, path: str) -> Iterator[Fault]:
    """Check that no step of a path goes up."""
    if ".." in path.split("/"):
        yield field.invalid(path, "must not contain '..'")


def descending(field: Field, path: str) -> Iterator[Fault]:
    """Check a path that stays below where it starts."""
    if path.startswith("/"):
        yield field.invalid(path, "must be a relative path")
    yield from no_backsteps(field, path)


def file_below(field: Field, path: str) -> Iterator[Fault]:
    """Check the path of a file that Kubernetes writes into a volume."""
    yield from descending(field, path)
    if path.startswith("..") and not path.startswith("../"):
        yield field.invalid(path, "must not start with '..'")
