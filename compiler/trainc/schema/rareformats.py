"""String formats that an API server checks and few CRDs use.

Source of the rules: k8s.io/kube-openapi pkg/validation/strfmt and its copy of govalidator; for uri net/url
(ParseRequestURI) of Go's standard library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from trainc.schema.formats import is_ip, is_ipv6
from trainc.schema.mail import is_email
from trainc.schema.patterns import matcher

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

_CONTROL = re.compile("[\0-\x1f\x7f]")
_SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]*)?:")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile("(:[0-9]*)?")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_HOST_CHAR = r"[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>\"]|[^\0-\x7f]"
_HOST = re.compile(f"(?:{_HOST_CHAR}|%25|%[89A-Fa-f][0-9A-Fa-f])*")
_ZONE = re.compile(f"(?:{_HOST_CHAR}|%[0-9A-Fa-f]{{2}})*")
_NO_ZONE = re.compile("%(?:[01][0-9A-Fa-f]|2[3Ff]|3[Ff]|40|5[CcEe]|60|7[B-DFb-df])")
_STRICT_PORTS = ("http", "https")


def is_hostname(text: str) -> bool:
    """Tell whether text is a host name; symbols and letters of any script are taken."""
    size = len(text.encode())
    return matcher(_HOSTNAME)(text) and size <= 255 and all(len(part.encode()) <= 63 for part in text.split("."))


def is_credit_card(text: str) -> bool:
    """Tell whether the digits in text are the number of a card, check digit included."""
    digits = re.sub("[^0-9]+", "", text)
    if not re.fullmatch(_CARD, digits):
        return False
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def is_isbn10(text: str) -> bool:
    """Tell whether text, without blanks and dashes, is an ISBN of ten digits, the last of which may be X."""
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def is_isbn13(text: str) -> bool:
    """Tell whether text, without blanks and dashes, is an ISBN of thirteen digits."""
    digits = re.sub(r"[\t\n\f\r -]+", "", text)
    if not re.fullmatch("[0-9]{13}", digits):
        return False
    return sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0


def is_uri(text: str) -> bool:
    """Tell whether text is a URI with a scheme, or a path that begins with a slash."""
    if not text or _CONTROL.search(text):
        return False
    if text == "*":
        return True
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[1] is None:
        return False
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if scheme is not None and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        if not _is_authority(scheme[1].lower(), authority):
            return False
        rest = slash + path
    return not _BAD_ESCAPE.search(rest)


def _is_authority(scheme: str, authority: str) -> bool:
    user, at, host = authority.rpartition("@")
    if at and (not _USER.fullmatch(user) or _BAD_ESCAPE.search(user)):
        return False
    opening = host.rfind("[")
    if opening > 0:
        return False
    if opening == 0:
        return _is_literal(host)
    first, last = host.find(":"), host.rfind(":")
    if first >= 0 and not _PORT.fullmatch(host, first if scheme in _STRICT_PORTS else last):
        return False
    return _HOST.fullmatch(host) is not None


def _is_literal(host: str) -> bool:
    inside, closing, port = host[1:].rpartition("]")
    if not closing or not _PORT.fullmatch(port):
        return False
    address, _, zone = inside.partition("%25")
    if "%25" in inside and (not zone or not _ZONE.fullmatch(zone) or _NO_ZONE.search(zone)):
        return False
    return "%" not in address and is_ip(address) and (is_ipv6(address) or ":" in address)


def _whole(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


RARE: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _whole("[0-9a-fA-F]{24}"),
    "creditcard": is_credit_card,
    "email": is_email,
    "hostname": is_hostname,
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "rgbcolor": _whole(_RGB),
    "ssn": lambda text: len(text) == 11 and re.fullmatch(_SSN, text) is not None,
    "uri": is_uri,
}
"""Checks by the format's name without dashes."""
