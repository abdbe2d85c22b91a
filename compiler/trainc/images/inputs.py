"""Reads the folder of an image: image.yaml, its pins, and the files that it copies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from trainc.findings import Finding, has_errors
from trainc.images.definition import FILE, Definition, parse_definition
from trainc.images.pins import PACKAGES, WHEELS, Pin, parse_packages, parse_wheels
from trainc.images.process import BuildError
from trainc.inputs.source import Document, Source
from trainc.project.read import read_bytes

_LIMIT = 64 * 1024 * 1024


class Inputs(Struct, frozen=True):
    """All that an image is made of but Debian's packages and the wheels: those are pinned by their content.

    ``contents`` are the files to copy by their path as image.yaml has it; ``packages_lock`` is where findings about
    pins are placed, None where there are no pins yet, and so is ``wheels_lock``.
    """

    folder: Path
    definition: Definition
    document: Document
    packages: tuple[Pin, ...] = ()
    wheels: tuple[Pin, ...] = ()
    contents: Mapping[str, bytes] = field(default_factory=dict)
    packages_lock: Source | None = None
    wheels_lock: Source | None = None

    @property
    def name(self) -> str:
        """Return the name of the folder, which is what commands call the image."""
        return self.folder.resolve().name


def read_image(folder: Path) -> tuple[Inputs | None, tuple[Finding, ...]]:
    """Read a folder that has an image.yaml; None where anything in it is an error (TC706, TC707, or no YAML).

    Findings name files by their path from the working directory. Raises BuildError for what cannot be read.
    """
    definition, document, findings = parse_definition(_source(folder / FILE))
    if definition is None:
        return None, findings
    packages, wheels = _optional(folder / PACKAGES), _optional(folder / WHEELS)
    pins, more = parse_packages(packages) if packages else ((), ())
    pinned_wheels, others = parse_wheels(wheels) if wheels else ((), ())
    findings = (*findings, *more, *others)
    if has_errors(findings):
        return None, findings
    top = folder.resolve().parent
    contents = {each.source: _copied(top, folder.resolve() / each.source) for each in definition.files}
    return Inputs(folder, definition, document, pins, pinned_wheels, contents, packages, wheels), findings


def _source(path: Path) -> Source:
    return Source(os.path.relpath(path).replace(os.sep, "/"), _bytes(path))


def _optional(path: Path) -> Source | None:
    return _source(path) if path.exists() else None


def _copied(top: Path, path: Path) -> bytes:
    if not path.resolve().is_relative_to(top):
        raise BuildError(f"{path} leads out of {top}: no link is followed there")
    return _bytes(path)


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, _LIMIT)
    except ValueError as reason:
        raise BuildError(f"{os.path.relpath(path)} {reason}") from None
