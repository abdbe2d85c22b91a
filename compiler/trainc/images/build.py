"""Builds the layers of an image from its folder, and an OCI layout whose digest depends on content only."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import UNSET, Struct, structs

from trainc.basics.jsonvalues import JsonObject
from trainc.findings import Finding, report
from trainc.images import layers as layer_cache
from trainc.images.debian import installed
from trainc.images.definition import (
    MALFORMED,
    PACKAGES,
    WHEELS,
    BuildError,
    Inputs,
    Pin,
    changes,
    package_name,
    pins_text,
    read_image,
)
from trainc.images.layers import Entry, copied, system_layer, upper_layer
from trainc.images.layout import Documents, Layer, canonical, digest_of, documents
from trainc.images.rootfs import build_wheel, make_rootfs, open_archive, resolve
from trainc.images.sbom import license_list, sbom, software
from trainc.project.write import replace_file

SYSTEM: Final = "trainc: packages"
PROGRAM: Final = "trainc: files"
SBOM: Final = "usr/share/trainc/sbom.spdx.json"
LICENSES: Final = "usr/share/trainc/licenses.txt"


class Built(Struct, frozen=True):
    """A built image: its full name, the digest of its manifest, and its layer tars, lowest first."""

    image: str
    digest: str
    layers: tuple[Path, ...]
    documents: Documents


def layers(folder: Path, cache: Path, mirror: str | None = None) -> tuple[Path, ...]:
    """Return the uncompressed layer tars of the image in a folder, lowest first, from the cache or newly built.

    Raises BuildError, with the findings if there are any.
    """
    inputs, findings = read_image(folder)
    built, more = build(inputs, cache, mirror) if inputs is not None else (None, ())
    if built is None:
        raise BuildError("\n".join(f"{each.file}: {each.message}" for each in (*findings, *more)))
    return built.layers


def build(inputs: Inputs, cache: Path, mirror: str | None = None) -> tuple[Built | None, tuple[Finding, ...]]:
    """Build an image, with unchanged layers from the cache; None if a pin is missing (TC707, TC708).

    Raises BuildError if a tool is missing or fails, and if the installed packages differ from the pins.
    """
    if unpinned := tuple(_unpinned(inputs)):
        return None, unpinned
    if inputs.definition.project:
        with layer_cache.scratch(cache) as scratch:
            pin, _ = _project(inputs, cache, scratch)
        inputs = structs.replace(inputs, wheels=(*inputs.wheels, pin))
    key = layer_cache.key_of(made_of(inputs))
    stored = layer_cache.find(cache, key, SYSTEM)
    if stored is None:
        with layer_cache.scratch(cache) as scratch:
            made = make_rootfs(inputs, mirror, cache, scratch)
            if not isinstance(made, Path):
                return None, made
            stored = _stored(inputs, made, cache, key)
    program = _program(inputs, stored)
    layer = Layer(digest_of(program), len(program), PROGRAM)
    tars = (stored.tar, layer_cache.keep_bytes(cache, program))
    done = documents(inputs.definition, (stored.layer, layer))
    return Built(inputs.definition.image, done.digest, tars, done), ()


def _unpinned(inputs: Inputs) -> Iterator[Finding]:
    definition = inputs.definition
    for key, required, pins, file in (
        ("packages", definition.packages, inputs.packages, PACKAGES),
        ("wheels", definition.wheels, inputs.wheels, WHEELS),
    ):
        names = {package_name(pin.name) for pin in pins}
        for index, name in enumerate(required):
            if package_name(name) not in names:
                yield report(MALFORMED, inputs.document, (key, index), f"{name} is not pinned in {file}")


def _unneeded(inputs: Inputs, facts: layer_cache.Facts) -> Iterator[str]:
    """Yield a line for each pinned wheel that neither image.yaml nor another wheel requires."""
    requires: dict[str, list[str]] = {}
    for text in facts.wheels.values():
        head = [line.partition(": ") for line in text.partition("\n\n")[0].splitlines()]
        name = next((value for key, _, value in head if key == "Name"), "")
        requires[package_name(name)] = [package_name(value) for key, _, value in head if key == "Requires-Dist"]
    own = [inputs.wheels[-1].name] if inputs.definition.project else []  # the wheel of the project
    waiting, needed = [package_name(each) for each in (*inputs.definition.wheels, *own)], set[str]()
    while waiting:
        if (name := waiting.pop()) not in needed:
            needed.add(name)
            waiting += requires.get(name, [])
    for pin in inputs.wheels:
        if package_name(pin.name) not in needed:
            yield f"{pin.name} {pin.version}: pinned, not required"


def _project(inputs: Inputs, cache: Path, scratch: Path) -> tuple[Pin, Path]:
    """Build the wheel of the image's project."""
    definition = inputs.definition
    return build_wheel(inputs.folder.resolve() / definition.project, definition.epoch, cache, scratch)


def made_of(inputs: Inputs) -> JsonObject:
    """Return the inputs of the system layer of an image, from which its key in the cache is computed."""
    definition = inputs.definition
    return {
        "suite": definition.suite,
        "architecture": definition.architecture,
        "created": definition.created,
        "packages": [*definition.packages],
        "pins": [[pin.name, pin.version, pin.sha256] for pin in inputs.packages],
        "wheels": [[pin.name, pin.version, pin.sha256] for pin in inputs.wheels],
        "required": [*definition.wheels],
        "user": [definition.user.name, definition.user.id] if definition.user is not UNSET else [],
    }


def _stored(inputs: Inputs, made: Path, cache: Path, key: str) -> layer_cache.Stored:
    normal = made.with_name("normal.tar")
    try:
        with made.open("rb") as old, normal.open("wb") as new:
            facts = system_layer(old, new, inputs.definition.epoch)
    except (tarfile.TarError, KeyError) as error:
        raise BuildError(f"mmdebstrap did not create a Debian system: {error}") from None
    pinned = {(pin.name, pin.version) for pin in inputs.packages}
    there = {(each.name, each.version) for each in installed(facts.status)}
    unneeded = [*_unneeded(inputs, facts)]
    if pinned != there or unneeded:
        lines = [f"{name} {version}: pinned, not installed" for name, version in sorted(pinned - there)]
        lines += [f"{name} {version}: installed, not pinned" for name, version in sorted(there - pinned)]
        raise BuildError("the installed packages differ from the pins\n" + "\n".join((*lines, *unneeded)))
    try:
        return layer_cache.keep(cache, key, normal, facts, SYSTEM)
    except UnicodeEncodeError as error:
        raise BuildError(f"a name in the system is not UTF-8: {error.object!r}") from None


def _program(inputs: Inputs, stored: layer_cache.Stored) -> bytes:
    definition = inputs.definition
    parts = software(stored.facts, inputs.packages, inputs.wheels, definition)
    entries = [
        *copied(definition, inputs.contents),
        Entry(SBOM, canonical(sbom(definition, parts)) + b"\n"),
        Entry(LICENSES, license_list(parts).encode()),
    ]
    try:
        return upper_layer(entries, stored.facts, definition.epoch)
    except ValueError as error:
        raise BuildError(str(error)) from None


def update(inputs: Inputs, cache: Path, mirror: str | None = None) -> tuple[str, ...]:
    """Rewrite packages.lock and wheels.lock of an image with the newest versions, and return a line per change.

    Packages are resolved as apt would install them in an empty system. Raises BuildError and OSError.
    """
    definition = inputs.definition
    with layer_cache.scratch(cache) as scratch:
        archive = open_archive(definition.suite, definition.architecture, mirror, scratch)
        packages = archive.resolve(definition.packages)
        names = [*definition.wheels]
        own = None
        if definition.project:
            own, wheel = _project(inputs, cache, scratch)
            names.append(str(wheel))
        wheels = resolve(names, definition.suite, definition.architecture, scratch) if names else ()
        wheels = tuple(pin for pin in wheels if own is None or pin.name != own.name)
    replace_file(str(inputs.folder / PACKAGES), pins_text(packages, PACKAGES).encode())
    if wheels or inputs.wheels_lock is not None:
        replace_file(str(inputs.folder / WHEELS), pins_text(wheels, WHEELS).encode())
    return (*changes(inputs.packages, packages), *changes(inputs.wheels, wheels))
