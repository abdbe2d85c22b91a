"""The types of images.lock.yaml, which pins images by digest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Final

from msgspec import Meta, Struct, field

from trainc.basics.regex import lazy
from trainc.inputs.source import Document

FILE: Final = "images.lock.yaml"
IMAGES: Final = "images"
LATEST: Final = "latest"
"""The default tag of an image."""

DOCKER_HUB: Final = "docker.io"
"""The default registry of an image, in whose folder ``library`` are images without a folder."""

_OLD_HUB: Final = "index.docker.io"
"""Its former name, which container runtimes replace."""

DIGEST: Final = lazy(r"sha256:[0-9a-f]{64}")

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
NAME: Final = lazy(rf"{_HOST}(?::[0-9]+)?(?:/{_PART})+:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}")
"""A full image name: registry, path and tag, by the grammar of references of container runtimes."""

_WORDS: Final = {"patternErrorMessage": "a digest: sha256: and 64 hexadecimal digits"}


class LockFile(Struct, frozen=True, forbid_unknown_fields=True):
    """images.lock.yaml: the digests of images."""

    images: Annotated[
        dict[str, Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)", extra_json_schema=_WORDS)]],
        Meta(description="Digests by full image names: registry, path and tag."),
    ] = {}


class Lock(Struct, frozen=True):
    """Digests by full image names; ``document`` is the file, for the positions of findings."""

    digests: Mapping[str, str] = field(default_factory=dict)
    document: Document | None = None

    def pinned(self, image: str) -> str:
        """Return an image with the digest from the lock appended, unless it has one or the lock has none."""
        key = key_of(image)
        digest = self.digests.get(key) if key is not None and "@" not in image else None
        return image if digest is None else f"{image}@{digest}"


def is_registry(name: str) -> bool:
    """Return whether the first step of an image's name is a registry, and not a folder of Docker Hub."""
    return "." in name or ":" in name or name == "localhost"


def spelt_out(image: str) -> str:
    """Return an image's name with its registry and folder, as container runtimes resolve it.

    Source: splitDockerDomain of github.com/distribution/reference. The case of a host name makes no difference.
    """
    first, slash, rest = image.partition("/")
    if not slash or not (is_registry(first) or first != first.lower()):
        first, rest = DOCKER_HUB, image
    host = _host(first)
    return f"{host}/library/{rest}" if host == DOCKER_HUB and "/" not in rest else f"{host}/{rest}"


@lru_cache(maxsize=256)
def prefix_spelt_out(prefix: str) -> str:
    """Return a registry, or the beginning of an image's name, with the registry as in ``spelt_out``."""
    first, slash, rest = prefix.partition("/")
    return f"{_host(first)}{slash}{rest}"


def _host(name: str) -> str:
    lower = name.lower()
    if not is_registry(lower):  # in capitals, it is no folder of Docker Hub
        return name
    return DOCKER_HUB if lower == _OLD_HUB else lower


@lru_cache(maxsize=4096)
def key_of(image: str) -> str | None:
    """Return the key of an image in the lock: registry, path and tag, which defaults to latest.

    None for an image with a digest and no tag, and for an invalid name.
    """
    name, at, _ = image.partition("@")
    _, colon, _ = name.rpartition("/")[2].partition(":")
    if at and not colon:
        return None
    key = spelt_out(name if colon else f"{name}:{LATEST}")
    return key if NAME.fullmatch(key) else None
