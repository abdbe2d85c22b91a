"""IP addresses, networks and URLs as values.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library (ip.go, cidr.go, urls.go) and pkg/cel/url.go. Zones and IPv4-mapped
IPv6 addresses are rejected.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import Function, Run, Work, function, reads
from trainc.cel.types import opaque, struct
from trainc.cel.values import NO_OVERLOAD, EvalError, Opaque, Value
from trainc.cel.work import CHARACTERS
from trainc.kube import gonet
from trainc.kube.fielderror import quote_cut

_LENGTH = lazy(r"[0-9]|[1-9][0-9]{1,18}", re.ASCII)
_BROADCAST: Final = ipaddress.IPv4Address("255.255.255.255")
_NOT_AN_IP: Final = "IP Address {} parse error during conversion from string: {}"
_NOT_A_CIDR: Final = "network address parse error during conversion from string: "


class Address(Opaque, frozen=True, eq=False):
    """An address."""

    type = opaque("net.IP")
    number: gonet.Number

    def text(self) -> str:
        """Return the canonical form."""
        return str(self.number)

    def size(self) -> int:
        """Return the number of bytes."""
        return self.number.max_prefixlen // 8

    def form(self) -> gonet.Number:
        """Return the number."""
        return self.number


class Network(Opaque, frozen=True, eq=False):
    """An address with the length of its network prefix; other bits may be set."""

    type = opaque("net.CIDR")
    number: gonet.Number
    length: int

    def text(self) -> str:
        """Return the canonical form, ``10.0.0.0/8``."""
        return f"{self.number}/{self.length}"

    def size(self) -> int:
        """Return the number of bytes of the prefix."""
        return -(-self.length // 8)

    def form(self) -> tuple[gonet.Number, int]:
        """Return the number and the length."""
        return self.number, self.length

    @property
    def rest(self) -> int:
        """The number of bits after the prefix."""
        return self.number.max_prefixlen - self.length


def parse_ip(text: str) -> Address:
    """Return ``ip(text)``. Raises EvalError."""
    try:
        number = gonet.read_number(text)
    except ValueError as error:
        raise EvalError(_NOT_AN_IP.format(quote_cut(text), error)) from None
    if "%" in text:
        raise EvalError(f"IP address {quote_cut(text)} with zone value is not allowed")
    if getattr(number, "ipv4_mapped", None) is not None:
        raise EvalError(f"IPv4-mapped IPv6 address {quote_cut(text)} is not allowed")
    return Address(number)


def parse_cidr(text: str) -> Network:
    """Return ``cidr(text)``. Raises EvalError."""
    try:
        before, slash, length = text.rpartition("/")
        if not slash:
            raise ValueError("no '/'")
        number = gonet.read_number(before)
        if "%" in before:
            raise ValueError("IPv6 zones cannot be present in a prefix")
        if not _LENGTH.fullmatch(length) or int(length) >= 2**63:
            raise ValueError(f"bad bits after slash: {quote_cut(length)}")
        if int(length) > number.max_prefixlen:
            raise ValueError("prefix length out of range")
    except ValueError as error:
        # The server repeats this prefix.
        raise EvalError(f"{_NOT_A_CIDR * 2}netip.ParsePrefix({quote_cut(text)}): {error}") from None
    if getattr(number, "ipv4_mapped", None) is not None:
        raise EvalError(f"{_NOT_A_CIDR}IPv4-mapped IPv6 address {quote_cut(text)} is not allowed")
    return Network(number, int(length))


def _is_link_local_multicast(address: Address) -> bool:
    """Return whether this is in 224.0.0.0/24, or ff02::/16 with any flags."""
    number = address.number
    return int(number) >> 8 == 0xE00000 if number.version == 4 else int(number) >> 112 & 0xFF0F == 0xFF02


def _is_global_unicast(address: Address) -> bool:
    """Return whether this is a global unicast address; private ones are."""
    number = address.number
    special = number.is_unspecified or number.is_loopback or number.is_multicast or number.is_link_local
    return not special and number != _BROADCAST


def contains_ip(network: Network, address: Address) -> bool:
    """Return whether an address is in a network."""
    return _contains(network, address.number)


def contains_cidr(network: Network, other: Network) -> bool:
    """Return whether a network contains another."""
    return network.length <= other.length and _contains(network, other.number)


def _contains(network: Network, number: gonet.Number) -> bool:
    same = network.number.version == number.version
    return same and int(network.number) >> network.rest == int(number) >> network.rest


def _contains_ip_text(network: Network, text: str) -> bool:
    try:
        address = parse_ip(text)
    except EvalError:
        raise EvalError(NO_OVERLOAD) from None  # the server loses the message here
    return contains_ip(network, address)


def masked(network: Network) -> Network:
    """Return the network with the bits after the prefix cleared."""
    number, rest = network.number, network.rest
    return Network(number.__class__(int(number) >> rest << rest), network.length)


# URLs


class Url(Opaque, frozen=True, eq=False):
    """A URL."""

    type = struct("kubernetes.URL")
    parts: gonet.Url

    def text(self) -> str:
        """Return the URL as text."""
        return self.parts.text()

    def weight(self) -> int:
        """Return the number of characters in the parts that are escaped each time."""
        url = self.parts
        return 1 + sum(map(len, (url.path, url.raw_path, url.raw_query, url.fragment, url.host))) // 2


def parse_url(text: str) -> Url:
    """Return ``url(text)``: an absolute URL, or a path from the root. Raises EvalError."""
    try:
        # ParseRequestURI validates the URL, but does not parse fragments.
        gonet.read_url(text, request=True)
        return Url(gonet.read_url(text))
    except gonet.UrlError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


# Costs, work and rows


def _contains_address(args: Sequence[Value], text: bool) -> int:
    own = cost.plain_size(args[0])
    return math.ceil((own + own) * cost.TRAVERSAL) + (cost.walk(cost.plain_size(args[1])) if text else 0)


def _contains_network(args: Sequence[Value], text: bool) -> int:
    return _contains_address(args, text) + cost.walk(cost.plain_size(args[0])) + 1


_WORK: Final = cost.reading(8)
_PARSED: Final = cost.reading(CHARACTERS)


def _is(name: str, overload: str, holds: Callable[[Address], bool]) -> Function:
    return function(name, (f"ip_is_{overload}", ".(net.IP) bool", holds))


def _part(name: str, overload: str, result: str, run: Run, work: Work | None = None) -> Function:
    return function(name, (f"url_get_{overload}", f".(kubernetes.URL) {result}", run), work=work)


_text = partial(function, cost=cost.first_plain, work=_WORK)

FUNCTIONS: Final = (
    _text(
        "ip",
        ("string_to_ip", "(string) net.IP", parse_ip),
        ("cidr_ip", ".(net.CIDR) net.IP", lambda network: Address(network.number), 1),
    ),
    _text("isIP", ("is_ip", "(string) bool", reads(parse_ip))),
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
    _text("cidr", ("string_to_cidr", "(string) net.CIDR", parse_cidr)),
    _text("isCIDR", ("is_cidr", "(string) bool", reads(parse_cidr))),
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
    function("url", ("string_to_url", "(string) kubernetes.URL", parse_url), cost=cost.first_plain, work=_PARSED),
    function("isURL", ("is_url_string", "(string) bool", gonet.is_request), work=_PARSED),
    _part("getScheme", "scheme", "string", lambda url: url.parts.scheme),
    _part("getHost", "host", "string", lambda url: gonet.readable(url.parts.host)),
    _part("getHostname", "hostname", "string", lambda url: gonet.readable(url.parts.split_host()[0])),
    _part("getPort", "port", "string", lambda url: url.parts.split_host()[1]),
    _part("getEscapedPath", "escaped_path", "string", lambda url: url.parts.escaped_path(), cost.reading(1)),
    _part("getQuery", "query", "map(string, list(string))", lambda url: url.parts.query(), cost.reading(1)),
)
