"""IP addresses, networks and URLs as values.

Source: k8s.io/apiserver v0.34.4 pkg/cel/library (ip.go, cidr.go, urls.go) and pkg/cel/url.go. Python's ipaddress
accepts what Go's net/netip does, with other error messages; zones and IPv4-mapped IPv6 addresses are rejected. URLs are
parsed and formatted as in net/url of Go 1.26: Parse, ParseRequestURI, String, EscapedPath, Query.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote

from msgspec.structs import replace

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import Function, Run, Work, function, reads
from trainc.cel.gotext import cut, quote_cut
from trainc.cel.types import opaque, struct
from trainc.cel.values import NO_OVERLOAD, EvalError, Opaque, Value
from trainc.cel.work import CHARACTERS
from trainc.kube.fielderror import quote

_LENGTH = lazy(r"[0-9]|[1-9][0-9]{1,18}", re.ASCII)
_BROADCAST: Final = ipaddress.IPv4Address("255.255.255.255")
_NOT_AN_IP: Final = "IP Address {} parse error during conversion from string: {}"
_NOT_A_CIDR: Final = "network address parse error during conversion from string: "

percent: Final = partial(percent_encoded, errors="surrogateescape")

Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class Address(Opaque, frozen=True, eq=False):
    """An address."""

    type = opaque("net.IP")
    number: Number

    def text(self) -> str:
        """Return the canonical form."""
        return str(self.number)

    def size(self) -> int:
        """Return the number of bytes."""
        return self.number.max_prefixlen // 8

    def form(self) -> Number:
        """Return the number."""
        return self.number


class Network(Opaque, frozen=True, eq=False):
    """An address with the length of its network prefix; other bits may be set."""

    type = opaque("net.CIDR")
    number: Number
    length: int

    def text(self) -> str:
        """Return the canonical form, ``10.0.0.0/8``."""
        return f"{self.number}/{self.length}"

    def size(self) -> int:
        """Return the number of bytes of the prefix."""
        return -(-self.length // 8)

    def form(self) -> tuple[Number, int]:
        """Return the number and the length."""
        return self.number, self.length

    @property
    def rest(self) -> int:
        """The number of bits after the prefix."""
        return self.number.max_prefixlen - self.length


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


def parse_ip(text: str) -> Address:
    """Return ``ip(text)``. Raises EvalError."""
    try:
        number = read_number(text)
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


def _contains(network: Network, number: Number) -> bool:
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

MOST_PARAMETERS = 10_000
"""A query with more parameters counts as empty."""

_CONTROL = lazy("[\0-\x1f\x7f]")
_SCHEME = lazy(r"([A-Za-z][A-Za-z0-9+.-]*)?:", re.ASCII)
_USER_INFO = lazy(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_PORT = lazy(r"(?::[0-9]*)?", re.ASCII)
_ESCAPE_OR_CHARACTER = lazy(r"%[0-9A-Fa-f]{2}|.")
_BAD_ESCAPE = lazy(r"%(?![0-9A-Fa-f]{2})", re.ASCII)

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_PATH, _USER, _FRAGMENT = "$&+,/:;=@", "$&+,;=", "$&+,/:;=?@!()*"
_HOST = "!$&'()*+,;=:[]<>\"" + _UNRESERVED
_ALSO_VALID = frozenset("!$&'()*+,;=:@[]%" + _UNRESERVED)
"""Characters that may stay unescaped in a path or fragment, though Go would escape some of them."""


class Url(Opaque, frozen=True, eq=False):
    """The parts of a URL, as in Go's url.URL: path and fragment decoded, raw ones if they differ."""

    type = struct("kubernetes.URL")
    scheme: str = ""
    opaque: str = ""
    user: tuple[str, str | None] | None = None
    host: str = ""
    path: str = ""
    raw_path: str = ""
    raw_query: str = ""
    force_query: bool = False
    omit_host: bool = False
    fragment: str = ""
    raw_fragment: str = ""

    def weight(self) -> int:
        """Return the number of characters in the parts that are escaped each time."""
        return 1 + sum(map(len, (self.path, self.raw_path, self.raw_query, self.fragment, self.host))) // 2

    def split_host(self) -> tuple[str, str]:
        """Return the host without its port and brackets, and the port or an empty string."""
        host, colon, port = self.host.rpartition(":")
        if not colon or not _PORT.fullmatch(colon + port):
            host, port = self.host, ""
        return (host[1:-1] if host.startswith("[") and host.endswith("]") else host), port

    def escaped_path(self) -> str:
        """Return the original path if it is a valid encoding, else an encoded one."""
        return "*" if self.path == "*" else _escaped(self.raw_path, self.path, _PATH)

    def query(self) -> dict[str, list[str]]:
        """Return the parameters, without those with invalid escapes or semicolons."""
        found: dict[str, list[str]] = {}
        if self.raw_query.count("&") >= MOST_PARAMETERS:
            return found
        for part in self.raw_query.split("&"):
            if not part or ";" in part:
                continue
            key, _, value = part.partition("=")
            try:
                key, value = (_readable(_unescape(text.replace("+", " "))) for text in (key, value))
            except EvalError:
                continue
            found.setdefault(key, []).append(value)
        return found

    def text(self) -> str:
        """Return the URL as text."""
        body = self.opaque or self._authority_and_path()
        query = f"?{self.raw_query}" if self.force_query or self.raw_query else ""
        fragment = f"#{_escaped(self.raw_fragment, self.fragment, _FRAGMENT)}" if self.fragment else ""
        return f"{self.scheme}{':' * bool(self.scheme)}{body}{query}{fragment}"

    def _authority_and_path(self) -> str:
        authority = ""
        bare = not self.host and self.user is None
        if (self.scheme and not (self.omit_host and bare)) or not bare:
            authority = "//" if not bare or self.path else ""
            if self.user is not None:
                name, password = self.user
                authority += percent(name, _USER) + ("" if password is None else f":{percent(password, _USER)}") + "@"
            authority += percent(self.host, _HOST)
        path = self.escaped_path()
        if path and path[0] != "/" and self.host:
            path = f"/{path}"
        if not self.scheme and not authority and ":" in path.partition("/")[0]:
            path = f"./{path}"
        return authority + path


def read_url(text: str, request: bool = False) -> Url:
    """Parse like url.Parse, or for a request like url.ParseRequestURI: absolute URLs and paths, no fragments.

    Raises EvalError with the whole message of Go.
    """
    before, _, fragment = (text, "", "") if request else text.partition("#")
    try:
        url = _read(before, request)
        if not fragment:
            return url
        before = text
        decoded = _unescape(fragment)
    except EvalError as error:
        raise EvalError(f"parse {quote_cut(before)}: {error}") from None
    raw = "" if percent(decoded, _FRAGMENT) == fragment else fragment
    return replace(url, fragment=decoded, raw_fragment=raw)


def _read(text: str, absolute: bool) -> Url:
    if _CONTROL.search(text):
        raise EvalError("net/url: invalid control character in URL")
    if not text and absolute:
        raise EvalError("empty url")
    if text == "*":
        return Url(path="*")
    found = _SCHEME.match(text)
    if found is not None and found.group(1) is None:
        raise EvalError("missing protocol scheme")
    scheme = "" if found is None else found.group(1).lower()
    rest = text if found is None else text[found.end() :]
    rest, question, query = rest.partition("?")
    url = Url(scheme, raw_query=query, force_query=bool(question) and not query)
    if not rest.startswith("/"):
        if scheme:
            return replace(url, opaque=rest)
        if absolute:
            raise EvalError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise EvalError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (scheme or (not absolute and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, at, host = authority.rpartition("@")
        url = replace(url, host=_read_host(scheme, host), user=_read_user(user) if at else None)
    else:
        url = replace(url, omit_host=bool(scheme) and rest.startswith("/"))
    decoded = _unescape(rest)
    return replace(url, path=decoded, raw_path="" if percent(decoded, _PATH) == rest else rest)


def _read_user(text: str) -> tuple[str, str | None]:
    if not _USER_INFO.fullmatch(text):
        raise EvalError("net/url: invalid userinfo")
    name, colon, password = text.partition(":")
    return _unescape(name), _unescape(password) if colon else None


def _read_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise EvalError("invalid IP-literal")
    if bracket == 0:
        return _read_literal(host)
    colon = host.find(":")
    if colon >= 0:
        if scheme not in ("http", "https"):
            # Database URLs may list several hosts.
            colon = host.rfind(":")
        _check_port(host[colon:])
    return _unescape_host(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise EvalError(f"invalid port {quote_cut(port)} after host")


def _read_literal(host: str) -> str:
    """Parse ``[::1]:80``, also with a zone after ``%25``."""
    end = host.rfind("]")
    if end < 0:
        raise EvalError("missing ']' in host")
    name, port = host[1:end], host[end + 1 :]
    _check_port(port)
    zone = name.find("%25")
    name = _unescape_host(name) if zone < 0 else _unescape_host(name[:zone]) + _unescape_host(name[zone:], zone=True)
    try:
        version = read_number(name).version
    except ValueError as error:
        raise EvalError(f"invalid host: {error}") from None
    if version == 4:
        raise EvalError("invalid IP-literal")
    return f"[{name}]{port}"


def _unescape_host(text: str, zone: bool = False) -> str:
    """Decode a host, which may escape only bytes beyond ASCII, or a zone, which may also escape host characters."""
    for found in _ESCAPE_OR_CHARACTER.finditer(_BAD_ESCAPE.split(text, 1)[0]):  # the first mistake is reported
        part = found.group()
        code = int(part[1:], 16) if len(part) == 3 else ord(part)
        allowed = code >= 0x80 or chr(code) in _HOST
        if len(part) == 3:
            allowed = part == "%25" or (code == 0x20 or chr(code) in _HOST if zone else code >= 0x80)
        if not allowed:
            what = "URL escape {}" if len(part) == 3 else "character {} in host name"
            raise EvalError(f"invalid {what.format(quote(part))}")
    return _unescape(text)


def _unescape(text: str) -> str:
    """Decode percent escapes. Raises EvalError for an invalid one."""
    if bad := _BAD_ESCAPE.search(text):
        start = text[bad.start() :].encode()[:3]  # Go cuts bytes, and so characters
        whole = start.decode(errors="ignore")
        rest = "".join(f"\\x{byte:02x}" for byte in start[len(whole.encode()) :])
        raise EvalError(f'invalid URL escape {quote(whole)[:-1]}{rest}"')
    return unquote(text, errors="surrogateescape")  # bytes that are not UTF-8 are kept


def _readable(text: str) -> str:
    """Return a part of a URL as a text of CEL: bytes that are not UTF-8 become U+FFFD."""
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="replace")


def _escaped(raw: str, decoded: str, allowed: str) -> str:
    """Return the original text if it is a valid encoding, else an encoded one."""
    usable = raw and all(char in allowed or char in _ALSO_VALID for char in raw) and _unescape(raw) == decoded
    return raw if usable else percent(decoded, allowed)


def parse_url(text: str) -> Url:
    """Return ``url(text)``: an absolute URL, or a path from the root. Raises EvalError."""
    try:
        # ParseRequestURI validates the URL, but does not parse fragments.
        read_url(text, request=True)
        return read_url(text)
    except EvalError as error:
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
    function("isURL", ("is_url_string", "(string) bool", reads(partial(read_url, request=True))), work=_PARSED),
    _part("getScheme", "scheme", "string", lambda url: url.scheme),
    _part("getHost", "host", "string", lambda url: _readable(url.host)),
    _part("getHostname", "hostname", "string", lambda url: _readable(url.split_host()[0])),
    _part("getPort", "port", "string", lambda url: url.split_host()[1]),
    _part("getEscapedPath", "escaped_path", "string", Url.escaped_path, cost.reading(1)),
    _part("getQuery", "query", "map(string, list(string))", Url.query, cost.reading(1)),
)
