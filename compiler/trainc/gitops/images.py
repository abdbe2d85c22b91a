"""The images of pods: digests from images.lock.yaml, then registries and pull secrets of the environment.

Images are looked up in the lock by their names in TrainJobs and runtimes, before registries are replaced, since a
digest is the same in a mirror. This includes initializers, init containers and key Jobs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from trainc.basics.differences import place_of
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, get
from trainc.basics.memo import keeping
from trainc.basics.starts import Starts
from trainc.findings import Finding, report
from trainc.findings.display import listed
from trainc.gitops.base import Pass, option_origin
from trainc.gitops.pods import Summary, images, with_images, with_pods
from trainc.inputs.imagelock import IMAGES, Lock, key_of, prefix_spelt_out, spelt_out
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.plugins.origins import LOCK, REGISTRIES, report_at

UNPINNED: Final = "TC703"
SHOWN: Final = 3
"""The most images that a note names."""

# Registries and pull secrets.


def _relocated(model: Model, objects: Objects) -> Objects:
    """Return the objects with the environment's registries and pull secrets."""
    settings = model.options.settings
    if not settings.registries and not settings.image_pull_secrets:
        return objects

    def changed(spec: JsonObject) -> JsonObject:
        spec = with_images(spec, lambda image: rewritten(image, settings.registries))
        existing = as_list(spec.get("imagePullSecrets"))
        names = {get(secret, "name") for secret in existing}
        added: list[Json] = [{"name": name} for name in dict.fromkeys(settings.image_pull_secrets) if name not in names]
        return {**spec, "imagePullSecrets": [*existing, *added]} if added else spec

    return with_pods(objects, changed)


def rewritten(image: str, registries: Mapping[str, str]) -> str:
    """Return an image with its longest prefix among ``registries`` replaced.

    ``python:3`` counts as docker.io/library/python:3, as in container runtimes.
    """
    prefix = _replaced_prefix(image, registries)
    if prefix is None:
        return image
    return registries[prefix] + spelt_out(image).removeprefix(prefix_spelt_out(prefix))


def _replaced_prefix(image: str, registries: Mapping[str, str]) -> str | None:
    """Return the longest prefix of an image among ``registries``, None if it has none of them."""
    found = _keys_of(registries).of(spelt_out(image))
    return min(found, key=lambda name: (-len(prefix_spelt_out(name)), name), default=None)


_keys_of = keeping(lambda registries: Starts((prefix_spelt_out(key), key) for key in registries))
_by_target = keeping(lambda registries: Starts((prefix_spelt_out(new), old) for old, new in registries.items()))
_required = keeping(
    lambda names: Starts((prefix_spelt_out(start), start) for each in names for start in (each, spelt_out(each)))
)
"""docker.io/python is the folder, and the image docker.io/library/python."""


def _cause_of_registry(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the entry for the registry or the secret in trainc.yaml."""
    settings = model.options.settings
    if "imagePullSecrets" in path:
        item = path[: path.index("imagePullSecrets") + 2]
        index = item[-1] if isinstance(item[-1], int) else 0
        at = place_of(settings.image_pull_secrets, get(root, *item, "name"), index)
        return option_origin(model.options, "imagePullSecrets", *(() if at is None else (at,)))
    found = set(_entries(model, str(get(root, *path))))
    return option_origin(model.options, REGISTRIES, *(found if len(found) == 1 else ()))


def _entries(model: Model, image: str) -> Iterable[str]:
    """Return the entries for registries that make an image of one in the job, or else of any image."""
    registries = model.options.settings.registries
    any_image = (old + image.removeprefix(new) for old, new in registries.items() if image.startswith(new))
    return _entries_of_job(model).get(image) or _by_result(any_image, registries).get(image, ())


def _computed_entries(model: Model) -> Mapping[str, Collection[str]]:
    """Return the entries for registries by the images that they make of those of a job."""
    settings = model.options.settings
    own = [each for _, each in images({"kind": "JobSet", "spec": model.spec})]
    own += [str(model.trainer_value("image") or ""), settings.ssh_keys.image, settings.transport.image]
    return _by_result(map(model.options.lock.pinned, filter(None, own)), settings.registries)


_entries_of_job: Final = keeping(_computed_entries, 4)


def _by_result(known: Iterable[str], registries: Mapping[str, str]) -> Mapping[str, Collection[str]]:
    found: dict[str, dict[str, None]] = {}
    for image in known:
        if (prefix := _replaced_prefix(image, registries)) is not None:
            found.setdefault(rewritten(image, registries), {})[prefix] = None
    return found


# Digests.


def _pinned(model: Model, objs: Objects) -> Objects:
    """Return the objects with the digests of the lock appended to their images."""
    lock = model.options.lock
    return with_pods(objs, lambda spec: with_images(spec, lock.pinned)) if lock.digests else objs


def _cause_of_digest(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the image's entry in the lock."""
    key = key_of(str(get(root, *path)).partition("@")[0])
    return Origin("lock", model.options.lock.document, (IMAGES, key) if key else (), LOCK)


def check_objects(model: Model, objs: Objects) -> Findings:
    """Report images without a required digest, and digests that differ from those in the lock."""
    if not model.options.lock.digests and not model.options.settings.lock_required:
        return ()
    found = (_problem(model, one, path, image) for one in objs for path, image in images(one.data))
    return tuple(dict.fromkeys(finding for finding in found if finding is not None))


def _problem(model: Model, obj: Object, path: Path, image: str) -> Finding | None:
    settings = model.options.settings
    name, at, digest = image.partition("@")
    keys = list(_keys(image, settings))
    if not at:
        if not is_required(image, settings):
            return None
        message = f"image {image} has no digest, but lock.required in trainc.yaml requires one"
        # A patch may name the mirror's image beside one that the lock has.
        key = next((key for key in keys if key not in model.options.lock.digests), image)
        hint = f"run trainc image lock {key}=sha256:..."
        return report_at("TC702", model, obj, path, message, found=image, hint=hint)
    wanted = [found for found in map(model.options.lock.digests.get, keys) if found is not None]
    if not wanted or digest in wanted:
        return None
    message = f"image {name} has a different digest in images.lock.yaml"
    return report_at("TC705", model, obj, path, message, found=digest, expected=wanted[0])


def is_required(image: str, settings: Settings) -> bool:
    """Return whether an image must have a digest, by its name before or after registries were rewritten."""
    starts = _required(settings.lock_required)
    return any(True for name in _names(image, settings) for _ in starts.of(name))


def _names(image: str, settings: Settings) -> Iterator[str]:
    """Yield the full names that an image may have had before registries were rewritten, then its own."""
    plain = image.partition("@")[0]
    name, short = spelt_out(plain), prefix_spelt_out(plain) if "/" in plain else plain
    # The new name may be without a registry: python:3 is then an image with a tag, and not a registry with a port.
    untagged = short if "/" in short else short.partition(":")[0]
    olds = _by_target(settings.registries)
    found = {(old, text) for text, start in ((name, name), (short, short), (short, untagged)) for old in olds.of(start)}
    for old, text in sorted(found):
        yield spelt_out(prefix_spelt_out(old) + text.removeprefix(prefix_spelt_out(settings.registries[old])))
    yield name


def _keys(image: str, settings: Settings) -> Iterator[str]:
    for name in _names(image.partition("@")[0], settings):
        if (key := key_of(name)) is not None:
            yield key


def lock_notes(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> tuple[Finding, ...]:
    """Return notes on images without digest, and on entries of the lock that no job uses.

    ``by_environment`` has every environment with its objects. Without a lock and without lock.required there are none.
    """
    lock, config, used = Lock(), None, set[str]()
    unpinned: dict[str, None] = {}
    for options, summaries in by_environment:
        lock, config, settings = options.lock, options.config_document, options.settings
        wanted = lock.document is not None or bool(settings.lock_required)  # the same for all environments
        for image in dict.fromkeys(image for one in summaries for image in one.images) if wanted else ():
            used.update(_keys(image, settings))
            if "@" not in image and not is_required(image, settings):
                unpinned[image] = None
    found = [
        report("TC704", lock.document, (IMAGES, key), f"no job uses image {key}", found=key)
        for key in lock.digests
        if key not in used and lock.document is not None
    ]
    document = lock.document or config
    if unpinned and document is not None:
        names = sorted(unpinned)
        path: Path = ("lock",) if get(document.data, IMAGES) is None else (IMAGES,)
        message = "1 image has no digest" if len(names) == 1 else f"{len(names)} images have no digest"
        found.append(report(UNPINNED, document, path, message, found=listed(names, SHOWN)))
    return tuple(found)


DIGESTS: Final = Pass("lock", _pinned, _cause_of_digest, check_objects=check_objects)
PASS: Final = Pass("images", _relocated, _cause_of_registry)
PATCHED: Final = Pass("lock", _pinned, _cause_of_digest)
"""Pins images in patches, whose names are those in the registry of the environment."""
