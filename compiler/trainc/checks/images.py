"""Images that may change, or that no node can pull."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from trainc.basics.jsonvalues import Json, JsonObject, Path, existing, get
from trainc.basics.regex import lazy
from trainc.checks.containers import TEMPLATE, containers
from trainc.findings import Finding, Severity, report
from trainc.gitops.images import rewritten
from trainc.gitops.pods import images
from trainc.inputs.imagelock import is_registry
from trainc.inputs.source import Document
from trainc.plugins.model import Model, Object, Objects
from trainc.plugins.origins import nearest, source_of

IMAGE: Path = ("spec", "trainer", "image")

_Key = tuple[Json, ...]
"""Replicated job, kind, name and image of a container, or only an image."""


def is_unpinned(image: str) -> bool:
    """Return whether an image has neither a digest nor a tag, or the tag latest."""
    if "@" in image:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag == "latest"


def check_images(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a warning for each image of the JobSet that is not pinned: the same commit may then run another program."""
    found = [
        ((*path, "image"), _key(job, str(path[-2]), container, image))
        for path, job, container in containers(jobset.data)
        if isinstance(image := container.get("image"), str) and _may_change(model, image)
    ]
    written = _written(model) if found else {}
    for path, key in found:  # what neither document has comes from a patch or an option of the environment
        yield _unpinned(key[-1], *(written.get(key) or written.get(key[-1:]) or source_of(model, jobset, path)))
    for path, image in images(jobset.data):
        if path[-1] == "reference" and _may_change(model, image):  # of a volume
            yield _unpinned(image, *source_of(model, jobset, path))


def _may_change(model: Model, image: str) -> bool:
    if not image.strip() or not is_unpinned(image):
        return False
    return is_unpinned(model.options.lock.pinned(image)) and not reference_error(image)


def _unpinned(image: Json, document: Document, path: Path) -> Finding:
    before = get(document.data, *path)  # the environment's registries
    image = before if isinstance(before, str) else image
    message, expected = f"image {image} has no fixed version", "a tag other than latest, or a digest"
    return report("TC412", document, path, message, found=str(image), expected=expected)


def _written(model: Model) -> dict[_Key, tuple[Document, Path]]:
    """Return where images are written: of the runtime's containers, of equal ones the first, and the TrainJob's.

    That is much faster than ``source_of``.
    """
    registries = model.options.settings.registries
    found: dict[_Key, tuple[Document, Path]] = {}
    for path, job, container in containers(model.runtime.data, TEMPLATE):
        if isinstance(image := container.get("image"), str) and image:
            key = _key(job, str(path[-2]), container, rewritten(image, registries))
            found.setdefault(key, (model.runtime, (*path, "image")))
    if isinstance(image := get(model.job.data, *IMAGE), str) and image:
        found[(rewritten(image, registries),)] = model.job, IMAGE
    return found


def _key(job: JsonObject, kind: str, container: JsonObject, image: str) -> _Key:
    return job.get("name"), kind, container.get("name"), image


# Images that no node can pull, because the kubelet cannot parse their references.


def check_pullable(model: Model, result: Objects) -> Iterator[Finding]:
    """Yield a finding for each image of the objects' pods that cannot be pulled."""
    for one in result:
        for path, image in images(one.data):
            is_refused = path[-1] == "image" and image != image.strip()  # of a container, by the API server (TC805)
            if not is_refused and (error := reference_error(image) or _misread(image)):
                yield _finding(model, one, path, image, error)


def _misread(image: str) -> Error | None:
    """Return the error of an image whose first step is a registry only because of upper case, or of a registry alone.

    An environment that maps all of an image's name to a registry makes one of Docker Hub. Or containerd takes it for
    the ID of an image, or the beginning of one (LocalResolve in internal/cri/server/images of containerd v2.0.0; since
    v2.3.0, an ID may be a sha384 or sha512 digest).
    """
    if _ID.fullmatch(image):
        message = "it is parsed as the ID of an image that the node has, from any registry"
        return Error(message, "write the name of the image, and @sha256: with its digest")
    first, slash, _ = image.partition("/")
    if not slash and "." in (name := first.partition("@")[0].partition(":")[0]):
        return Error(f"{name!r} is parsed as an image of Docker Hub, since it has no path", "write a path after it")
    if not slash or first == first.lower() or "." in first or ":" in first:
        return None
    message = f"{first!r} is parsed as a registry, since paths have no upper case"
    hint = f"write {image.replace(first, first.lower(), 1)!r}, or the registry with its domain"
    return Error(message, hint, is_case=True)


def _finding(model: Model, owner: Object, path: Path, image: str, error: Error) -> Finding:
    document, source = source_of(model, owner, path)
    written = get(document.data, *source)
    if isinstance(written, str) and written != image:
        if found := reference_error(written):
            image, error = written, found
        elif (origin := nearest(owner.origins(), path)) is not None and origin.document is not None:
            # The environment has rewritten a valid reference.
            document, source = origin.document, existing(origin.document.data, origin.path)
            registry = get(document.data, *source)
            if error.is_case and isinstance(registry, str) and registry not in (image, registry.lower()):
                error = error._replace(hint=f"write {registry.lower()!r}")
    severity = Severity.WARNING if reference_error(image) is None else model.severity
    message = f"image {image} cannot be pulled: {error.message}"
    return report("TC821", document, source, message, severity=severity, found=image, hint=error.hint)


# The grammar of image references, as the kubelet applies it before it asks a container runtime to pull an image.
# Source: k8s.io/kubernetes v1.34.4 pkg/util/parsers, ParseImageName, which is ParseNormalizedNamed of
# github.com/distribution/reference v0.6.0 with the digests of opencontainers/go-digest v1.0.0.


MAX_PATH: Final = 255
LIBRARY: Final = "library/"
DIGITS: Final = {"sha256": 64, "sha384": 96, "sha512": 128}

_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_STEP = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = lazy(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?")
_PATH = lazy(rf"{_STEP}(?:/{_STEP})*")
_TAG = lazy(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_HEX = lazy(r"[a-f0-9]+")
_ID = lazy(r"sha(?:256|384|512):[a-f0-9]+")
_SCHEME = lazy(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MARK = lazy(r"\{\{.*?\}\}|\$\{[^}]*\}|\$\([^)]*\)|\{[^}]*\}|<[^>]*>|%\([^%()]*\)s|\$\w*|[{}<>]")


class Error(NamedTuple):
    """The error of a reference, and a hint; None for the hint of the code. ``is_case``: upper case is the error."""

    message: str
    hint: str | None = None
    is_case: bool = False


@lru_cache(maxsize=4096)
def reference_error(image: str) -> Error | None:
    """Return why the kubelet cannot parse an image reference; None if it can."""
    if found := _foreign(image):
        return found
    host, rest = _split(image)
    name, at, digest = rest.partition("@")
    path, colon, tag = name.partition(":")
    if at and (wrong := _digest_error(digest)):
        return wrong
    if host and not _HOST.fullmatch(host):
        if not _PATH.fullmatch(host):  # else it is the first step of a path
            return Error(f"{host!r} is not a valid registry", "write a host name, and a port in digits if it has one")
        path = f"{host}/{path}"
    shown = path if path in image else path.removeprefix(LIBRARY)
    if path != path.lower():
        return Error("its path is not in lower case", f"write {image.replace(shown, shown.lower(), 1)!r}", is_case=True)
    if not _PATH.fullmatch(path):
        return Error(f"{shown!r} is not a valid path" if shown else "it has no path")
    if len(path) > MAX_PATH:
        return Error(f"its path has more than {MAX_PATH} characters", "shorten it")
    if colon and not _TAG.fullmatch(tag):
        return Error(
            f"{tag!r} is not a valid tag" if tag else "the tag is empty",
            "a tag has 1 to 128 letters, digits, '_', '.' and '-'",
        )
    return None


def _foreign(image: str) -> Error | None:
    """Return the error of a text that is obviously not a reference."""
    if found := _MARK.search(image):
        return Error(
            f"it contains the placeholder {found[0]!r}",
            "fill in templates and variables before trainc reads them",
        )
    if found := _SCHEME.match(image):
        return Error(f"it is a URL; image names have no {found[0]!r}", f"write {image[found.end() :]!r}")
    if any(character.isspace() for character in image):
        return Error("it contains white space", "remove the white space")
    if len(image) == DIGITS["sha256"] and _HEX.fullmatch(image):
        return Error("it is a digest without a name", f"write <image>@sha256:{image}")
    return None


def _split(image: str) -> tuple[str, str]:
    """Return the registry, empty if an image has none, and the rest, in full for Docker Hub."""
    first, slash, rest = image.partition("/")
    if not slash:
        return "", LIBRARY + image
    if not is_registry(first) and first == first.lower():
        return "", image
    hub = first in ("docker.io", "index.docker.io")
    return first, LIBRARY + rest if hub and "/" not in rest else rest


def _digest_error(digest: str) -> Error | None:
    algorithm, _, digits = digest.partition(":")
    length = DIGITS.get(algorithm)
    if length is None:
        what = f"{digest!r} is not a digest" if digest else "the digest is empty"
        return Error(what, "write @sha256: and 64 hexadecimal digits")
    if len(digits) != length or not _HEX.fullmatch(digits):
        this = f"has {len(digits)}" if len(digits) != length else "has other characters"
        message = f"a {algorithm} digest has {length} hexadecimal digits in lower case; this one {this}"
        return Error(message, "copy the whole digest")
    return None
