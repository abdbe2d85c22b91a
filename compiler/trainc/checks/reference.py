"""The grammar of image references, as the kubelet applies it before it asks a container runtime to pull an image.

Source: k8s.io/kubernetes v1.34.4 pkg/util/parsers, ParseImageName, which is ParseNormalizedNamed of
github.com/distribution/reference v0.6.0 with the digests of opencontainers/go-digest v1.0.0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from trainc.records import NamedTuple
from trainc.regex import lazy

MAX_PATH: Final = 255
LIBRARY: Final = "library/"
DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_STEP = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = lazy(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PATH = lazy(rf"{_STEP}(?:/{_STEP})*")
_TAG = lazy(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HEX = lazy(r"[a-f0-9]+")
_SCHEME = lazy(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MARK = lazy(r"\{\{.*?\}\}|\$\{[^}]*\}|\$\([^)]*\)|\{[^}]*\}|<[^>]*>|%\([^)]*\)s|\$\w*|[{}<>]")


class Fault(NamedTuple):
    """What is wrong with a reference, and what to do about it; None for the hint of the code."""

    message: str
    hint: str | None = None


@lru_cache(maxsize=4096)
def fault_of(image: str) -> Fault | None:
    """Return why the kubelet cannot parse the name of an image; None where it can."""
    if found := _foreign(image):
        return found
    host, rest = _split(image)
    name, at, digest = rest.partition("@")
    path, colon, tag = name.partition(":")
    if at and (wrong := _digest_fault(digest)):
        return wrong
    if host and not _HOST.fullmatch(host):
        if not _PATH.fullmatch(host):  # else it is read as the first step of a path
            return Fault(f"{host!r} is not a valid registry")
        path = f"{host}/{path}"
    shown = path if path in image else path.removeprefix(LIBRARY)
    if path != path.lower():
        return Fault("its path is not in lower case", f"write {image.replace(shown, shown.lower(), 1)!r}")
    if not _PATH.fullmatch(path):
        return Fault(f"{shown!r} is not a valid path" if shown else "it has no path")
    if len(path) > MAX_PATH:
        return Fault(f"its path has more than {MAX_PATH} characters")
    if colon and not _TAG.fullmatch(tag):
        return Fault(
            f"{tag!r} is not a valid tag" if tag else "the tag is empty",
            "a tag has 1 to 128 letters, digits, '_', '.' and '-'",
        )
    return None


def _foreign(image: str) -> Fault | None:
    """Return the fault of what is no reference at first sight."""
    if found := _MARK.search(image):
        return Fault(
            f"it contains {found[0]!r}, which nothing replaces",
            "fill in templates and variables before trainc reads them",
        )
    if found := _SCHEME.match(image):
        return Fault(f"it is a URL, and images have no {found[0]!r}", f"write {image[found.end() :]!r}")
    if any(character.isspace() for character in image):
        return Fault("it contains white space")
    if len(image) == DIGITS["sha256"] and _HEX.fullmatch(image):
        return Fault("it is a digest without a name", f"write <image>@sha256:{image}")
    return None


def _split(image: str) -> tuple[str, str]:
    """Return the registry, empty where an image names none, and the rest, spelt out for Docker Hub."""
    first, slash, rest = image.partition("/")
    if not slash:
        return "", LIBRARY + image
    if first != "localhost" and "." not in first and ":" not in first and first == first.lower():
        return "", image
    hub = first in ("docker.io", "index.docker.io")
    return first, LIBRARY + rest if hub and "/" not in rest else rest


def _digest_fault(digest: str) -> Fault | None:
    algorithm, _, digits = digest.partition(":")
    length = DIGITS.get(algorithm)
    if length is None:
        what = f"{digest!r} is not a digest" if digest else "the digest is empty"
        return Fault(what, "write @sha256: and 64 hexadecimal digits")
    if len(digits) != length or not _HEX.fullmatch(digits):
        this = f"has {len(digits)}" if len(digits) != length else "has other characters"
        return Fault(f"a {algorithm} digest has {length} hexadecimal digits in lower case; this one {this}")
    return None
