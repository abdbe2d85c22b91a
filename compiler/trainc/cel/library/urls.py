"""URLs as values: url(), isURL() and their parts.

Source: k8s.io/apiserver v0.34.4 pkg/cel/url.go and pkg/cel/library/urls.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from trainc.cel.library.gourl import Url, UrlError, parse_request_uri
from trainc.cel.library.gourl import parse as parse_any
from trainc.cel.types import struct
from trainc.cel.values import EvalError, Opaque, Value


class UrlValue(Opaque, frozen=True, eq=False):
    """A URL; two are equal if they are written alike."""

    type = struct("kubernetes.URL")
    url: Url

    def text(self) -> str:
        """Return the URL as Go writes it."""
        return self.url.text()

    def weight(self) -> int:
        """Return the characters of the parts that are escaped anew each time."""
        url = self.url
        return 1 + (len(url.path) + len(url.raw_path) + len(url.raw_query) + len(url.fragment) + len(url.host)) // 2

    def equals(self, other: Value) -> bool:
        """Compare the texts. Raises EvalError for another type."""
        if not isinstance(other, UrlValue):
            raise EvalError("no such overload")
        return self.text() == other.text()


def parse(text: str) -> UrlValue:
    """Return ``url(text)``: an absolute URL, or a path from the root. Raises EvalError."""
    try:
        # ParseRequestURI decides whether it is one, but knows nothing of fragments.
        parse_request_uri(text)
        return UrlValue(parse_any(text))
    except UrlError as error:
        raise EvalError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    """Tell whether text is an absolute URL, or a path from the root."""
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "string_to_url": parse,
    "is_url_string": is_url,
    "url_get_scheme": lambda value: value.url.scheme,
    "url_get_host": lambda value: value.url.host,
    "url_get_hostname": lambda value: value.url.hostname(),
    "url_get_port": lambda value: value.url.port(),
    "url_get_escaped_path": lambda value: value.url.escaped_path(),
    "url_get_query": lambda value: value.url.query(),
}
