"""IP addresses and networks as values.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/ip.go and cidr.go. Python's ipaddress accepts what Go's net/netip does,
with other error messages. Zones and IPv4-mapped IPv6 addresses are rejected.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import Function, function, reads
from trainc.cel.gotext import cut, quote_cut
from trainc.cel.types import opaque
from trainc.cel.values import NO_OVERLOAD, EvalError, Opaque, Value

_LENGTH = lazy(r"[0-9]|[1-9][0-9]{1,18}", re.ASCII)
_BROADCAST: Final = ipaddress.IPv4Address("255.255.255.255")
_NOT_AN_IP: Final = "IP Address {} parse error during conversion from string: {}"
_NOT_A_CIDR: Final = "network address parse error during conversion from string: "

Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address(Opaque, frozen=True, eq=False):
    """An address."""

    type = opaque("net.IP")
    number: Number

    def text(self) -> str:
        """Return the canonical form."""
        return str(self.number)

    def equals(self, other: Value) -> bool:
        """Compare numbers and families. Raises EvalError for another type."""
        if not isinstance(other, Address):
            raise EvalError(NO_OVERLOAD)
        return self.number == other.number

    def size(self) -> int:
        """Return the number of bytes."""
        return self.number.max_prefixlen // 8

    def form(self) -> Number:
        """Return the number."""
        return self.number


class Network(Opaque, frozen=True, eq=False):
    """An address and the length of its network prefix; other bits may be set."""

    type = opaque("net.CIDR")
    address: Address
    length: int

    def text(self) -> str:
        """Return ``10.0.0.0/8``."""
        return f"{self.address.text()}/{self.length}"

    def equals(self, other: Value) -> bool:
        """Compare all bits and the length. Raises EvalError for another type."""
        if not isinstance(other, Network):
            raise EvalError(NO_OVERLOAD)
        return self.form() == other.form()

    def form(self) -> tuple[Number, int]:
        """Return address and length."""
        return self.address.number, self.length

    def size(self) -> int:
        """Return the number of bytes of the prefix."""
        return -(-self.length // 8)

    def covers(self, address: Address, length: int) -> bool:
        """Report whether an address has the same first ``length`` bits."""
        shift = self.address.number.max_prefixlen - length
        same_family = address.number.version == self.address.number.version
        return same_family and int(address.number) >> shift == int(self.address.number) >> shift


def read_number(text: str) -> Number:
    """Parse an address like netip.ParseAddr. Raises ValueError."""
    address, _, zone = text.partition("%")
    try:
        if ":" in address:
            return ipaddress.IPv6Address(address if zone else text)
        return ipaddress.IPv4Address(text)
    except ValueError as error:
        problem = str(error).partition(" in '")[0]
        raise ValueError(f"ParseAddr({quote_cut(text)}): {cut(problem)}") from None


def _is_mapped(number: Number) -> bool:
    """Report whether this is ``::ffff:1.2.3.4``, an IPv4 address in IPv6."""
    return number.version == 6 and number.ipv4_mapped is not None


def parse_ip(text: str) -> Address:
    """Return ``ip(text)``. Raises EvalError."""
    try:
        number = read_number(text)
    except ValueError as error:
        raise EvalError(_NOT_AN_IP.format(quote_cut(text), error)) from None
    if "%" in text:
        raise EvalError(f"IP address {quote_cut(text)} with zone value is not allowed")
    if _is_mapped(number):
        raise EvalError(f"IPv4-mapped IPv6 address {quote_cut(text)} is not allowed")
    return Address(number)


def parse_cidr(text: str) -> Network:
    """Return ``cidr(text)``. Raises EvalError."""
    try:
        before, slash, length = text.rpartition("/")
        if not slash:
            raise ValueError("no '/'")
        number = read_number(before)
        if "%" in before:
            raise ValueError("IPv6 zones cannot be present in a prefix")
        if not _LENGTH.fullmatch(length) or int(length) >= 2**63:
            raise ValueError(f"bad bits after slash: {quote_cut(length)}")
        if int(length) > number.max_prefixlen:
            raise ValueError("prefix length out of range")
    except ValueError as error:
        # The server repeats this prefix.
        raise EvalError(f"{_NOT_A_CIDR * 2}netip.ParsePrefix({quote_cut(text)}): {error}") from None
    if _is_mapped(number):
        raise EvalError(f"{_NOT_A_CIDR}IPv4-mapped IPv6 address {quote_cut(text)} is not allowed")
    return Network(Address(number), int(length))


def _is_link_local_multicast(address: Address) -> bool:
    """Report whether this is in 224.0.0.0/24, or ff02::/16 with any flags."""
    number = address.number
    return int(number) >> 8 == 0xE00000 if number.version == 4 else int(number) >> 112 & 0xFF0F == 0xFF02


def _is_global_unicast(address: Address) -> bool:
    """Report whether this is a global unicast address; private ones are."""
    number = address.number
    special = number.is_unspecified or number.is_loopback or number.is_multicast or number.is_link_local
    return not special and number != _BROADCAST


def contains_ip(network: Network, address: Address) -> bool:
    """Report whether an address is in a network."""
    return network.covers(address, network.length)


def contains_cidr(network: Network, other: Network) -> bool:
    """Report whether a network contains another."""
    return network.length <= other.length and network.covers(other.address, network.length)


def _contains_ip_text(network: Network, text: str) -> bool:
    try:
        address = parse_ip(text)
    except EvalError:
        raise EvalError(NO_OVERLOAD) from None  # the server loses the message here
    return contains_ip(network, address)


def masked(network: Network) -> Network:
    """Return the network with the bits after the prefix cleared."""
    number = network.address.number
    shift = number.max_prefixlen - network.length
    return Network(Address(type(number)(int(number) >> shift << shift)), network.length)


def _contains_address(args: Sequence[Value], text: bool) -> int:
    own = cost.plain_size(args[0])
    return math.ceil((own + own) * cost.TRAVERSAL) + (cost.walk(cost.plain_size(args[1])) if text else 0)


def _contains_network(args: Sequence[Value], text: bool) -> int:
    return _contains_address(args, text) + cost.walk(cost.plain_size(args[0])) + 1


_WORK: Final = cost.reading(8)


def _is(name: str, overload: str, holds: Callable[[Address], bool]) -> Function:
    return function(name, (f"ip_is_{overload}", ".(net.IP) bool", holds))


FUNCTIONS: Final = (
    function(
        "ip",
        ("string_to_ip", "(string) net.IP", parse_ip),
        ("cidr_ip", ".(net.CIDR) net.IP", lambda network: network.address, 1),
        cost=cost.first_plain,
        work=_WORK,
    ),
    function("isIP", ("is_ip", "(string) bool", reads(parse_ip)), cost=cost.first_plain, work=_WORK),
    function(
        "ip.isCanonical",
        ("ip_is_canonical", "(string) bool", lambda text: parse_ip(text).text() == text),
        cost=cost.first_plain_twice,
        work=_WORK,
    ),
    function("family", ("ip_family", ".(net.IP) int", lambda address: address.number.version)),
    _is("isUnspecified", "unspecified", lambda address: address.number.is_unspecified),
    _is("isLoopback", "loopback", lambda address: address.number.is_loopback),
    _is("isLinkLocalMulticast", "link_local_multicast", _is_link_local_multicast),
    _is("isLinkLocalUnicast", "link_local_unicast", lambda address: address.number.is_link_local),
    _is("isGlobalUnicast", "global_unicast", _is_global_unicast),
    function(
        "string",
        ("ip_to_string", "(net.IP) string", Address.text),
        ("cidr_to_string", "(net.CIDR) string", Network.text),
    ),
    function("cidr", ("string_to_cidr", "(string) net.CIDR", parse_cidr), cost=cost.first_plain, work=_WORK),
    function("isCIDR", ("is_cidr", "(string) bool", reads(parse_cidr)), cost=cost.first_plain, work=_WORK),
    function(
        "containsIP",
        (
            "cidr_contains_ip_string",
            ".(net.CIDR, string) bool",
            _contains_ip_text,
            lambda args, _: _contains_address(args, True),
        ),
        ("cidr_contains_ip_ip", ".(net.CIDR, net.IP) bool", contains_ip),
        cost=lambda args, _: _contains_address(args, False),
        work=_WORK,
    ),
    function(
        "containsCIDR",
        (
            "cidr_contains_cidr_string",
            ".(net.CIDR, string) bool",
            lambda network, text: contains_cidr(network, parse_cidr(text)),
            lambda args, _: _contains_network(args, True),
        ),
        ("cidr_contains_cidr", ".(net.CIDR, net.CIDR) bool", contains_cidr),
        cost=lambda args, _: _contains_network(args, False),
        work=_WORK,
    ),
    function("masked", ("cidr_masked", ".(net.CIDR) net.CIDR", masked)),
    function("prefixLength", ("cidr_prefix_length", ".(net.CIDR) int", lambda network: network.length)),
)
