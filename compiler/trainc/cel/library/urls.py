"""URLs as values, parsed and formatted as in Go's package net/url: Parse, ParseRequestURI, String, EscapedPath, Query.

Source: Go 1.26; k8s.io/apiserver v0.34.4 pkg/cel/url.go and pkg/cel/library/urls.go.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote as percent
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.regex import lazy
from trainc.cel import cost
from trainc.cel.functions import Function, Run, function
from trainc.cel.gotext import quote_cut
from trainc.cel.library.net import read_number
from trainc.cel.types import struct
from trainc.cel.values import NO_OVERLOAD, EvalError, Opaque, Value
from trainc.cel.work import CHARACTERS
from trainc.kube.fielderror import quote

MOST_PARAMETERS = 10_000
"""A query with more parameters counts as empty."""

_CONTROL = lazy("[\0-\x1f\x7f]")
_SCHEME = lazy(r"([A-Za-z][A-Za-z0-9+.-]*)?:", re.ASCII)
_USER_INFO = lazy(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*", re.ASCII)
_PORT = lazy(r"(?::[0-9]*)?", re.ASCII)
_ESCAPE_OR_CHARACTER = lazy(r"%[0-9A-Fa-f]{2}|.", re.ASCII | re.DOTALL)
_BAD_ESCAPE = lazy(r"%(?![0-9A-Fa-f]{2})", re.ASCII)

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~"
_PATH, _USER, _FRAGMENT = "$&+,/:;=@", "$&+,;=", "$&+,/:;=?@!()*"
_HOST = "!$&'()*+,;=:[]<>\"" + _UNRESERVED
_ALSO_VALID = frozenset("!$&'()*+,;=:@[]%" + _UNRESERVED)
"""Characters that may stay unescaped in a path or fragment, though Go would escape some of them."""


class UrlError(ValueError):
    """An invalid URL; the message is Go's, without the URL."""


class Url(Struct, frozen=True):
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

    def hostname(self) -> str:
        """Return the host without its port, and without brackets."""
        return self._split_host()[0]

    def port(self) -> str:
        """Return the port or an empty string."""
        return self._split_host()[1]

    def _split_host(self) -> tuple[str, str]:
        host, colon, port = self.host.rpartition(":")
        if not colon or not _PORT.fullmatch(colon + port):
            host, port = self.host, ""
        return (host[1:-1] if host.startswith("[") and host.endswith("]") else host), port

    def escaped_path(self) -> str:
        """Return the original path if it is a valid encoding, else an encoded one."""
        if self.path == "*" and not _usable(self.raw_path, self.path, _PATH):
            return "*"
        return _escaped(self.raw_path, self.path, _PATH)

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
                key, value = (_unescape(text.replace("+", " ")) for text in (key, value))
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
                authority += percent(name, _USER) + ("" if password is None else f":{percent(password, _USER)}") + "@"
            authority += percent(self.host, _HOST)
        path = self.escaped_path()
        if path and path[0] != "/" and self.host:
            path = f"/{path}"
        if not self.scheme and not authority and ":" in path.partition("/")[0]:
            path = f"./{path}"
        return authority + path


def parse(text: str, request: bool = False) -> Url:
    """Parse like url.Parse, or for a request like url.ParseRequestURI: absolute URLs and paths, no fragments.

    Raises UrlError with the whole message.
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
    raw = "" if percent(decoded, _FRAGMENT) == fragment else fragment
    return replace(url, fragment=decoded, raw_fragment=raw)


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
    url = Url(scheme=scheme, raw_query=query, force_query=bool(question) and not query)
    if not rest.startswith("/"):
        if scheme:
            return replace(url, opaque=rest)
        if absolute:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    return _with_authority(url, rest, absolute)


def _with_authority(url: Url, rest: str, absolute: bool) -> Url:
    if rest.startswith("//") and (url.scheme or (not absolute and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, at, host = authority.rpartition("@")
        url = replace(url, host=_read_host(url.scheme, host))
        if at:
            url = replace(url, user=_read_user(user))
    elif url.scheme and rest.startswith("/"):
        url = replace(url, omit_host=True)
    decoded = _unescape(rest)
    return replace(url, path=decoded, raw_path="" if percent(decoded, _PATH) == rest else rest)


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
        address = read_number(name)
    except ValueError as error:
        raise UrlError(f"invalid host: {error}") from None
    if address.version == 4:
        raise UrlError("invalid IP-literal")
    return f"[{name}]{port}"


def _unescape_host(text: str, zone: bool = False) -> str:
    """Decode a host, which may escape only bytes beyond ASCII, or a zone, which may also escape host characters."""
    decoded = _unescape(text)
    for found in _ESCAPE_OR_CHARACTER.finditer(text):
        part = found.group()
        code = int(part[1:], 16) if len(part) == 3 else ord(part)
        allowed = code >= 0x80 or chr(code) in _HOST
        if len(part) == 3:
            allowed = part == "%25" or (code == 0x20 or chr(code) in _HOST if zone else code >= 0x80)
        if not allowed:
            what = "URL escape {}" if len(part) == 3 else "character {} in host name"
            raise UrlError(f"invalid {what.format(quote(part))}")
    return decoded


def _unescape(text: str) -> str:
    """Decode percent escapes. Raises UrlError for an invalid one."""
    if bad := _BAD_ESCAPE.search(text):
        raise UrlError(f"invalid URL escape {quote(text[bad.start() : bad.start() + 3])}")
    return unquote(text)


def _escaped(raw: str, decoded: str, allowed: str) -> str:
    return raw if _usable(raw, decoded, allowed) else percent(decoded, allowed)


def _usable(raw: str, decoded: str, allowed: str) -> bool:
    return bool(raw) and all(char in allowed or char in _ALSO_VALID for char in raw) and _unescape(raw) == decoded


class UrlValue(Opaque, frozen=True, eq=False):
    """A URL; two are equal if their texts are."""

    type = struct("kubernetes.URL")
    url: Url

    def text(self) -> str:
        """Return the URL as Go formats it."""
        return self.url.text()

    def weight(self) -> int:
        """Return the number of characters in the parts that are escaped each time."""
        url = self.url
        return 1 + (len(url.path) + len(url.raw_path) + len(url.raw_query) + len(url.fragment) + len(url.host)) // 2

    def equals(self, other: Value) -> bool:
        """Compare the texts. Raises EvalError for another type."""
        if not isinstance(other, UrlValue):
            raise EvalError(NO_OVERLOAD)
        return self.text() == other.text()


def parse_url(text: str) -> UrlValue:
    """Return ``url(text)``: an absolute URL, or a path from the root. Raises EvalError."""
    try:
        # ParseRequestURI validates the URL, but does not parse fragments.
        parse(text, request=True)
        return UrlValue(parse(text))
    except UrlError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


def _is_url(text: str) -> bool:
    try:
        parse(text, request=True)
    except UrlError:
        return False
    return True


_PARSED: Final = cost.reading(CHARACTERS)


def _part(name: str, overload: str, result: str, run: Run, costly: bool = False) -> Function:
    work = cost.reading(1) if costly else None
    return function(name, (f"url_get_{overload}", f".(kubernetes.URL) {result}", run), work=work)


FUNCTIONS: Final = (
    function("url", ("string_to_url", "(string) kubernetes.URL", parse_url), cost=cost.first_plain, work=_PARSED),
    function("isURL", ("is_url_string", "(string) bool", _is_url), work=_PARSED),
    _part("getScheme", "scheme", "string", lambda value: value.url.scheme),
    _part("getHost", "host", "string", lambda value: value.url.host),
    _part("getHostname", "hostname", "string", lambda value: value.url.hostname()),
    _part("getPort", "port", "string", lambda value: value.url.port()),
    _part("getEscapedPath", "escaped_path", "string", lambda value: value.url.escaped_path(), costly=True),
    _part("getQuery", "query", "map(string, list(string))", lambda value: value.url.query(), costly=True),
)
