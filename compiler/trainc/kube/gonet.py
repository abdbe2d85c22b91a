"""Addresses and URLs as Go 1.26 reads and writes them: net/netip and net/url (Parse, ParseRequestURI, String, Query).

Python's ipaddress accepts what net/netip does, with other error messages.
"""

from __future__ import annotations

import ipaddress
import re
from functools import partial
from typing import TypeAlias
from urllib.parse import quote as percent_encoded
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from trainc.basics.regex import lazy
from trainc.kube.fielderror import cut, quote, quote_cut

Number: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


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


MOST_PARAMETERS = 10_000
"""A query with more parameters counts as empty."""

_percent = partial(percent_encoded, errors="surrogateescape")
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


class UrlError(ValueError):
    """A text that is not a URL; the message is Go's."""


class Url(msgspec.Struct, frozen=True):
    """The parts of a URL, as in Go's url.URL: path and fragment decoded, raw ones if they differ."""

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
                key, value = (readable(_unescape(text.replace("+", " "))) for text in (key, value))
            except UrlError:
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
                authority += _percent(name, _USER) + ("" if password is None else f":{_percent(password, _USER)}") + "@"
            authority += _percent(self.host, _HOST)
        path = self.escaped_path()
        if path and path[0] != "/" and self.host:
            path = f"/{path}"
        if not self.scheme and not authority and ":" in path.partition("/")[0]:
            path = f"./{path}"
        return authority + path


def read_url(text: str, request: bool = False) -> Url:
    """Parse like url.Parse, or for a request like url.ParseRequestURI: absolute URLs and paths, no fragments.

    Raises UrlError with the whole message of Go.
    """
    before, _, fragment = (text, "", "") if request else text.partition("#")
    try:
        url = _read(before, request)
        if not fragment:
            return url
        before = text
        decoded = _unescape(fragment)
    except UrlError as error:
        raise UrlError(f"parse {quote_cut(before)}: {error}") from None
    raw = "" if _percent(decoded, _FRAGMENT) == fragment else fragment
    return replace(url, fragment=decoded, raw_fragment=raw)


def is_request(text: str) -> bool:
    """Return whether url.ParseRequestURI accepts a text."""
    try:
        read_url(text, request=True)
    except ValueError:  # also for half of a surrogate pair
        return False
    return True


def _read(text: str, absolute: bool) -> Url:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and absolute:
        raise UrlError("empty url")
    if text == "*":
        return Url(path="*")
    found = _SCHEME.match(text)
    if found is not None and found.group(1) is None:
        raise UrlError("missing protocol scheme")
    scheme = "" if found is None else found.group(1).lower()
    rest = text if found is None else text[found.end() :]
    rest, question, query = rest.partition("?")
    url = Url(scheme, raw_query=query, force_query=bool(question) and not query)
    if not rest.startswith("/"):
        if scheme:
            return replace(url, opaque=rest)
        if absolute:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    if rest.startswith("//") and (scheme or (not absolute and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, at, host = authority.rpartition("@")
        url = replace(url, host=_read_host(scheme, host), user=_read_user(user) if at else None)
    else:
        url = replace(url, omit_host=bool(scheme) and rest.startswith("/"))
    decoded = _unescape(rest)
    return replace(url, path=decoded, raw_path="" if _percent(decoded, _PATH) == rest else rest)


def _read_user(text: str) -> tuple[str, str | None]:
    if not _USER_INFO.fullmatch(text):
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = text.partition(":")
    return _unescape(name), _unescape(password) if colon else None


def _read_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
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
        raise UrlError(f"invalid port {quote_cut(port)} after host")


def _read_literal(host: str) -> str:
    """Parse ``[::1]:80``, also with a zone after ``%25``."""
    end = host.rfind("]")
    if end < 0:
        raise UrlError("missing ']' in host")
    name, port = host[1:end], host[end + 1 :]
    _check_port(port)
    zone = name.find("%25")
    name = _unescape_host(name) if zone < 0 else _unescape_host(name[:zone]) + _unescape_host(name[zone:], zone=True)
    try:
        version = read_number(name).version
    except ValueError as error:
        raise UrlError(f"invalid host: {error}") from None
    if version == 4:
        raise UrlError("invalid IP-literal")
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
            raise UrlError(f"invalid {what.format(quote(part))}")
    return _unescape(text)


def _unescape(text: str) -> str:
    """Decode percent escapes. Raises UrlError for an invalid one."""
    if bad := _BAD_ESCAPE.search(text):
        start = text[bad.start() :].encode()[:3]  # Go cuts bytes, and so characters
        whole = start.decode(errors="ignore")
        rest = "".join(f"\\x{byte:02x}" for byte in start[len(whole.encode()) :])
        raise UrlError(f'invalid URL escape {quote(whole)[:-1]}{rest}"')
    return unquote(text, errors="surrogateescape")  # bytes that are not UTF-8 are kept


def readable(text: str) -> str:
    """Return a part of a URL as a text of CEL: bytes that are not UTF-8 become U+FFFD."""
    return text if text.isascii() else text.encode(errors="surrogateescape").decode(errors="replace")


def _escaped(raw: str, decoded: str, allowed: str) -> str:
    """Return the original text if it is a valid encoding, else an encoded one."""
    usable = raw and all(char in allowed or char in _ALSO_VALID for char in raw) and _unescape(raw) == decoded
    return raw if usable else _percent(decoded, allowed)
