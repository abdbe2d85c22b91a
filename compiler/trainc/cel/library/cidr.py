"""Networks as values: cidr(), isCIDR() and what networks contain.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library/cidr.go, Go's net/netip (ParsePrefix).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from trainc.cel.gotext import quote_cut
from trainc.cel.library import ip
from trainc.cel.library.ip import Address, AddressError, read_address
from trainc.cel.types import opaque
from trainc.cel.values import EvalError, Opaque, Value

_LENGTH = re.compile(r"[0-9]|[1-9][0-9]+", re.ASCII)
_MOST_DIGITS = 19
_PARSE_ERROR = "network address parse error during conversion from string: "


class Network(Opaque, frozen=True, eq=False):
    """An address and how many of its bits are the network's; the others need not be 0."""

    type = opaque("net.CIDR")
    address: Address
    length: int

    def text(self) -> str:
        """Return ``10.0.0.0/8``."""
        return f"{self.address.text()}/{self.length}"

    def equals(self, other: Value) -> bool:
        """Compare all bits and the length. Raises EvalError for another type."""
        if not isinstance(other, Network):
            raise EvalError("no such overload")
        return self.length == other.length and self.address.equals(other.address)

    def form(self) -> tuple[object, int]:
        """Return what stands for the address, and the length."""
        return self.address.form(), self.length

    def size(self) -> int:
        """Return the number of bytes that the network's own bits take."""
        return -(-self.length // 8)

    def covers(self, address: Address, length: int) -> bool:
        """Tell whether the first length bits of an address are those of this network."""
        shift = self.address.bits - length
        return address.bits == self.address.bits and address.number >> shift == self.address.number >> shift


def _read(text: str) -> Network:
    """Read a network. Raises EvalError, without cidr()'s own words before the message."""
    before, slash, length = text.rpartition("/")
    if not slash:
        raise _refuse(text, "no '/'")
    try:
        address = read_address(before)
    except AddressError as error:
        raise _refuse(text, str(error)) from None
    if address.zone:
        raise _refuse(text, "IPv6 zones cannot be present in a prefix")
    if not _LENGTH.fullmatch(length) or len(length) > _MOST_DIGITS or int(length) >= 2**63:
        raise _refuse(text, f"bad bits after slash: {quote_cut(length)}")
    if int(length) > address.bits:
        raise _refuse(text, "prefix length out of range")
    if address.is_mapped():
        raise EvalError(f"IPv4-mapped IPv6 address {quote_cut(text)} is not allowed")
    return Network(address, int(length))


def _refuse(text: str, problem: str) -> EvalError:
    return EvalError(f"{_PARSE_ERROR}netip.ParsePrefix({quote_cut(text)}): {problem}")


def parse(text: str) -> Network:
    """Return ``cidr(text)``. Raises EvalError."""
    try:
        return _read(text)
    except EvalError as error:
        # The server says so twice.
        raise EvalError(_PARSE_ERROR + error.message) from None


def is_cidr(text: str) -> bool:
    """Tell whether text is a network."""
    try:
        _read(text)
    except EvalError:
        return False
    return True


def contains_ip(network: Network, address: Address) -> bool:
    """Tell whether an address is in a network."""
    return network.covers(address, network.length)


def contains_cidr(network: Network, other: Network) -> bool:
    """Tell whether all of a network is in another."""
    return network.length <= other.length and network.covers(other.address, network.length)


def _contains_ip_text(network: Network, text: str) -> bool:
    try:
        address = ip.parse(text)
    except EvalError:
        raise EvalError("no such overload") from None  # the server loses the message here, not for networks
    return contains_ip(network, address)


def masked(network: Network) -> Network:
    """Return the network with all bits 0 that are not its own."""
    address = network.address
    shift = address.bits - network.length
    return Network(Address(address.number >> shift << shift, address.bits), network.length)


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "string_to_cidr": parse,
    "is_cidr": is_cidr,
    "cidr_contains_ip_ip": contains_ip,
    "cidr_contains_ip_string": _contains_ip_text,
    "cidr_contains_cidr": contains_cidr,
    "cidr_contains_cidr_string": lambda network, text: contains_cidr(network, parse(text)),
    "cidr_ip": lambda network: network.address,
    "cidr_masked": masked,
    "cidr_prefix_length": lambda network: network.length,
    "cidr_to_string": Network.text,
}
