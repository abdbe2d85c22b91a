"""images.lock.yaml as a type: which digest each image's name stands for, so that a commit says what runs."""

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
"""The tag of an image that names none."""

DOCKER_HUB: Final = "docker.io"
"""The registry of an image that names none; one without a folder is in ``library`` there."""

DIGEST: Final = lazy(r"sha256:[0-9a-f]{64}")

_HOST = r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
NAME: Final = lazy(rf"{_HOST}(?::[0-9]+)?(?:/{_PART})+:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}")
"""An image's name spelt out: registry, path and tag, by the grammar of references that container runtimes share."""

_WORDS: Final = {"patternErrorMessage": "a digest: sha256: and 64 hexadecimal digits"}


class LockFile(Struct, frozen=True, forbid_unknown_fields=True):
    """images.lock.yaml: the digests that image names stand for."""

    images: Annotated[
        dict[str, Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)", extra_json_schema=_WORDS)]],
        Meta(description="Digests by full image names: registry, path and tag."),
    ] = {}


class Lock(Struct, frozen=True):
    """Digests by the names of images, spelt out; ``document`` is the text, where findings are placed."""

    digests: Mapping[str, str] = field(default_factory=dict)
    document: Document | None = None

    def pinned(self, image: str) -> str:
        """Return an image as it was written, with its digest behind it if it has none and the lock knows one."""
        key = key_of(image)
        digest = self.digests.get(key) if key is not None and "@" not in image else None
        return image if digest is None else f"{image}@{digest}"


def spelt_out(image: str) -> str:
    """Return an image's name with its registry, docker.io where it names none."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"{DOCKER_HUB}/{image}" if slash else f"{DOCKER_HUB}/library/{image}"


@lru_cache(maxsize=4096)
def key_of(image: str) -> str | None:
    """Return the name that the lock knows an image by: registry, path and tag, latest where it has none.

    None for an image that a digest alone tells, and for what is no image's name.
    """
    name, at, _ = image.partition("@")
    _, colon, _ = name.rpartition("/")[2].partition(":")
    if at and not colon:
        return None
    key = spelt_out(name if colon else f"{name}:{LATEST}")
    return key if NAME.fullmatch(key) else None
