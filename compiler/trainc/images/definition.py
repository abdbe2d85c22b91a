"""The folder of an image: image.yaml, its pins in packages.lock and wheels.lock, and the files that it copies."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import astuple

from trainc.basics.jsonvalues import Path as FieldPath
from trainc.basics.jsonvalues import get, paths
from trainc.basics.regex import lazy
from trainc.findings import Finding, has_errors, report, sort_key
from trainc.inputs.imagelock import key_of
from trainc.inputs.settings import form
from trainc.inputs.source import Document, Mark, Source
from trainc.project.config import convert, read_document
from trainc.project.links import real_path
from trainc.project.read import read_bytes

FILE: Final = "image.yaml"
CODE: Final = "TC706"

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's, which sshd gives to root as well."""

WHITEOUT: Final = ".wh."
"""The beginning of names in a layer that remove what lower layers have (image-spec v1.1, layer.md, Whiteouts)."""

OWN_LABELS: Final = "org.opencontainers.image."
PIP: Final = "python3-pip-whl"
"""The Debian package whose pip installs wheels, without a network."""


Package = Annotated[str, form("[a-z0-9][a-z0-9+.-]+", "the name of a Debian package: a name such as git")]
Requirement = Annotated[
    str,
    form(
        "[A-Za-z0-9][A-Za-z0-9._-]*([<>=!~]=?[A-Za-z0-9.*,<>=!~]+)?",
        "a requirement of pip: a requirement such as numpy or numpy==2.1",
    ),
]
Created = Annotated[
    str,
    form(
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        "a time in UTC: a time such as 2026-01-31T00:00:00Z",
    ),
]
AbsolutePath = Annotated[
    str, form("(/[A-Za-z0-9._@+-]+)+", "an absolute path: a-z, A-Z, 0-9 and . _ @ + - are allowed")
]
NotEmpty = Annotated[str, Meta(min_length=1)]


class User(Struct, frozen=True, forbid_unknown_fields=True):
    """An account beside root, with a home below /home and without a password."""

    name: Annotated[
        str,
        form("[a-z_][a-z0-9_-]{0,31}", "the name of a user: at most 32 of a-z, 0-9, _ and -"),
        Meta(description="The name of the user and its group."),
    ]
    id: Annotated[int, Meta(ge=1000, le=59999, description="The user ID, which is also the group ID.")]


class BuildError(Exception):
    """An image cannot be built; the text has the reason and what to do."""


class CopiedFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file to copy, owned by root."""

    source: Annotated[NotEmpty, Meta(description="A file below images/, relative to the folder of image.yaml.")] = (
        field(name="from")
    )
    target: Annotated[AbsolutePath, Meta(description="Its absolute path in the image.")] = field(name="to")
    executable: Annotated[bool, Meta(description="Whether the file is executable: mode 0755 instead of 0644.")] = False


class Definition(Struct, frozen=True, forbid_unknown_fields=True):
    """images/<name>/image.yaml, the definition of an image."""

    image: Annotated[
        str, Meta(description="The full name of the image, with registry, path and tag: its key in images.lock.yaml.")
    ]
    suite: Annotated[
        str,
        form("[a-z]+", "the code name of a Debian release: a name such as bookworm"),
        Meta(description="The code name of the Debian release."),
    ]
    created: Annotated[
        Created,
        Meta(
            description="The timestamp of the image and all its files, in UTC. It is part of the content: a new"
            " timestamp gives a new digest."
        ),
    ]
    packages: Annotated[
        tuple[Package, ...],
        Meta(
            min_length=1,
            description="Debian packages; packages.lock beside this file pins them and their dependencies.",
        ),
    ]
    architecture: Annotated[
        Literal["amd64", "arm64"],
        Meta(description="Debian's name of the architecture, which must be that of the build machine."),
    ] = "amd64"
    description: Annotated[str, Meta(description="A one-line description: org.opencontainers.image.description.")] = ""
    wheels: Annotated[
        tuple[Requirement, ...],
        Meta(description="Python packages in pip's notation; wheels.lock pins them by SHA-256."),
    ] = ()
    project: Annotated[
        str,
        Meta(
            description="The folder of a Python project, relative to the folder of image.yaml: it is built as a wheel"
            " and installed, and wheels.lock pins its dependencies."
        ),
    ] = ""
    user: User | UnsetType = UNSET
    files: Annotated[
        tuple[CopiedFile, ...], Meta(description="Files to copy, owned by root: the layer above the packages.")
    ] = ()
    folders: Annotated[tuple[str, ...], Meta(description="Empty folders, owned by root, mode 0755.")] = ()
    links: Annotated[dict[str, NotEmpty], Meta(description="Symbolic links: targets by absolute path.")] = {}
    environment: Annotated[dict[str, str], Meta(description="Environment variables; PATH is Debian's.")] = {}
    entrypoint: Annotated[tuple[str, ...], Meta(description="The entrypoint of every container.")] = ()
    command: Annotated[tuple[str, ...], Meta(description="The default arguments of the entrypoint.")] = ()
    working_directory: Annotated[
        str,
        form("/.*", "an absolute path: it begins with /"),
        Meta(description="The working directory of containers."),
    ] = field(name="workingDirectory", default="/")
    licenses: Annotated[
        NotEmpty,
        Meta(description="The licences of the copied files, as an SPDX expression: org.opencontainers.image.licenses."),
    ] = ""
    labels: Annotated[
        dict[str, str],
        Meta(description="More labels. trainc itself sets those that start with org.opencontainers.image."),
    ] = {}

    @property
    def epoch(self) -> int:
        """``created`` in seconds since 1970."""
        return _seconds(self.created)


def parse_definition(source: Source) -> tuple[Definition | None, Document, tuple[Finding, ...]]:
    """Return the definition, None if anything is an error, its document, and findings: TC706 and those of any YAML."""
    value, document, findings = read_document(source)
    if has_errors(findings):
        return None, document, findings
    definition, found = convert(value, document, Definition, CODE)
    found += _contradictions(definition, document) if definition is not None else ()
    findings = (*findings, *sorted(found, key=sort_key))
    return (None if has_errors(findings) else definition), document, findings


def _seconds(text: str) -> int:
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp())


def _contradictions(definition: Definition, document: Document) -> Iterator[Finding]:
    """Yield violations that the types cannot express."""
    for path in paths(document.data):
        if any("\0" in text for text in (*path[-1:], get(document.data, *path)) if isinstance(text, str)):
            yield report(CODE, document, path, "a null character, which no path, argument or variable can have")
    try:
        _seconds(definition.created)
    except ValueError:
        yield report(CODE, document, ("created",), "not a valid date", found=definition.created)
    image = definition.image
    if (full := key_of(image)) != image:
        message = "not the full name of an image" if full else "not the name of an image"
        expected = full or "registry, path and tag, such as ghcr.io/team/train:1"
        yield report(CODE, document, ("image",), message, found=image, expected=expected)
    for key, needs_pip in (("wheels", definition.wheels), ("project", definition.project)):
        if needs_pip and PIP not in definition.packages:
            yield report(CODE, document, (key,), f"wheels need pip: add the package {PIP}")
    yield from _paths(definition, document)
    for name in definition.environment:
        if not name or "=" in name:
            yield report(CODE, document, ("environment", name), "not the name of a variable", found=name)
    for label in definition.labels:
        if label.startswith(OWN_LABELS):
            message = f"trainc sets the labels {OWN_LABELS}* itself, from the other keys"
            yield report(CODE, document, ("labels", label), message, found=label)


def _paths(definition: Definition, document: Document) -> Iterator[Finding]:
    """Yield copied files from outside of images/, and paths in the image that are not valid or occur twice."""
    targets: list[tuple[FieldPath, str]] = []
    for index, file in enumerate(definition.files):
        source = posixpath.normpath(file.source)
        if source.startswith(("/", "../../")) or source in (".", ".."):
            expected = "a path of a file below images/, from the folder of image.yaml"
            where = ("files", index, "from")
            yield report(CODE, document, where, "outside of images/", found=source, expected=expected)
        targets.append((("files", index, "to"), file.target))
    targets += ((("folders", index), folder) for index, folder in enumerate(definition.folders))
    targets += ((("links", link), link) for link in definition.links)
    seen: set[str] = set()
    for path, target in targets:
        if not target.startswith("/") or posixpath.normpath(target) != target or target == "/":
            yield report(CODE, document, path, "not a normalised absolute path", found=target)
        elif any(step.startswith(WHITEOUT) for step in target.split("/")):
            message = f"in a layer, a name that begins with {WHITEOUT} removes another file"
            yield report(CODE, document, path, message, found=target)
        elif target in seen:
            yield report(CODE, document, path, f"duplicate path {target}")
        seen.add(target)


PACKAGES: Final = "packages.lock"
WHEELS: Final = "wheels.lock"
MALFORMED: Final = "TC707"
GONE: Final = "TC708"

_HEADERS: Final = {
    PACKAGES: "every Debian package of the image, its version, and the SHA-256 of its .deb.",
    WHEELS: "the image's wheels, for pip install --require-hashes.",
}
_LINES: Final = {PACKAGES: "{} {} {}", WHEELS: "{}=={} --hash=sha256:{}"}
"""The line of a pin: name, version, SHA-256."""

_PINS: Final = {
    PACKAGES: lazy(r"([a-z0-9][a-z0-9+.-]+) ([A-Za-z0-9.+:~-]+) ([0-9a-f]{64})"),
    WHEELS: lazy(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+) --hash=sha256:([0-9a-f]{64})"),
}


class Pin(Struct, frozen=True):
    """A package or wheel: its name, its exact version, and the SHA-256 of its file in hexadecimal."""

    name: str
    version: str
    sha256: str


def package_name(requirement: str) -> str:
    """Return the name in a requirement in one spelling, as Python's packages are compared (PEP 503)."""
    return re.sub("[-_.]+", "-", re.split("[^A-Za-z0-9._+-]", requirement.strip(), maxsplit=1)[0]).lower()


def parse_pins(source: Source, file: str) -> tuple[tuple[Pin, ...], tuple[Finding, ...]]:
    """Return the pins of a packages.lock or wheels.lock in its order, none after an error (TC707), and findings."""
    document = _document(source)
    pins: dict[str, Pin] = {}
    findings = []
    for number, line in enumerate(_lines(source)):
        if not line.strip() or line.startswith("#"):
            continue
        if (match := _PINS[file].fullmatch(line.rstrip())) is None:
            expected = _LINES[file].format("NAME", "VERSION", "SHA256")
            findings.append(report(MALFORMED, document, (number,), "not a valid pin", found=line, expected=expected))
        elif match[1] in pins:
            findings.append(report(MALFORMED, document, (number,), f"{match[1]} is pinned twice"))
        else:
            pins[match[1]] = Pin(*match.groups())
    return (() if has_errors(findings) else tuple(pins.values())), tuple(findings)


def _lines(source: Source) -> list[str]:
    return source.decoded().split("\n")  # str.splitlines would also end a comment at other characters


def pins_text(pins: Iterable[Pin], file: str) -> str:
    """Return the text of a packages.lock or wheels.lock."""
    lines = [_LINES[file].format(*astuple(pin)) for pin in sorted(pins, key=lambda pin: pin.name)]
    return "".join(f"{line}\n" for line in (f"# Written by 'trainc image update': {_HEADERS[file]}", *lines))


def missing(source: Source, pins: Sequence[Pin], offered: Mapping[str, Mapping[str, str]]) -> tuple[Finding, ...]:
    """Return a TC708, with the available versions, for each pinned package that a package source lacks.

    ``offered`` has the SHA-256 of .deb files by name and version, empty if the package source has none.
    """
    document = _document(source)
    findings = []
    for pin in pins:
        versions = offered.get(pin.name, {})
        if pin.version not in versions:
            message = f"{pin.name} {pin.version} is not available"
            expected = ", ".join(sorted(versions)) or "no version"
            findings.append(report(GONE, document, (pin.name,), message, found=pin.version, expected=expected))
        elif versions[pin.version] != pin.sha256:
            message = f"{pin.name} {pin.version} differs from the pinned one"
            found = versions[pin.version] or "no SHA-256"
            findings.append(report(GONE, document, (pin.name,), message, found=found, expected=pin.sha256))
    return tuple(findings)


def preferences(pins: Iterable[Pin]) -> str:
    """Return apt_preferences(5) that allow only the pinned versions."""
    rows = [("*", "release *", -1), *((pin.name, f"version {pin.version}", 1001) for pin in pins)]
    return "\n".join(f"Package: {name}\nPin: {pin}\nPin-Priority: {priority}\n" for name, pin, priority in rows)


def changes(old: Iterable[Pin], new: Iterable[Pin]) -> Iterator[str]:
    """Yield a line for each package that is added (``+``), removed (``-``) or changed (``~``)."""
    before, after = ({pin.name: pin for pin in pins} for pins in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if now is None:
            yield f"- {name} {before[name].version}"
        elif was is None:
            yield f"+ {name} {now.version}"
        elif was != now:
            yield f"~ {name} {now.version} (was {was.version})"


def _document(source: Source) -> Document:
    """Return a document whose paths are line numbers, from 0, and names of packages."""

    def marks() -> Mapping[FieldPath, Mark]:
        found: dict[FieldPath, Mark] = {(): Mark(1, 1)}
        for number, line in enumerate(_lines(source)):
            name = re.split(r"[ =]", line, maxsplit=1)[0]
            found[(number,)] = found[(name,)] = Mark(number + 1, 1)
        return found

    return Document(source, {}, 0, marks)


_LIMIT = 64 * 1024 * 1024


class Inputs(Struct, frozen=True):
    """The inputs of an image: its definition, the pins, and the files to copy.

    ``contents`` are the files by their paths in image.yaml. Findings about pins refer to ``packages_lock`` and
    ``wheels_lock``, which are None if there are no pins yet.
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
        """The name of the folder, by which commands refer to the image."""
        return self.folder.resolve().name


def read_image(folder: Path) -> tuple[Inputs | None, tuple[Finding, ...]]:
    """Read a folder that has an image.yaml; None after an error (TC706, TC707, or not YAML).

    Findings name files by their path from the working directory. Raises BuildError if a file cannot be read.
    """
    definition, document, findings = parse_definition(_source(folder / FILE))
    if definition is None:
        return None, findings
    packages, wheels = (_source(path) if path.exists() else None for path in (folder / PACKAGES, folder / WHEELS))
    pins, of_packages = parse_pins(packages, PACKAGES) if packages else ((), ())
    pinned_wheels, of_wheels = parse_pins(wheels, WHEELS) if wheels else ((), ())
    findings = (*findings, *of_packages, *of_wheels)
    if has_errors(findings):
        return None, findings
    home = folder.resolve()
    contents: dict[str, bytes] = {}
    for each in definition.files:
        path = os.path.normpath(home / each.source)
        if real_path(path) != path:
            raise BuildError(f"{path} is a symbolic link, or behind one, which trainc does not follow")
        contents[each.source] = _bytes(Path(path))
    return Inputs(folder, definition, document, pins, pinned_wheels, contents, packages, wheels), findings


def _source(path: Path) -> Source:
    return Source(os.path.relpath(path).replace(os.sep, "/"), _bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return read_bytes(path, _LIMIT)
    except ValueError as reason:
        raise BuildError(f"{os.path.relpath(path)} {reason}") from None
