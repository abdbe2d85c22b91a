"""Named formats: ``format.dns1123Label().validate(text)``, none if text is valid, else the complaints.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/format.go; for uuid, byte, date and datetime k8s.io/kube-openapi
pkg/validation/strfmt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from trainc.cel.library.gourl import UrlError, parse_request_uri
from trainc.cel.library.times import days_in
from trainc.cel.types import opaque
from trainc.cel.values import NONE, EvalError, Opaque, Optional, Value
from trainc.cel.work import Panic
from trainc.kube import names

Check: TypeAlias = Callable[[str], tuple[str, ...]]

_HEX = "[0-9A-Fa-f]"
_UUID = re.compile(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}", re.ASCII)
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", re.ASCII)
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})", re.ASCII)


class Format(Opaque, frozen=True, eq=False):
    """A format: its name, what checks a text, and how long a regular expression its cost stands for."""

    type = opaque("kubernetes.NamedFormat")
    name: str
    check: Check
    max_regex_size: int

    def text(self) -> str:
        """Return the name."""
        return self.name

    def form(self) -> None:
        """Refuse to be a key. Raises Panic."""
        raise Panic("runtime error: hash of unhashable type cel.Format")

    def equals(self, other: Value) -> bool:
        """Compare names. Raises EvalError for another type."""
        if not isinstance(other, Format):
            raise EvalError("no such overload")
        return self.name == other.name


def _prefix(check: Check) -> Check:
    return lambda text: check(names.mask_trailing_dash(text))


def _words(check: Check) -> Check:
    """Return a check with the words of Kubernetes 1.34, which kube/names.py has newer ones for."""

    def checked(text: str) -> tuple[str, ...]:
        details = (detail.replace("a valid label key must", "a qualified name must") for detail in check(text))
        return tuple(re.sub("(must be no more than [0-9]+) bytes$", r"\1 characters", detail) for detail in details)

    return checked


def _uri(text: str) -> tuple[str, ...]:
    try:
        parse_request_uri(text)
    except UrlError as error:
        return (str(error),)
    return ()


def _complains(complaint: str, valid: Callable[[str], bool]) -> Check:
    return lambda text: () if valid(text) else (complaint,)


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    return 1 <= month <= 12 and 1 <= day <= days_in(year, month)


def _is_datetime(text: str) -> bool:
    """Tell whether strfmt takes a text for a time; it looks at nothing behind a second T."""
    date, separator, rest = text.lower().partition("t")
    clock = _CLOCK.fullmatch(rest.partition("t")[0])
    if not separator or clock is None or not _is_date(date):
        return False
    hour, minute, second = clock.groups()
    return hour <= "23" and minute <= "59" and second <= "59"


FORMATS: Mapping[str, Format] = {
    "dns1123Label": Format("DNS1123Label", names.is_dns1123_label, 30),
    "dns1123Subdomain": Format("DNS1123Subdomain", names.is_dns1123_subdomain, 60),
    "dns1035Label": Format("DNS1035Label", names.is_dns1035_label, 30),
    "qualifiedName": Format("QualifiedName", _words(names.is_qualified_name), 60),
    "dns1123LabelPrefix": Format("DNS1123LabelPrefix", _prefix(names.is_dns1123_label), 30),
    "dns1123SubdomainPrefix": Format("DNS1123SubdomainPrefix", _prefix(names.is_dns1123_subdomain), 60),
    "dns1035LabelPrefix": Format("DNS1035LabelPrefix", _prefix(names.is_dns1035_label), 30),
    "labelValue": Format("LabelValue", _words(names.is_valid_label_value), 40),
    "uri": Format("URI", _uri, 1103),
    "uuid": Format("uuid", _complains("does not match the UUID format", lambda t: bool(_UUID.fullmatch(t))), 70),
    "byte": Format("byte", _complains("invalid base64", lambda text: bool(_BASE64.fullmatch(text))), 84),
    "date": Format("date", _complains("invalid date", _is_date), 71),
    "datetime": Format("datetime", _complains("invalid datetime", _is_datetime), 71),
}
"""The formats by the name that format.named() knows."""


def named(name: str) -> Optional:
    """Return ``format.named(name)``."""
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def validate(checked: Format, text: str) -> Optional:
    """Return the complaints about a text, none if it is valid."""
    complaints = list(checked.check(text))
    return Optional(complaints) if complaints else NONE


def _constant(found: Format) -> Callable[[], Format]:
    return lambda: found


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "format-named": named,
    "format-validate": validate,
    **{f"format.{name}": _constant(found) for name, found in FORMATS.items()},
}
