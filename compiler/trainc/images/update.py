"""Pins anew: what the package source and the wheel index have today."""

from __future__ import annotations

from pathlib import Path

from trainc.images import layer_cache as store
from trainc.images.apt import open_archive
from trainc.images.inputs import Inputs
from trainc.images.pins import PACKAGES, WHEELS, changes, packages_text, wheels_text
from trainc.images.wheels import resolve
from trainc.putfile import replace_file
from trainc.records import dataclass


@dataclass(frozen=True, slots=True)
class Updated:
    """What pinning anew has changed: a line a package or wheel."""

    changes: tuple[str, ...]


def update(inputs: Inputs, cache: Path, mirror: str | None = None) -> Updated:
    """Write packages.lock and wheels.lock of an image anew. Raises BuildError, and OSError where that cannot be done.

    Packages are resolved as apt would install them in an empty system.
    """
    definition = inputs.definition
    with store.scratch(cache) as scratch:
        archive = open_archive(definition.suite, definition.architecture, mirror, scratch)
        packages = archive.resolve(definition.packages)
        asked = definition.wheels
        wheels = resolve(asked, definition.suite, definition.architecture, scratch) if asked else ()
    replace_file(str(inputs.folder / PACKAGES), packages_text(packages).encode())
    if wheels:
        replace_file(str(inputs.folder / WHEELS), wheels_text(wheels).encode())
    return Updated((*changes(inputs.packages, packages), *changes(inputs.wheels, wheels)))
