"""IP addresses as values: ip(), isIP(), ip.isCanonical() and what addresses are.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/ip.go, Go's net/netip (ParseAddr). No zones, no IPv4-mapped IPv6.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from trainc.cel.gotext import quote_cut
from trainc.cel.types import opaque
from trainc.cel.values import EvalError, Opaque, Value

_HEX = re.compile(r"[0-9A-Fa-f]*", re.ASCII)
_GROUPS, _GROUP_BITS = 8, 16
V4_BITS, V6_BITS = 32, 128


class AddressError(ValueError):
    """A text is no address; the message is Go's."""


class Address(Opaque, frozen=True, eq=False):
    """An address: its number, its 32 or 128 bits, its zone (which values never have)."""

    type = opaque("net.IP")
    number: int
    bits: int
    zone: str = ""

    def text(self) -> str:
        """Return the canonical form, as netip.Addr prints it."""
        return v4_text(self.number) if self.bits == V4_BITS else _v6_text(self.number)

    def equals(self, other: Value) -> bool:
        """Compare number and family. Raises EvalError for another type."""
        if not isinstance(other, Address):
            raise EvalError("no such overload")
        return (self.number, self.bits) == (other.number, other.bits)

    def size(self) -> int:
        """Return the number of bytes."""
        return self.bits // 8

    def form(self) -> tuple[int, int, str]:
        """Return number, bits and zone."""
        return self.number, self.bits, self.zone

    def is_mapped(self) -> bool:
        """Tell whether this is ``::ffff:1.2.3.4``, an IPv4 address in IPv6."""
        return self.bits == V6_BITS and self.number >> V4_BITS == 0xFFFF


def v4_text(number: int) -> str:
    """Return ``1.2.3.4``."""
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def _v6_text(number: int) -> str:
    groups = [number >> shift & 0xFFFF for shift in range(V6_BITS - _GROUP_BITS, -1, -_GROUP_BITS)]
    # The longest run of zeros, the first of equals, of at least two groups, is written as "::".
    runs = [(_run(groups, at), -at) for at in range(_GROUPS)]
    size, at = max(runs)
    written = [f"{group:x}" for group in groups]
    if size < 2:
        return ":".join(written)
    return f"{':'.join(written[:-at])}::{':'.join(written[size - at :])}"


def _run(groups: list[int], at: int) -> int:
    size = 0
    while at + size < _GROUPS and groups[at + size] == 0:
        size += 1
    return size


def read_address(text: str) -> Address:
    """Read an address as netip.ParseAddr does. Raises AddressError."""
    first = next((char for char in text if char in ".:%"), "")
    if first == ".":
        return Address(_read_v4(text, text), V4_BITS)
    if first == ":":
        return _read_v6(text)
    raise _refuse(text, "missing IPv6 address" if first else "unable to parse IP")


def _refuse(text: str, problem: str, rest: str = "") -> AddressError:
    return AddressError(f"ParseAddr({quote_cut(text)}): {problem}{f' (at {quote_cut(rest)})' if rest else ''}")


def _read_v4(text: str, part: str) -> int:
    """Read four decimals; ``text`` is all of the address, for the message."""
    number, fields, digits, value = 0, 0, 0, 0
    for at, char in enumerate(part):
        if "0" <= char <= "9":
            if digits == 1 and value == 0:
                raise _refuse(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(char), digits + 1
            if value > 255:
                raise _refuse(text, "IPv4 field has value >255")
        elif char == ".":
            if at in (0, len(part) - 1) or part[at - 1] == ".":
                raise _refuse(text, "IPv4 field must have at least one digit", part[at:])
            if fields == 3:
                raise _refuse(text, "IPv4 address too long")
            number, fields, digits, value = number << 8 | value, fields + 1, 0, 0
        else:
            raise _refuse(text, "unexpected character", part[at:])
    if fields < 3:
        raise _refuse(text, "IPv4 address too short")
    return number << 8 | value


def _read_v6(text: str) -> Address:
    part, percent, zone = text.partition("%")
    if percent and not zone:
        raise _refuse(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if part.startswith("::"):
        ellipsis, part = 0, part[2:]
    done = ellipsis == 0 and not part
    while not done and len(groups) < _GROUPS:
        part, ellipsis, done = _read_group(text, part, groups, ellipsis)
    if part:
        raise _refuse(text, "trailing garbage after address", part)
    if len(groups) < _GROUPS:
        if ellipsis < 0:
            raise _refuse(text, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (_GROUPS - len(groups))
    elif ellipsis >= 0:
        raise _refuse(text, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << _GROUP_BITS | group
    return Address(number, V6_BITS, zone)


def _read_group(text: str, part: str, groups: list[int], ellipsis: int) -> tuple[str, int, bool]:
    """Read a group and the colon behind it: what is left, where the "::" is, and whether that was the last group."""
    digits = _HEX.match(part)
    size = digits.end() if digits else 0
    if size > 4:
        raise _refuse(text, "each group must have 4 or less digits", part)
    if size == 0:
        raise _refuse(text, "each colon-separated field must have at least one digit", part)
    rest = part[size:]
    if rest.startswith("."):
        if ellipsis < 0 and len(groups) != _GROUPS - 2:
            raise _refuse(text, "embedded IPv4 address must replace the final 2 fields of the address", part)
        if len(groups) + 2 > _GROUPS:
            raise _refuse(text, "too many hex fields to fit an embedded IPv4 at the end of the address", part)
        number = _read_v4(text, part)
        groups += (number >> _GROUP_BITS, number & 0xFFFF)
        return "", ellipsis, True
    groups.append(int(part[:size], 16))
    if not rest:
        return "", ellipsis, True
    if rest[0] != ":":
        raise _refuse(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _refuse(text, "colon must be followed by more characters", rest)
    rest = rest[1:]
    if rest[0] == ":":
        if ellipsis >= 0:
            raise _refuse(text, "multiple :: in address", rest)
        return rest[1:], len(groups), len(rest) == 1
    return rest, ellipsis, False


def parse(text: str) -> Address:
    """Return ``ip(text)``. Raises EvalError."""
    try:
        address = read_address(text)
    except AddressError as error:
        problem = f"IP Address {quote_cut(text)} parse error during conversion from string: {error}"
        raise EvalError(problem) from None
    if address.zone:
        raise EvalError(f"IP address {quote_cut(text)} with zone value is not allowed")
    if address.is_mapped():
        raise EvalError(f"IPv4-mapped IPv6 address {quote_cut(text)} is not allowed")
    return address


def is_ip(text: str) -> bool:
    """Tell whether text is an address."""
    try:
        parse(text)
    except EvalError:
        return False
    return True


def is_unspecified(address: Address) -> bool:
    """Tell whether this is ``0.0.0.0`` or ``::``."""
    return address.number == 0


def is_loopback(address: Address) -> bool:
    """Tell whether this is in 127.0.0.0/8, or ``::1``."""
    return address.number >> 24 == 127 if address.bits == V4_BITS else address.number == 1


def is_link_local_unicast(address: Address) -> bool:
    """Tell whether this is in 169.254.0.0/16 or fe80::/10."""
    return address.number >> 16 == 0xA9FE if address.bits == V4_BITS else address.number >> 118 == 0xFE80 >> 6


def is_link_local_multicast(address: Address) -> bool:
    """Tell whether this is in 224.0.0.0/24, or ff02::/16 with any flags."""
    if address.bits == V4_BITS:
        return address.number >> 8 == 0xE00000
    return address.number >> 112 & 0xFF0F == 0xFF02


def is_multicast(address: Address) -> bool:
    """Tell whether this is in 224.0.0.0/4 or ff00::/8."""
    return address.number >> 28 == 0xE if address.bits == V4_BITS else address.number >> 120 == 0xFF


def is_global_unicast(address: Address) -> bool:
    """Tell whether this is none of the above, nor 255.255.255.255; private addresses are global unicast."""
    if address.bits == V4_BITS and address.number == 2**32 - 1:
        return False
    others = (is_unspecified, is_loopback, is_multicast, is_link_local_unicast)
    return not any(other(address) for other in others)


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "string_to_ip": parse,
    "is_ip": is_ip,
    "ip_is_canonical": lambda text: parse(text).text() == text,
    "ip_family": lambda address: 4 if address.bits == V4_BITS else 6,
    "ip_is_unspecified": is_unspecified,
    "ip_is_loopback": is_loopback,
    "ip_is_link_local_multicast": is_link_local_multicast,
    "ip_is_link_local_unicast": is_link_local_unicast,
    "ip_is_global_unicast": is_global_unicast,
    "ip_to_string": Address.text,
}
