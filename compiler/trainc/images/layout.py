"""OCI image layouts (image-spec v1.1): writes the documents of an image, and reads and verifies layouts.

JSON is written with sorted keys and without spaces, so that equal values have equal digests. index.json refers to
manifests by digest; blobs/ has their content, whose digest is checked when a layout is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, get, objects
from trainc.images.definition import PATH, BuildError, Definition
from trainc.inputs.imagelock import DIGEST, key_of
from trainc.project.files import IrregularFileError, open_regular
from trainc.project.links import real_path
from trainc.project.read import read_bytes

MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"
INDEX: Final = "application/vnd.oci.image.index.v1+json"
CONFIG: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
"""A layer without compression, whose bytes would depend on the compression library and its version."""

REF_NAME: Final = "org.opencontainers.image.ref.name"
"""The annotation with the name of a manifest: in full, or only its tag."""

FULL_NAME: Final = "io.containerd.image.name"
"""The annotation with the full name that BuildKit and containerd write beside the tag."""

_VERSION, _INDEX, _BLOBS = "oci-layout", "index.json", "blobs"
"""What a layout consists of."""
_PART: Final = re.compile(r"oci-layout|index\.json|blobs(?:/sha256(?:/[0-9a-f]{64})?)?")

MARKER: Final = b'{"imageLayoutVersion":"1.0.0"}'
"""The content of the file oci-layout."""


class Layer(Struct, frozen=True):
    """A layer: digest (``sha256:`` and hexadecimal) and size of its tar, and the entry in the history."""

    digest: str
    size: int
    made_by: str


class Documents(Struct, frozen=True):
    """The documents of a layout: configuration, manifest and index.json, and the manifest's digest."""

    config: bytes
    manifest: bytes
    index: bytes
    digest: str


def documents(definition: Definition, layers: Sequence[Layer]) -> Documents:
    """Return the documents of an image of these layers, lowest first."""
    config = canonical(_config(definition, layers))
    manifest = canonical(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": digest_of(config), "size": len(config)},
            "layers": [{"mediaType": LAYER, "digest": layer.digest, "size": layer.size} for layer in layers],
            "annotations": dict(labels(definition)),
        }
    )
    entry: JsonObject = {
        "platform": {"architecture": definition.architecture, "os": "linux"},
        "annotations": {FULL_NAME: definition.image, REF_NAME: definition.image.rpartition(":")[2]},
    }
    return index_of(config, manifest, entry)


def index_of(config: bytes, manifest: bytes, entry: JsonObject) -> Documents:
    """Return the documents of a layout with one manifest; ``entry`` completes its descriptor in index.json."""
    digest = digest_of(manifest)
    descriptor: JsonObject = {"mediaType": MANIFEST, "digest": digest, "size": len(manifest), **entry}
    index = canonical({"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor]})
    return Documents(config, manifest, index, digest)


def write_layout(documents: Documents, layers: Iterable[Path | bytes], folder: Path) -> None:
    """Write an OCI image layout, in the place of an older one; ``layers`` are their contents, or files with them.

    Raises BuildError for any other folder that is not empty, for a layout of several images, for the working directory,
    and for hundreds of links in a row.
    """
    if folder.exists():
        _check_replaceable(folder)
    given, folder = folder, Path(real_path(folder))  # of a link, the folder that it leads to
    if not folder.name:
        raise BuildError(f"{given} leads through too many links")
    making, old = (folder.with_name(f".{folder.name}.{suffix}") for suffix in ("making", "old"))
    for left in (making, old):
        _check_parts(left)
    _settle(folder, making, old)  # what a killed run left
    try:
        _write(documents, layers, making)
        if folder.exists():
            folder.rename(old)
        making.rename(folder)
    finally:
        _settle(folder, making, old)


def _check_replaceable(folder: Path) -> None:
    if any(folder.iterdir()) and not (folder / _VERSION).is_file():
        raise BuildError(f"{folder} is neither empty nor an image layout: it is not overwritten")
    _check_parts(folder)
    with suppress(LayoutError):
        if (count := len(_manifests(folder))) > 1:
            raise BuildError(f"{folder} has {count} images: it is not overwritten")
    if Path.cwd().is_relative_to(folder.resolve()):
        raise BuildError(f"{folder} is the working directory: it is not replaced")


def _check_parts(folder: Path) -> None:
    waiting = [""]
    while waiting:  # ends at what is foreign: below that, there may be more folders than Path.rglob lists
        above = waiting.pop()
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(folder / above) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                name = f"{above}{entry.name}"
                if not _PART.fullmatch(name):
                    message = f"{folder} has {name}, which is not part of an image layout: it is not overwritten"
                    raise BuildError(message)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{name}/")


def _settle(folder: Path, making: Path, old: Path) -> None:
    """Move the old layout back unless there is a new one, and remove what else is left."""
    for left in (making, old):
        if left == old and old.is_dir() and not old.is_symlink() and not folder.exists():
            old.rename(folder)
        if left.is_symlink():  # never written through
            left.unlink()
        shutil.rmtree(left, ignore_errors=True)


def _write(documents: Documents, layers: Iterable[Path | bytes], making: Path) -> None:
    blobs = making / _BLOBS / "sha256"
    blobs.mkdir(parents=True)
    for data in (documents.config, documents.manifest, *layers):
        digest = digest_of(data) if isinstance(data, bytes) else file_digest(data)[0]
        blob = blobs / digest.removeprefix("sha256:")
        if isinstance(data, bytes):
            blob.write_bytes(data)
        else:
            shutil.copyfile(data, blob)
    (making / _INDEX).write_bytes(documents.index)
    (making / _VERSION).write_bytes(MARKER)


def digest_of(data: bytes) -> str:
    """Return a digest in OCI's form: ``sha256:`` and hexadecimal."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def canonical(value: Json) -> bytes:
    """Return JSON with sorted keys and without spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def labels(definition: Definition) -> Mapping[str, str]:
    """Return the labels of an image, which are also the annotations of its manifest."""
    name, _, tag = definition.image.rpartition(":")
    own = {
        "org.opencontainers.image.created": definition.created,
        "org.opencontainers.image.description": definition.description,
        "org.opencontainers.image.licenses": definition.licenses,
        "org.opencontainers.image.title": name.rpartition("/")[2],
        "org.opencontainers.image.version": tag,
    }
    return {**definition.labels, **{key: value for key, value in own.items() if value}}


def _config(definition: Definition, layers: Sequence[Layer]) -> JsonObject:
    environment = {"PATH": PATH, **definition.environment}
    run: JsonObject = {
        "Env": [f"{name}={value}" for name, value in sorted(environment.items())],
        "Labels": dict(labels(definition)),
        "WorkingDir": definition.working_directory,
    }
    if definition.entrypoint:
        run["Entrypoint"] = list(definition.entrypoint)
    if definition.command:
        run["Cmd"] = list(definition.command)
    return {
        "architecture": definition.architecture,
        "os": "linux",
        "created": definition.created,
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
        "history": [{"created": definition.created, "created_by": layer.made_by} for layer in layers],
    }


MANIFESTS: Final = (
    MANIFEST,
    INDEX,
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
"""Media types that a digest can pin: the manifest of one platform, or the index of several."""


class LayoutError(Exception):
    """A folder is not a valid image layout."""


class _NamelessError(LayoutError):
    """A manifest in index.json has no full name."""


def read_layout(folder: Path, name: str | None = None) -> Mapping[str, str]:
    """Return the digests of a layout by the full names of images, or with ``name`` the digest of that image.

    Without ``name`` every manifest must have its full name. Raises LayoutError.
    """
    blobs, manifests = _Blobs(folder), _manifests(folder)
    if name is not None:
        return {name: blobs.verified(_chosen(manifests, name))}
    found: dict[str, str] = {}
    for manifest in manifests:
        _add(found, _key(manifest), blobs.verified(manifest))
    return found


def _add(digests: dict[str, str], name: str, digest: str) -> None:
    """Add a digest. Raises LayoutError if there is another one of that name: no one could say which is meant."""
    if digests.setdefault(name, digest) != digest:
        raise LayoutError(f"index.json has two manifests named {name}")


def verify_layout(folder: Path) -> tuple[Mapping[str, str], int]:
    """Verify all blobs of a layout. Return its digests by name, and the number of blobs.

    Names are those of the annotations, or the tag alone. Raises LayoutError for a blob that is missing, or has another
    size or digest, for layers that differ from the configuration's diff_ids, and for two manifests of one full name.
    """
    names: dict[str, str] = {}
    blobs = _Blobs(folder)
    for manifest in _manifests(folder):
        digest = blobs.verified(manifest)
        blobs.verify_below(digest)
        try:
            _add(names, _key(manifest), digest)
        except _NamelessError:
            names[next(_references(manifest), digest)] = digest
    return names, len(blobs.measured)


class _Blobs:
    """The blobs of a layout. Each is read once, however many descriptors refer to it.

    ``measured`` has the digest and the size of each by the digest that names it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.measured: dict[str, tuple[str, int]] = {}
        self.parents: set[str] = set()
        self.diff_ids = cache(self._diff_ids)

    def verified(self, blob: JsonObject, parent: str = "index.json") -> str:
        """Return the digest of a descriptor after checking its blob; in index.json, also the type."""
        digest, size, kind = (blob.get(key) for key in ("digest", "size", "mediaType"))
        if not isinstance(digest, str) or DIGEST.fullmatch(digest) is None:
            raise LayoutError(f"{parent} has {digest!r} instead of a sha256 digest")
        if parent == "index.json" and kind not in MANIFESTS:
            raise LayoutError(f"{digest} is not an image manifest: its media type is {kind!r}")
        real, length = self._measured(digest)
        if length != size:
            raise LayoutError(f"{digest} has {length} bytes, and {parent} says {size}")
        if real != digest:
            raise LayoutError(f"the content of {digest} has another digest: {real}")
        return digest

    def verify_below(self, digest: str) -> None:
        """Verify all blobs that a manifest or an index, which was verified, refers to."""
        waiting = [digest]
        while waiting:
            digest = waiting.pop()
            if digest in self.parents:  # indexes of indexes multiply
                continue
            self.parents.add(digest)
            document = _json(self._path(digest))
            manifests, layers, config = (get(document, key) for key in ("manifests", "layers", "config"))
            if _are_objects(manifests) and layers is config is None:
                waiting += [self.verified(manifest) for manifest in objects(manifests)]
            elif manifests is not None or not isinstance(config, dict) or not _are_objects(layers):
                message = "is neither a manifest, with config and layers, nor an index, with manifests"
                raise LayoutError(f"{digest} {message}")
            else:
                for blob in (*objects(layers), config):
                    self.verified(blob, "a manifest")
                plain = [each["digest"] for each in objects(layers) if str(each.get("mediaType")).endswith(".tar")]
                if len(plain) == len(objects(layers)) and self.diff_ids(str(config["digest"])) != plain:
                    raise LayoutError(f"the diff_ids in the configuration of {digest} differ from its layers")

    def _measured(self, digest: str) -> tuple[str, int]:
        if (found := self.measured.get(digest)) is None:
            try:
                found = self.measured[digest] = file_digest(self._path(digest))
            except IrregularFileError:
                raise LayoutError(f"{digest} is not a regular file") from None
            except OSError as error:
                raise LayoutError(f"{digest} cannot be read: {error.strerror}") from None
        return found

    def _diff_ids(self, config: str) -> Json:
        return get(_json(self._path(config)), "rootfs", "diff_ids")

    def _path(self, digest: str) -> Path:
        return self.folder / _BLOBS / "sha256" / digest.removeprefix("sha256:")


def _are_objects(value: Json) -> bool:
    return isinstance(value, list) and len(objects(value)) == len(value)


def file_digest(path: Path) -> tuple[str, int]:
    """Return the digest (``sha256:`` and hexadecimal) and the size of a regular file. Raises as ``open_regular``."""
    with os.fdopen(open_regular(path), "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"sha256:{digest}", file.tell()


def _manifests(folder: Path) -> list[JsonObject]:
    """Return the descriptors of index.json, at least one."""
    version = get(_json(folder / _VERSION), "imageLayoutVersion")
    if not isinstance(version, str) or not version.startswith("1."):
        raise LayoutError("oci-layout does not declare version 1 of the image layout")
    found = _json(folder / _INDEX)
    if not isinstance(found, dict):
        raise LayoutError("index.json is not a mapping")
    if not (manifests := objects(found.get("manifests"))):
        raise LayoutError("index.json has no manifest")
    if not _are_objects(found["manifests"]):
        raise LayoutError("a manifest in index.json is not a mapping")
    return manifests


def _json(path: Path) -> Json:
    try:
        data = read_bytes(path)
    except ValueError as reason:
        raise LayoutError(f"{path.name} {reason}") from None
    try:
        return json.loads(data)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):
        raise LayoutError(f"{path.name} is not JSON") from None


def _references(manifest: JsonObject) -> Iterator[str]:
    for annotation in (FULL_NAME, REF_NAME):
        if isinstance(value := get(manifest, "annotations", annotation), str):
            yield value


def _key(manifest: JsonObject) -> str:
    """Return the full name of a manifest, by its annotations. Raises _NamelessError."""
    references = list(_references(manifest))
    for reference in references:
        if "/" in reference and (key := key_of(reference)) is not None:
            return key
    known = f"index.json has only {references[0]!r} as the name" if references else "index.json has no name"
    raise _NamelessError(f"{known} of the image: pass NAME=FOLDER")


def _chosen(manifests: list[JsonObject], name: str) -> JsonObject:
    """Return the manifest of a name: the one with the full name or with nothing but its tag, or the only one."""
    tag = name.rpartition(":")[2]
    references = [(each, set(_references(each))) for each in manifests]
    full = [each for each, texts in references if any(key_of(text) == name and "/" in text for text in texts)]
    for found in (full, [each for each, texts in references if texts == {tag}]):
        if len(found) == 1:
            return found[0]
    if len(manifests) == 1:
        return manifests[0]
    raise LayoutError(f"index.json has {len(manifests)} manifests, but not exactly one named {name} or {tag}")
