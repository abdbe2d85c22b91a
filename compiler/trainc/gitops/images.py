"""The images of pods: digests from images.lock.yaml, then registries and pull secrets of the environment.

Images are looked up in the lock under the names that TrainJobs and runtimes give them, before registries are replaced:
a digest is the same in a mirror. Initializers, init containers and key Jobs are changed, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, get
from trainc.findings import Finding, report
from trainc.gitops.base import Pass, environment_origin
from trainc.gitops.pods import images, with_images, with_pods
from trainc.gitops.summary import Summary
from trainc.inputs.imagelock import IMAGES, Lock, key_of, spelt_out
from trainc.inputs.options import Options
from trainc.inputs.settings import Settings
from trainc.inputs.source import Document
from trainc.plugins.model import Findings, Model, Object, Objects, Origin
from trainc.plugins.origins import LOCK, REGISTRIES, report_at

REQUIRED: Final = "TC702"
UNPINNED: Final = "TC703"
STALE: Final = "TC704"
CONTRADICTED: Final = "TC705"
SHOWN: Final = 3
"""The most images that a note names."""

# Registries and pull secrets.


def _relocated(model: Model, objects: Objects) -> Objects:
    """Return the objects with images from the environment's registries, and its pull secrets."""
    settings = model.options.settings
    if not settings.registries and not settings.image_pull_secrets:
        return objects
    return with_pods(objects, lambda spec: _shaped(spec, settings.registries, settings.image_pull_secrets))


def _shaped(spec: JsonObject, registries: Mapping[str, str], secrets: tuple[str, ...]) -> JsonObject:
    if registries:
        spec = with_images(spec, lambda image: rewritten(image, registries))
    own = as_list(spec.get("imagePullSecrets"))
    there = {get(secret, "name") for secret in own}
    added: list[Json] = [{"name": name} for name in dict.fromkeys(secrets) if name not in there]
    return {**spec, "imagePullSecrets": [*own, *added]} if added else spec


def rewritten(image: str, registries: Mapping[str, str]) -> str:
    """Return an image with the longest beginning that registries name replaced; steps of a path are never divided.

    ``python:3`` is docker.io/library/python:3, as container runtimes have it.
    """
    full = spelt_out(image)
    for beginning in sorted(registries, key=lambda name: (-len(name), name)):
        if begins(full, beginning):
            return registries[beginning] + full.removeprefix(beginning)
    return image


def begins(name: str, beginning: str) -> bool:
    """Tell whether an image's full name begins so; steps of a path are never divided."""
    rest = name.removeprefix(beginning)
    return rest != name and (not rest or rest[0] in "/:@" or beginning.endswith("/"))


def _cause_of_registry(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the environment, at its line for a registry or a secret."""
    if "imagePullSecrets" not in path:
        return environment_origin(REGISTRIES, model, *_beginning(model.options.settings.registries, get(root, *path)))
    depth = path.index("imagePullSecrets") + 2
    names, name = model.options.settings.image_pull_secrets, get(root, *path[:depth], "name")
    return environment_origin("imagePullSecrets", model, *((names.index(name),) if name in names else ()))


def _beginning(registries: Mapping[str, str], image: Json) -> tuple[str, ...]:
    """Return the beginning that an image had before it was rewritten, as a path below registries."""
    found = [(place, name) for name, place in registries.items() if str(image).startswith(place)]
    return (max(found)[1],) if found else ()


# Digests.


def _pinned(model: Model, objs: Objects) -> Objects:
    """Return the objects with the digests of the lock behind the names of images."""
    lock = model.options.lock
    return with_pods(objs, lambda spec: with_images(spec, lock.pinned)) if lock.digests else objs


def _cause_of_digest(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the image's line of the lock."""
    key = key_of(str(get(root, *path)).partition("@")[0])
    return Origin("lock", model.options.lock.document, (IMAGES, key) if key else (), LOCK)


def judge(model: Model, objs: Objects) -> Findings:
    """Warn of images that must have a digest and have none, and of digests that the lock contradicts."""
    if not model.options.lock.digests and not model.options.settings.lock_required:
        return ()
    found = (_problem(model, one, path, image) for one in objs for path, image in images(one.data))
    return tuple(dict.fromkeys(finding for finding in found if finding is not None))


def _problem(model: Model, obj: Object, path: Path, image: str) -> Finding | None:
    settings = model.options.settings
    name, at, digest = image.partition("@")
    if not at:
        if not is_required(image, settings):
            return None
        message = f"image {image} has no digest, which lock.required in trainc.yaml asks for"
        return report_at(REQUIRED, model, obj, path, message, found=image, hint=_way(image, settings))
    wanted = [model.options.lock.digests.get(key) for key in _keys(image, settings)]
    others = [known for known in wanted if known is not None and known != digest]
    if not others or digest in wanted:
        return None
    message = f"image {name} has a digest of its own, and another one in images.lock.yaml"
    return report_at(CONTRADICTED, model, obj, path, message, found=digest, expected=others[0])


def _way(image: str, settings: Settings) -> str:
    key = next(iter(_keys(image, settings)), image)
    return f"trainc image lock {key}=sha256:..."


def is_required(image: str, settings: Settings) -> bool:
    """Tell whether an image must have a digest, by its name here or the one before registries were rewritten."""
    return any(begins(name, start) for name in _names(image, settings) for start in settings.lock_required)


def _names(image: str, settings: Settings) -> Iterator[str]:
    """Yield the names, spelt out, that an image may have had before the environment's registries, then its own."""
    name = spelt_out(image.partition("@")[0])
    for beginning, place in sorted(settings.registries.items()):
        if name.startswith(place):
            yield beginning + name[len(place) :]
    yield name


def _keys(image: str, settings: Settings) -> Iterator[str]:
    for name in _names(image.partition("@")[0], settings):
        if (key := key_of(name)) is not None:
            yield key


def lock_notes(by_environment: Iterable[tuple[Options, Iterable[Summary]]]) -> tuple[Finding, ...]:
    """Return the notes on a whole repository: images without digest, and lines of the lock that no job needs.

    ``by_environment`` has every environment with its objects. Without a lock and without lock.required there are none.
    """
    lock, config, used = Lock(), None, set[str]()
    loose: dict[str, None] = {}
    wanted = False
    for options, summaries in by_environment:
        lock, config, settings = options.lock, options.config_document, options.settings
        wanted = wanted or lock.document is not None or bool(settings.lock_required)
        for image in dict.fromkeys(image for one in summaries for image in one.images):
            used.update(_keys(image, settings))
            if "@" not in image and not is_required(image, settings):
                loose[image] = None
    found = [_stale(lock.document, key) for key in lock.digests if key not in used and lock.document is not None]
    place = lock.document or config
    if wanted and loose and place is not None:
        found.append(_unpinned(place, sorted(loose)))
    return tuple(found)


def _unpinned(place: Document, loose: list[str]) -> Finding:
    count = len(loose)
    more = f" and {count - SHOWN} more" if count > SHOWN else ""
    path: Path = ("lock",) if get(place.data, IMAGES) is None else (IMAGES,)
    message = "1 image has no digest" if count == 1 else f"{count} images have no digest"
    return report(UNPINNED, place, path, message, found=f"{', '.join(loose[:SHOWN])}{more}")


def _stale(document: Document, key: str) -> Finding:
    return report(STALE, document, (IMAGES, key), f"no job uses image {key}", found=key)


DIGESTS: Final = Pass("lock", _pinned, _cause_of_digest, judge=judge)
PASS: Final = Pass("images", _relocated, _cause_of_registry)
