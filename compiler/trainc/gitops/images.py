"""Registries and pull secrets of an environment, on every pod: initializers, init containers and key Jobs, too."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, get
from trainc.gitops.base import Pass, by_environment
from trainc.gitops.pods import with_images, with_pods
from trainc.inputs.imagelock import spelt_out
from trainc.plugins.model import Model, Objects, Origin
from trainc.plugins.origins import REGISTRIES


def shape(model: Model, objects: Objects) -> Objects:
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
    """Tell whether an image's name, spelt out, begins so; steps of a path are never divided."""
    rest = name.removeprefix(beginning)
    return rest != name and (not rest or rest[0] in "/:@" or beginning.endswith("/"))


def cause(model: Model, path: Path, root: Json) -> Origin:
    """Return the origin: the environment, at its line for a registry or a secret."""
    if "imagePullSecrets" not in path:
        return by_environment(REGISTRIES, model, *_beginning(model.options.settings.registries, get(root, *path)))
    depth = path.index("imagePullSecrets") + 2
    names, name = model.options.settings.image_pull_secrets, get(root, *path[:depth], "name")
    return by_environment("imagePullSecrets", model, *((names.index(name),) if name in names else ()))


def _beginning(registries: Mapping[str, str], image: Json) -> tuple[str, ...]:
    """Return the beginning that an image had before it was rewritten, as a path below registries."""
    found = [(place, name) for name, place in registries.items() if str(image).startswith(place)]
    return (max(found)[1],) if found else ()


PASS = Pass("images", shape, cause)
