"""Fields of an object, and their errors with the texts of Kubernetes 1.34."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get
from trainc.basics.regex import lazy
from trainc.findings.reporting import Fault
from trainc.kube.fielderror import go_value, quote
from trainc.kube.gojson import go_json
from trainc.kube.gotypes import fields, is_struct
from trainc.kube.names import (
    is_dns1123_label,
    is_dns1123_subdomain,
    is_domain_prefixed_path,
    is_qualified_name,
    is_valid_label_value,
    validate_annotations,
)

NOT_NEGATIVE = "must be greater than or equal to 0"
_CODES = {
    "Required value": "TC103",
    **dict.fromkeys(("Unsupported value", "Forbidden"), "TC104"),
    **dict.fromkeys(("Invalid value", "Too long"), "TC106"),
}
"""The codes of errors, by kind, in an object that the API server validates by code instead of a schema."""


class Field(msgspec.Struct, frozen=True, eq=False):
    """A field of an object to validate. All fields of an object add their errors to one list, ``faults``.

    ``code`` is the code of its errors; if it is empty, they have the codes of a schema's.
    ``base`` and ``below`` are its name in the server's errors, which may differ from the path: the steps ``below``
    follow ``base``.
    """

    value: Json
    path: Path
    base: str
    code: str
    faults: list[Fault] = msgspec.field(default_factory=list)
    below: Path = ()

    @property
    def name(self) -> str:
        """The name in the server's errors."""
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.below)
        return f"{self.base}{steps}".lstrip(".")

    def child(self, *steps: str | int) -> Field:
        """Return a field below this one, whether it is set or not."""
        value, path, below = get(self.value, *steps), (*self.path, *steps), (*self.below, *steps)
        return Field(value, path, self.base, self.code, self.faults, below)

    def key(self, key: str) -> Field:
        """Return an entry of a map; the server writes its key in brackets."""
        return self.child(key).named(f"{self.name}[{key}]")

    def named(self, name: str) -> Field:
        """Return the field with another name."""
        return msgspec.structs.replace(self, base=name, below=())

    def coded(self, code: str) -> Field:
        """Return the field with another code for its errors."""
        return msgspec.structs.replace(self, code=code)

    def items(self, *steps: str | int) -> list[Field]:
        """Return the items of a list, at ``steps`` below this field."""
        count = len(as_list(get(self.value, *steps)))
        return [self.child(*steps, index) for index in range(count)]

    def text(self, *steps: str | int) -> str:
        """Return the string; empty if it is not set, as in Go."""
        found = get(self.value, *steps)
        return found if isinstance(found, str) else ""

    def number(self, *steps: str | int) -> int | None:
        """Return the integer; None if it is not set."""
        found = get(self.value, *steps)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def object(self, *steps: str | int) -> JsonObject:
        """Return the object; empty if it is not set."""
        return as_object(get(self.value, *steps))

    def has(self, *steps: str | int) -> bool:
        """Return whether an object is set."""
        return isinstance(get(self.value, *steps), dict)

    # Errors, as by the constructors of k8s.io/apimachinery/pkg/util/validation/field. The value defaults to that of
    # the field.

    def invalid(
        self,
        detail: str,
        value: Json | msgspec.UnsetType = msgspec.UNSET,
        *,
        typed: bool = False,
        other: Path | None = None,
        position: int | None = None,
        hint: str | None = None,
    ) -> None:
        """Report a wrong value. ``typed``: its Go type is a named string, which Go writes as JSON."""
        value = self._own(value)
        shown = go_json(value) if typed else go_value(value, struct=True)
        self._add("Invalid value", detail, shown=shown, value=value, other=other, position=position, hint=hint)

    def invalid_each(self, details: Iterable[str], value: Json | msgspec.UnsetType = msgspec.UNSET) -> None:
        """Report several errors of a value."""
        for detail in details:
            self.invalid(detail, value)

    def required(self, detail: str = "", found: str | None = None) -> None:
        """Report a missing or empty value."""
        self._add("Required value", detail, value=found, message=detail or "a value is required")

    def forbidden(self, detail: str) -> None:
        """Report a field that must not be set."""
        self._add("Forbidden", detail)

    def unsupported(self, supported: Sequence[str], value: Json | msgspec.UnsetType = msgspec.UNSET) -> None:
        """Report an unsupported value."""
        value = self._own(value)
        detail = f"supported values: {', '.join(map(quote, supported))}"
        names = [name for name in supported if name]
        expected = " or ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part) or "an empty string"
        message = f"unsupported value {value!r}"
        self._add("Unsupported value", detail, shown=go_json(value), value=value, message=message, expected=expected)

    def duplicate(self, value: Json | msgspec.UnsetType = msgspec.UNSET) -> None:
        """Report a value that occurs twice."""
        value = self._own(value)
        self._add("Duplicate value", shown=go_value(value), value=value, message="duplicate value")

    def not_found(self, name: str, detail: str = "", message: str = "", hint: str | None = None) -> None:
        """Report a reference to something that does not exist."""
        self._add("Not found", detail, shown=quote(name), value=name, message=message, hint=hint)

    def too_long(self, limit: int) -> None:
        """Report a string with too many bytes."""
        self._add("Too long", f"may not be more than {limit} bytes")

    def invalid_without_value(self, detail: str) -> None:
        """Report a wrong value that the server does not show."""
        self._add("Invalid value", detail)

    def internal(self, detail: str, position: int | None = None, *, message: str = "", hint: str | None = None) -> None:
        """Report an internal error of the server; ``message`` replaces its text."""
        self._add("Internal error", detail, position=position, message=message, hint=hint)

    def refused(self, text: str, message: str, hint: str, *, shown: bool = True) -> None:
        """Report a value that an admission plugin or a node refuses, whose ``text`` names no field."""
        found = self.value if isinstance(self.value, str) else go_json(self.value)
        self.faults.append(Fault(self.code, self.path, message, text, found if shown else None, hint=hint))

    def _own(self, value: Json | msgspec.UnsetType) -> Json:
        if value is not msgspec.UNSET:
            return value
        return "" if self.value is None else self.value

    def _add(
        self, kind: str, detail: str = "", *, shown: str = "", value: Json = None, message: str = "", **more: Any
    ) -> None:
        """Add an error with the server's text; ``more`` are further fields of a Fault."""
        text = ": ".join(part for part in (self.name, kind, shown, detail) if part)
        found = value if isinstance(value, str) else go_json(value) if isinstance(value, int | list) else None
        code = self.code or _CODES[kind]
        self.faults.append(Fault(code, self.path, message or _short(detail), text, found, **more))

    # Rules that many fields share.

    def require(self, detail: str = "") -> bool:
        """Check that the field is set and not empty; return whether it is."""
        if not self.value:
            self.required(detail)
        return bool(self.value)

    def one_of(self, supported: Sequence[str], *, pointer: bool = False) -> None:
        """Check a string, if it is set. ``pointer``: the Go type is a pointer, so an empty string counts as set."""
        if (self.value is not None if pointer else self.text()) and self.text() not in supported:
            self.unsupported(supported)

    def not_negative(self) -> None:
        """Check that a number is not below 0."""
        if (self.number() or 0) < 0:
            self.invalid(NOT_NEGATIVE)

    def between(self, low: int, high: int) -> None:
        """Check that a number, if it is set, is in a range."""
        if (number := self.number()) is not None and not low <= number <= high:
            self.invalid(f"must be between {low} and {high}, inclusive")

    def at_most(self, limit: int, condition: str = "") -> None:
        """Check that a number, if it is set, is not above a limit."""
        if (number := self.number()) is not None and number > limit:
            self.invalid(f"must be less than or equal to {limit}{condition}")

    def at_most_items(self, limit: int) -> None:
        """Check the length of a list."""
        if (count := len(as_list(self.value))) > limit:
            self._add("Too many", f"must have at most {limit} item{'s' * (limit != 1)}", shown=str(count), value=count)


_EXAMPLES = lazy(r" \(((e\.g\. .*?), )?regex used for validation is .*\)$")
_SUBJECT = lazy(r"^(name part|a[a-zA-Z0-9 -]* (label|subdomain|key|name)) (?=must )")


def _short(detail: str) -> str:
    """Return a server's text without the regular expression, and without the kind of name before ``must``."""
    if "regex used for validation" in detail:
        detail = _EXAMPLES.sub(lambda match: f" ({match[2]})" if match[2] else "", detail)
        detail = detail.replace(",  or ", " or ")
    return _SUBJECT.sub("", detail)


def unique(of: Iterable[Field]) -> None:
    """Report repeated strings; empty ones are ignored."""
    seen: set[str] = set()
    for field in of:
        if field.text() in seen:
            field.duplicate()
        seen |= {field.text()} - {""}


def internal(value: Json, kind: str) -> Json:
    """Return a value as Go prints Kubernetes' internal types: with the Go names of the fields."""
    name = kind.lstrip("*")
    if isinstance(value, list):
        return [internal(item, name.removeprefix("[]")) for item in value]
    if not isinstance(value, dict) or not is_struct(name):
        return "" if value is None and kind == "string" else value
    printed: dict[str, Json] = {}
    for key, field in fields(name).items():
        go_name = key.replace("seLinux", "SELinux")
        printed[go_name[0].upper() + go_name[1:]] = internal(value.get(key), field.kind)
    return printed


def faults_in(rule: Callable[[Field], None], value: Json, code: str = "TC803") -> list[Fault]:
    """Return the errors that a rule reports for the value of ``spec``."""
    field = Field(value, ("spec",), "spec", code)
    rule(field)
    return field.faults


MAX_ID = 2**31 - 1
MAX_MANAGED_BY = 63


def dns_label(field: Field) -> None:
    """Check a DNS label."""
    field.invalid_each(is_dns1123_label(field.text()), field.text())


def dns_subdomain(field: Field) -> None:
    """Check a DNS subdomain, the name of most objects."""
    field.invalid_each(is_dns1123_subdomain(field.text()), field.text())


def qualified_name(field: Field, key: str | None = None) -> None:
    """Check the key of a label, by default the value of the field."""
    key = field.text() if key is None else key
    field.invalid_each(map(_as_in_134, is_qualified_name(key)), key)


def label_value_details(value: str) -> list[str]:
    """Return the errors of the value of a label."""
    return [_as_in_134(detail) for detail in is_valid_label_value(value)]


def label_map(field: Field) -> None:
    """Check labels, in order of their keys. The server names each error after the whole map."""
    for key in sorted(field.object()):
        at = field.child(key).named(field.name)
        qualified_name(at, key)
        at.invalid_each(label_value_details(at.text()), at.text())


def annotation_map(field: Field) -> None:
    """Check annotations; their values are never shown."""
    values = {key: str(value) for key, value in field.object().items()}
    for error in validate_annotations(values, field.name):
        kind, _, detail = error.removeprefix(f"{field.name}: ").partition(": ")
        field.faults.append(Fault(field.code, field.path, f"{kind}: {detail}", error))


def _as_in_134(detail: str) -> str:
    """Return the text of Kubernetes 1.34; kube/names.py has those of Trainer's libraries (1.36)."""
    return detail.replace(" bytes", " characters").replace("a valid label key must", "a qualified name must")


def label_selector(field: Field) -> None:
    """Check a label selector, if it is set."""
    label_map(field.child("matchLabels"))
    for requirement in field.items("matchExpressions"):
        selector_requirement(requirement)


def selector_requirement(field: Field, *, node: bool = False, any_value: bool = False) -> None:
    """Check one expression of a selector; ``node`` allows the operators of node selectors."""
    operator, values = field.child("operator"), field.child("values")
    if operator.text() in ("In", "NotIn"):
        values.require("must be specified when `operator` is 'In' or 'NotIn'")
    elif operator.text() in ("Exists", "DoesNotExist"):
        if values.value:
            values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif node and operator.text() in ("Gt", "Lt"):
        if len(as_list(values.value)) != 1:
            values.required("must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        operator.invalid("not a valid selector operator", typed=True)
    qualified_name(field.child("key"))
    for value in values.items() if not any_value else ():
        value.invalid_each(label_value_details(value.text()))


def managed_by(field: Field) -> None:
    """Check the name of a controller, if it is set."""
    if isinstance(field.value, str):
        for error in is_domain_prefixed_path(field.name, field.value):
            field.faults.append(Fault(field.code, field.path, "must be a domain-prefixed path", error, field.value))
        if len(field.value.encode()) > MAX_MANAGED_BY:
            field.too_long(MAX_MANAGED_BY)


def file_mode(field: Field) -> None:
    """Check the permissions of a file."""
    if not 0 <= (field.number() or 0) <= 0o777:
        field.invalid("must be a number between 0 and 0777 (octal), both inclusive")


def no_backsteps(field: Field) -> None:
    """Check that no step of a path is ``..``."""
    if ".." in field.text().split("/"):
        field.invalid("must not contain '..'")


def local_descending_path(field: Field) -> None:
    """Check a path that stays below the directory where it starts."""
    if field.text().startswith("/"):
        field.invalid("must be a relative path")
    no_backsteps(field)


def local_non_reserved_path(field: Field) -> None:
    """Check the path of a file that Kubernetes writes into a volume."""
    local_descending_path(field)
    if field.text().startswith("..") and not field.text().startswith("../"):
        field.invalid("must not start with '..'")
