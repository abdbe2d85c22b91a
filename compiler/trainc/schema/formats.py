"""String formats that the API server checks, and patterns with the semantics of Go (RE2).

The patterns in this package's own schemas are few and mean the same to Python's re, but for the end of the text; they
are left to it, since most runs then need no library. Foreign ones never are: re takes exponential time on some.

Sources of the rules: k8s.io/kube-openapi pkg/validation/strfmt with its copy of govalidator, and the list of formats in
k8s.io/apiextensions-apiserver v0.36 pkg/apiserver/validation/formats.go; formats beyond that list are ignored there.
For email, net/mail (ParseAddress) of Go's standard library, without what few know: comments, groups, and encoded words
of a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Final

from trainc.basics.regex import has_any_byte, lazy
from trainc.data import load_json
from trainc.kube import strfmt

_SCALA = r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]+)"
_GO_DURATION = r"[-+]?(0|(([0-9]++(\.[0-9]*+)?|\.[0-9]++)(ns|us|µs|μs|ms|s|m|h))+)"
_UNITS = ("ns", "us", "µs", "ms", "s", "sec", "m", "min", "h", "hr", "d", "w", "wk")
_LONG_UNITS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_MAC = r"[0-9a-f]{2}(([:-])[0-9a-f]{2}(\2[0-9a-f]{2}){4,18})|[0-9a-f]{4}(\.[0-9a-f]{4}){2,9}|[0-9a-f]{12,40}"
_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_CARD = (
    "4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    "|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_CHANNEL = r"[\t\n\f\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*"
_RGB = rf"rgb\({_CHANNEL},{_CHANNEL},{_CHANNEL}\)"
_SSN = "[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"

_ATOM_CHAR = r'[^\x00-\x20\x7f()<>\[\]:;@\\,".]'
_ATOM = rf"{_ATOM_CHAR}+(?:\.{_ATOM_CHAR}+)*"
_VISIBLE = r"[^\x00-\x08\x0a-\x1f\x7f]"
_QUOTED = rf'"(?:(?![\\"]){_VISIBLE}|\\{_VISIBLE})*"'
_SPACE = r"[ \t]*"
_LITERAL = r"\[(?P<ip>[^\x00-\x20\x7f\[\]\\]*)\]"
_WORD = rf"(?:{_QUOTED}|(?:{_ATOM_CHAR}|\.)++)"
_EMAIL = lazy(
    rf'{_SPACE}(?P<named>(?:{_WORD}{_SPACE})*+<{_SPACE})?(?:(?!""){_QUOTED}|{_ATOM})@{_SPACE}(?:{_ATOM}|{_LITERAL})'
    rf"(?(named)>){_SPACE}"
)


def _is_duration(text: str) -> bool:
    """Return whether text is a Go duration, or contains a number with a unit of Scala."""
    if re.fullmatch(_GO_DURATION, text) and not re.search("[0-9]{19}", text):
        return True
    found = re.findall(_SCALA, text)
    if any(int(number[-20:]) >= 2**63 or len(number.lstrip("0")) > 19 for number, _ in found):
        return False  # no int64
    return any(unit.lower() in _UNITS or unit.lower().startswith(_LONG_UNITS) for _, unit in found)


def _is_ip(text: str) -> bool:
    """Return whether text is an address of either version, as Go's ParseIP reads it."""
    import ipaddress  # takes two milliseconds to import, and few values are addresses

    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_cidr(text: str) -> bool:
    """Return whether text is an address with a prefix length."""
    address, slash, length = text.partition("/")
    if not slash or not re.fullmatch("0*[0-9]{1,3}", length) or not _is_sloppy_ip(address):
        return False
    return int(length[-3:]) <= (128 if ":" in address else 32)


def _is_sloppy_ip(text: str) -> bool:
    """Return whether text is an address as Kubernetes' ParseIPSloppy reads it: numbers may have leading zeros."""
    return _is_ip(re.sub(r"(^|[.:])0+(?=[0-9A-Fa-f])", r"\1", text))


def _is_mac(text: str) -> bool:
    digits = re.sub("[^0-9a-f]", "", text, flags=re.I)
    return re.fullmatch(_MAC, text, re.I | re.A) is not None and len(digits) in (12, 16, 40)


def _matches(pattern: str, *, limit: int | None = None) -> Callable[[str], bool]:
    return lambda text: (limit is None or len(text) <= limit) and re.fullmatch(pattern, text, re.ASCII) is not None


def _is_hostname(text: str) -> bool:
    """Return whether text is a host name; symbols and letters of any script are allowed."""
    size = len(text.encode())
    matches = matcher(_HOSTNAME)
    assert matches is not None, "RE2 compiles it"
    return size <= 255 and matches(text) and all(len(part.encode()) <= 63 for part in text.split("."))


def _is_credit_card(text: str) -> bool:
    """Return whether the digits in text are a credit card number, including the check digit."""
    digits = re.sub("[^0-9]+", "", text)
    if not re.fullmatch(_CARD, digits):
        return False
    doubled = [int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_isbn(text: str, *lengths: int) -> bool:
    """Return whether text, without spaces and dashes, is an ISBN of a length; the last of ten digits may be X."""
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if len(digits) not in lengths or not re.fullmatch("[0-9]{9}(?:[0-9X]|[0-9]{4})", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    if len(values) == 10:
        return sum(number * value for number, value in enumerate(values, 1)) % 11 == 0
    return sum(value * (1, 3)[index % 2] for index, value in enumerate(values)) % 10 == 0


def _is_uri(text: str) -> bool:
    """Return whether text is a URI with a scheme, or a path that begins with a slash."""
    from trainc.kube.gonet import is_request  # few values are URIs

    return is_request(text)


def _is_email(text: str) -> bool:
    """Return whether text is one address, alone or as ``name <address>``; comments and groups are not supported."""
    found = _EMAIL.fullmatch(text)
    return found is not None and (found["ip"] is None or _is_ip(found["ip"]))


_VARIANT: Final = "[89ab][0-9a-f]{3}"
_is_ssn = _matches(_SSN)

FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "byte": strfmt.is_byte,
    "cidr": _is_cidr,
    "date": strfmt.is_date,
    "datetime": strfmt.is_date_time,
    "duration": _is_duration,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "ipv4": lambda text: "." in text and _is_sloppy_ip(text),
    "ipv6": lambda text: ":" in text and _is_ip(text),
    "k8slongname": _matches(rf"{_LABEL}(\.{_LABEL})*", limit=253),
    "k8sshortname": _matches(_LABEL, limit=63),
    "mac": _is_mac,
    "password": lambda _text: True,
    "uuid": strfmt.is_uuid,
    "uuid3": partial(strfmt.is_uuid, third="3[0-9a-f]{3}"),
    "uuid4": partial(strfmt.is_uuid, third="4[0-9a-f]{3}", fourth=_VARIANT),
    "uuid5": partial(strfmt.is_uuid, third="5[0-9a-f]{3}", fourth=_VARIANT),
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "creditcard": _is_credit_card,
    "email": _is_email,
    "hostname": _is_hostname,
    "isbn": lambda text: _is_isbn(text, 10, 13),
    "isbn10": lambda text: _is_isbn(text, 10),
    "isbn13": lambda text: _is_isbn(text, 13),
    "rgbcolor": _matches(_RGB),
    "ssn": lambda text: len(text) == 11 and _is_ssn(text),
    "uri": _is_uri,
}
"""Checks by the format's name without dashes."""


def known_format(type_name: str, form: str) -> str:
    """Return the format that the API server checks for a schema of a type ('' for none), or '' if it ignores it."""
    if type_name in ("", "string"):
        return form if form.replace("-", "") in FORMATS else ""
    return form if form in {"integer": ("int32", "int64"), "number": ("float", "double")}.get(type_name, ()) else ""


def format_check(form: str) -> Callable[[str], bool] | None:
    """Return the check of a string format, or None if there is none."""
    return FORMATS.get(form.replace("-", ""))


_MEMORY: Final = 64 << 20

MOST_WORK: Final = 500_000_000
"""Instructions of patterns times the characters that they look at, in an object: a few seconds at most."""

FEW: Final = 16
"""The most parts of a schema that do not count: with so few, the work grows only with the object."""

FIELD: Final = 2_500
"""The work of a field that is missing or filled in, in instructions of patterns."""

TRIAL: Final = 200
"""The work of an alternative, or of a list or mapping in an enum, for each part of a value."""

KEY: Final = 25
"""The work of a key of an item in a list of type map."""

COMPILING: Final = 20
"""The work of compiling an instruction of a pattern."""

_TOO_LARGE: Final = 1_000_000
"""The instructions that a pattern counts as if it needs too much memory, which takes as long to find out."""

CHARACTER: Final = 10
"""The work of a character in the text of an error, which may hold much of the schema, or a long key, for each item."""


class TooMuchWork(Exception):
    """The schema of an object takes more than MOST_WORK."""


class Work:
    """The work of patterns, of many parts of a schema and of texts of errors, for an object that is being admitted."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        self.spent = 0

    def spend(self, amount: int) -> None:
        """Count work. Raises TooMuchWork."""
        self.spent += amount
        if self.spent > MOST_WORK:
            raise TooMuchWork


def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Return a function that matches a text as Go's MatchString does.

    Returns None for a pattern that Go refuses, or that needs too much memory.
    """
    if pattern in packaged():
        search = re.compile(pattern.replace("$", r"\Z"), re.ASCII).search
        return lambda text: search(text) is not None
    compiled = _compiled(pattern)
    return None if isinstance(compiled, int) else lambda text: compiled.search(text) is not None


def size_of(pattern: str) -> int:
    """Return the number of instructions of a pattern, 0 for those of the package and those that Go refuses."""
    if pattern in packaged():
        return 0
    compiled = _compiled(pattern)
    return compiled if isinstance(compiled, int) else int(compiled.programsize)


@lru_cache(maxsize=128)  # as many as re2 keeps; also those that it refuses
def _compiled(pattern: str) -> Any:
    """Return a pattern of RE2; for one that cannot be used, its ``size_of``."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        return _TOO_LARGE if "too large" in str(error) else 0
    # RE2 allows letters of all languages in names of groups, Go does not.
    refused = has_any_byte(pattern) or not all(map(str.isascii, compiled.groupindex))
    return 0 if refused else compiled


@cache
def packaged() -> frozenset[str]:
    """Return the patterns in the schemas of the package's CRDs."""
    return frozenset(row["pattern"] for row in load_json("schemas/nodes.json") if "pattern" in row)
