"""Kubernetes' own types besides addresses and URLs: quantities, versions, named formats, the authorizer.

Source: k8s.io/apiserver v0.34.4 pkg/cel/quantity.go, pkg/cel/library/quantity.go, semverlib.go (version 1), format.go
and authz.go; github.com/blang/semver/v4 v4.0.0; k8s.io/kube-openapi pkg/validation/strfmt for uuid, byte and times.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NoReturn, TypeAlias

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import Function, function, reads
from trainc.cel.gotext import utf8
from trainc.cel.types import opaque, struct
from trainc.cel.values import INT_MIN, NO_OVERLOAD, NONE, UINT_MAX, EvalError, Opaque, Optional, Undecided, Value
from trainc.cel.work import CHARACTERS
from trainc.kube import gonet, names, strfmt
from trainc.kube.fielderror import quote_cut
from trainc.kube.gojson import as_float, fits, int64, ten
from trainc.kube.quantity import Format as Spelling
from trainc.kube.quantity import Quantity as Amount
from trainc.kube.quantity import QuantityError
from trainc.kube.quantity import parse as parse_amount

# Quantities

_MOST_SCALE = 18
_MOST_POWER, _LEAST_POWER = 308, -323
"""The range of Go's math.Pow10, which is infinite above and 0 below."""


class Quantity(Opaque, frozen=True, eq=False):
    """A quantity. ``summed``: the result of add() or sub(), which equals no other quantity."""

    type = struct("kubernetes.Quantity")
    number: Amount
    summed: bool = False

    def text(self) -> str:
        """Return the canonical form."""
        return self.number.canonical()

    def weight(self) -> int:
        """Return its digits in thousands, including the powers of ten in a sum."""
        return 1 + (self.number.unscaled.bit_length() + 4 * abs(self.number.scale)) // 1000

    def equals(self, other: Value) -> bool:
        """Compare by value. Raises EvalError for another type and for results of add() and sub()."""
        if not isinstance(other, Quantity) or other.summed:
            raise EvalError(NO_OVERLOAD)
        return self.number.compare(other.number) == 0


def parse_quantity(text: str) -> Quantity:
    """Return ``quantity(text)``. Raises EvalError."""
    try:
        return Quantity(parse_amount(text))
    except QuantityError as error:
        raise EvalError(str(error)) from None


def as_int(quantity: Quantity) -> int | None:
    """Return Go's AsInt64: None for fractions, integers beyond int64, and numbers that Go stores as Dec."""
    number = quantity.number
    if number.wide or number.scale < 0 or number.scale > _MOST_SCALE:
        return 0 if number.unscaled == 0 and not number.wide and number.scale >= 0 else None
    whole = number.unscaled * ten(number.scale)
    return whole if fits(whole) else None


def _as_integer(quantity: Quantity) -> int:
    whole = as_int(quantity)
    if whole is None:
        raise EvalError("cannot convert value to integer")
    return whole


def as_approximate_float(quantity: Quantity) -> float:
    """Return the value as a double, rounded twice as in Go."""
    number = quantity.number
    base = as_float(number.unscaled)
    if number.scale == 0:
        return base
    return base * _pow10(number.scale)


def _pow10(power: int) -> float:
    """Return math.Pow10(power): a product of two table entries, not always the nearest double."""
    if not _LEAST_POWER <= power <= _MOST_POWER:
        return math.inf if power > 0 else 0.0
    large, small = divmod(abs(power), 32)
    return (
        float(f"1e{large * 32}") * float(f"1e{small}")
        if power >= 0
        else float(f"1e-{large * 32}") / float(f"1e{small}")
    )


def _combined(left: Quantity, right: Amount, sign: int) -> Quantity:
    try:
        return Quantity(left.number.add(right) if sign > 0 else left.number.sub(right), summed=True)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def _minus_int(left: Quantity, right: int) -> Quantity:
    if right == INT_MIN and not left.number.wide:
        # Go adds the negative, which overflows int64 and wraps to the same number.
        wrapped = _combined(left, _of(right), 1)
        if not wrapped.number.wide:
            return wrapped
    return _combined(left, _of(right), -1)


def _of(number: int) -> Amount:
    return Amount(number, 0, Spelling.DECIMAL_EXPONENT)


# Versions

_NUMBER = "0|[1-9][0-9]{0,19}"
_IDENTIFIER = f"(?:{_NUMBER}|[0-9]*[-A-Za-z][-0-9A-Za-z]*)"
_BUILD = "[-0-9A-Za-z]+"
_VERSION = lazy(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+({_BUILD}(?:\.{_BUILD})*))?"
)


class Version(Opaque, frozen=True, eq=False):
    """``1.2.3-rc.1+build.5``; numeric identifiers of a pre-release are numbers."""

    type = struct("kubernetes.Semver")
    unhashable = "cel.Semver"
    numbers: tuple[int, int, int]
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the version."""
        pre, build = ".".join(map(str, self.pre)), ".".join(self.build)
        return ".".join(map(str, self.numbers)) + (f"-{pre}" if self.pre else "") + (f"+{build}" if self.build else "")

    def weight(self) -> int:
        """Return the number of identifiers."""
        return 1 + len(self.pre) + len(self.build)

    def equals(self, other: Value) -> bool:
        """Compare by precedence, without build metadata. Raises EvalError for another type."""
        if not isinstance(other, Version):
            raise EvalError(NO_OVERLOAD)
        return compare_versions(self, other) == 0


def compare_versions(left: Version, right: Version) -> int:
    """Return -1, 0 or 1, by numbers, then pre-release: any is less than none, numbers are less than words."""
    one, two = (
        (version.numbers, not version.pre, [(isinstance(part, str), part) for part in version.pre])
        for version in (left, right)
    )
    return int(one > two) - int(one < two)


def parse_version(text: str) -> Version:
    """Return ``semver(text)``. Raises EvalError."""
    found = _VERSION.fullmatch(text)
    major, minor, patch, pre, build = found.groups() if found else ("", "", "", None, None)
    numbers = [int(part) for part in (major, minor, patch, *(pre or "").split(".")) if part.isdecimal()]
    if found is None or max(numbers) > UINT_MAX:
        raise EvalError(f"{quote_cut(text)} is not a semantic version: MAJOR.MINOR.PATCH[-PRERELEASE][+BUILD]")
    identifiers = tuple(int(part) if part.isdecimal() else part for part in pre.split(".")) if pre else ()
    return Version((int(major), int(minor), int(patch)), identifiers, tuple(build.split(".")) if build else ())


def _parse_loosely(text: str, normalize: bool) -> Version:
    """Return ``semver(text, normalize)``: normalize allows ``v``, missing numbers and leading zeros.

    Raises EvalError.
    """
    if not normalize:
        return parse_version(text)
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise EvalError("short version cannot contain PreRelease/Build meta data")
    return parse_version(".".join([*parts, "0", "0"][: max(3, len(parts))]))


def _without_zeros(part: str) -> str:
    if len(utf8(part)) <= 1:
        return part
    part = part.lstrip("0")
    return part if part and part[0] in "0123456789" else f"0{part}"


# Named formats

Check: TypeAlias = Callable[[str], tuple[str, ...]]


class Format(Opaque, frozen=True, eq=False):
    """A named format, with its check and the size of its regular expression for costs."""

    type = opaque("kubernetes.NamedFormat")
    unhashable = "cel.Format"
    name: str
    check: Check
    max_regex_size: int

    def text(self) -> str:
        """Return the name."""
        return self.name


def _prefix(check: Check) -> Check:
    return lambda text: check(names.mask_trailing_dash(text))


def _words(check: Check) -> Check:
    """Return a check with the messages of Kubernetes 1.34; those of kube/names.py are newer."""

    def checked(text: str) -> tuple[str, ...]:
        details = (detail.replace("a valid label key must", "a qualified name must") for detail in check(text))
        return tuple(re.sub("(must be no more than [0-9]+) bytes$", r"\1 characters", detail) for detail in details)

    return checked


def _uri(text: str) -> tuple[str, ...]:
    try:
        gonet.read_url(text, request=True)
    except gonet.UrlError as error:
        return (str(error),)
    return ()


def _matching(complaint: str, valid: Callable[[str], bool]) -> Check:
    return lambda text: () if valid(text) else (complaint,)


FORMATS: Final[Mapping[str, Format]] = {
    "dns1123Label": Format("DNS1123Label", names.is_dns1123_label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.is_dns1123_subdomain, 60),
    "dns1035Label": Format("DNS1035Label", names.is_dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", _words(names.is_qualified_name), 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(names.is_dns1123_label), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(names.is_dns1123_subdomain), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(names.is_dns1035_label), 30),
    "labelValue": Format("LabelValue", _words(names.is_valid_label_value), 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _matching("does not match the UUID format", strfmt.is_uuid), 70),
    "byte": Format("byte", _matching("invalid base64", strfmt.is_byte), 84),
    "date": Format("date", _matching("invalid date", strfmt.is_date), 71),
    "datetime": Format("datetime", _matching("invalid datetime", strfmt.is_date_time), 71),
}
"""The formats by their names in format.named()."""


def _validate(checked: Format, text: str) -> Optional:
    complaints = list(checked.check(text))
    return Optional(complaints) if complaints else NONE


# The authorizer


def _undecided(*_: Value) -> NoReturn:
    raise Undecided("authorizer: requires a cluster")


# Costs, work and rows


def _validate_cost(args: Sequence[Value], _: Value) -> int:
    pattern = getattr(args[0], "max_regex_size", None)
    return 1 if pattern is None else cost.match(cost.plain_size(args[1]), pattern)


_Q, _V = "kubernetes.Quantity", "kubernetes.Semver"
_PARSED = cost.reading(CHARACTERS)
_READ = cost.reading(1)


def _of_quantity(name: str, *overloads: tuple[str, str, Callable[..., Value]]) -> Function:
    return function(name, *((f"quantity_{id_}", text, run) for id_, text, run in overloads), work=_READ)


def _both(name: str, overload: str, result: str, holds: Callable[[int], Value]) -> Function:
    """Return the row of a comparison of quantities and versions."""
    return function(
        name,
        (
            f"quantity_{overload}",
            f".({_Q}, {_Q}) {result}",
            lambda left, right: holds(left.number.compare(right.number)),
        ),
        (f"semver_{overload}", f".({_V}, {_V}) {result}", lambda left, right: holds(compare_versions(left, right))),
        work=_READ,
    )


def _authorizer(name: str, overload: str, types: str) -> Function:
    text = re.sub("[A-Z][A-Za-z]+", r"kubernetes.authorization.\g<0>", types)
    return function(name, (overload, text, _undecided))


_text = partial(function, cost=cost.first_plain)

FUNCTIONS: Final = (
    _text("quantity", ("string_to_quantity", f"(string) {_Q}", parse_quantity), work=_PARSED),
    _text("isQuantity", ("is_quantity_string", "(string) bool", reads(parse_quantity)), work=_PARSED),
    _of_quantity("sign", ("sign", f"({_Q}) int", lambda quantity: quantity.number.sign())),
    _of_quantity("isInteger", ("is_integer", f".({_Q}) bool", lambda quantity: as_int(quantity) is not None)),
    _of_quantity("asInteger", ("get_int", f".({_Q}) int", _as_integer)),
    _of_quantity("asApproximateFloat", ("get_float", f".({_Q}) double", as_approximate_float)),
    _of_quantity(
        "add",
        ("add", f".({_Q}, {_Q}) {_Q}", lambda left, right: _combined(left, right.number, 1)),
        ("add_int", f".({_Q}, int) {_Q}", lambda left, right: _combined(left, _of(right), 1)),
    ),
    _of_quantity(
        "sub",
        ("sub", f".({_Q}, {_Q}) {_Q}", lambda left, right: _combined(left, right.number, -1)),
        ("sub_int", f".({_Q}, int) {_Q}", _minus_int),
    ),
    _both("compareTo", "compare_to", "int", lambda sign: sign),
    _both("isGreaterThan", "is_greater_than", "bool", lambda sign: sign > 0),
    _both("isLessThan", "is_less_than", "bool", lambda sign: sign < 0),
    _text(
        "semver",
        ("string_to_semver", f"(string) {_V}", parse_version),
        ("string_bool_to_semver", f"(string, bool) {_V}", _parse_loosely),
        work=_PARSED,
    ),
    _text(
        "isSemver",
        ("is_semver_string", "(string) bool", reads(parse_version)),
        ("is_semver_string_bool", "(string, bool) bool", reads(_parse_loosely)),
        work=_PARSED,
    ),
    function("major", ("semver_major", f".({_V}) int", lambda version: int64(version.numbers[0]))),
    function("minor", ("semver_minor", f".({_V}) int", lambda version: int64(version.numbers[1]))),
    function("patch", ("semver_patch", f".({_V}) int", lambda version: int64(version.numbers[2]))),
    *(
        function(f"format.{name}", (f"format.{name}", "() kubernetes.NamedFormat", lambda found=found: found))
        for name, found in FORMATS.items()
    ),
    function(
        "format.named",
        (
            "format-named",
            "(string) optional_type(kubernetes.NamedFormat)",
            lambda name: Optional(FORMATS[name]) if name in FORMATS else NONE,
        ),
    ),
    function(
        "validate",
        ("format-validate", ".(kubernetes.NamedFormat, string) optional_type(list(string))", _validate),
        cost=_validate_cost,
        work=_PARSED,
    ),
    _authorizer("path", "authorizer_path", ".(Authorizer, string) PathCheck"),
    _authorizer("group", "authorizer_group", ".(Authorizer, string) GroupCheck"),
    _authorizer("serviceAccount", "authorizer_serviceaccount", ".(Authorizer, string, string) Authorizer"),
    _authorizer("fieldSelector", "authorizer_fieldselector", ".(ResourceCheck, string) ResourceCheck"),
    _authorizer("labelSelector", "authorizer_labelselector", ".(ResourceCheck, string) ResourceCheck"),
    _authorizer("resource", "groupcheck_resource", ".(GroupCheck, string) ResourceCheck"),
    _authorizer("subresource", "resourcecheck_subresource", ".(ResourceCheck, string) ResourceCheck"),
    _authorizer("namespace", "resourcecheck_namespace", ".(ResourceCheck, string) ResourceCheck"),
    _authorizer("name", "resourcecheck_name", ".(ResourceCheck, string) ResourceCheck"),
    _authorizer("check", "pathcheck_check", ".(PathCheck, string) Decision"),
    _authorizer("check", "resourcecheck_check", ".(ResourceCheck, string) Decision"),
    _authorizer("errored", "decision_errored", ".(Decision) bool"),
    _authorizer("error", "decision_error", ".(Decision) string"),
    _authorizer("allowed", "decision_allowed", ".(Decision) bool"),
    _authorizer("reason", "decision_reason", ".(Decision) string"),
)
