"""image.yaml: its text to a Definition. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from trainc.basics.jsonvalues import Path
from trainc.findings import Finding, has_errors, report, sort_key
from trainc.inputs.imagelock import key_of
from trainc.inputs.source import Document, Source
from trainc.project.typedfiles import convert, read_document

FILE: Final = "image.yaml"
CODE: Final = "TC706"

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's, which sshd gives to root as well."""

OWN_LABELS: Final = "org.opencontainers.image."
PIP: Final = "python3-pip-whl"
"""The Debian package whose pip installs wheels, without a network."""


def _form(pattern: str, message: str) -> Meta:
    # $ alone would also match before a line break at the end.
    return Meta(pattern=rf"^{pattern}$(?!\n)", extra_json_schema={"patternErrorMessage": message})


Package = Annotated[str, _form("[a-z0-9][a-z0-9+.-]+", "the name of a Debian package")]
Requirement = Annotated[
    str,
    _form(
        "[A-Za-z0-9][A-Za-z0-9._-]*([<>=!~]=?[A-Za-z0-9.*,<>=!~]+)?",
        "a requirement of pip: such as numpy or numpy==2.1",
    ),
]
Created = Annotated[
    str,
    _form(
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z",
        "a time in UTC: such as 2026-01-31T00:00:00Z",
    ),
]
AbsolutePath = Annotated[
    str, _form("(/[A-Za-z0-9._@+-]+)+", "an absolute path: a-z, A-Z, 0-9 and . _ @ + - are allowed")
]
NotEmpty = Annotated[str, Meta(min_length=1)]


class User(Struct, frozen=True, forbid_unknown_fields=True):
    """An account beside root, with a home below /home and without a password."""

    name: Annotated[
        str,
        _form("[a-z_][a-z0-9_-]{0,31}", "the name of a user: at most 32 of a-z, 0-9, _ and -"),
        Meta(description="The name of the user and of its group."),
    ]
    id: Annotated[int, Meta(ge=1000, le=59999, description="The number of the user and of its group.")]


class CopiedFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file to copy, owned by root."""

    source: Annotated[NotEmpty, Meta(description="A file below images/, as a path from the folder of image.yaml.")] = (
        field(name="from")
    )
    target: Annotated[AbsolutePath, Meta(description="Its absolute path in the image.")] = field(name="to")
    executable: Annotated[bool, Meta(description="Whether everyone may run it: mode 0755 instead of 0644.")] = False


class Definition(Struct, frozen=True, forbid_unknown_fields=True):
    """images/<name>/image.yaml: what trainc image build makes an image of."""

    image: Annotated[
        str, Meta(description="The full name of the image, with registry, path and tag: its line in images.lock.yaml.")
    ]
    suite: Annotated[
        str,
        _form("[a-z]+", "the code name of a Debian release: such as bookworm"),
        Meta(description="The release of Debian, by its code name."),
    ]
    created: Annotated[
        Created,
        Meta(
            description="The time of the image and of all its files, in UTC. It is content: another time is another"
            " digest."
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
        Meta(description="Debian's name of the architecture, which the machine that builds must have."),
    ] = "amd64"
    description: Annotated[
        str, Meta(description="What the image is, in one line: org.opencontainers.image.description.")
    ] = ""
    wheels: Annotated[
        tuple[Requirement, ...],
        Meta(description="Python packages, as pip takes them; wheels.lock pins them by their SHA-256."),
    ] = ()
    user: User | UnsetType = UNSET
    files: Annotated[
        tuple[CopiedFile, ...], Meta(description="Files to copy, owned by root: the layer above the packages.")
    ] = ()
    folders: Annotated[tuple[str, ...], Meta(description="Empty folders, owned by root, mode 0755.")] = ()
    links: Annotated[dict[str, NotEmpty], Meta(description="Symbolic links: targets by absolute path.")] = {}
    environment: Annotated[
        dict[str, str], Meta(description="Environment variables beside PATH, which is Debian's.")
    ] = {}
    entrypoint: Annotated[tuple[str, ...], Meta(description="What every container runs first.")] = ()
    command: Annotated[tuple[str, ...], Meta(description="The arguments of entrypoint where a pod gives none.")] = ()
    working_directory: Annotated[
        str, _form("/.*", "an absolute path: it begins with /"), Meta(description="Where containers start.")
    ] = field(name="workingDirectory", default="/")
    licenses: Annotated[
        NotEmpty,
        Meta(description="The licences of the copied files, as an SPDX expression: org.opencontainers.image.licenses."),
    ] = ""
    labels: Annotated[
        dict[str, str], Meta(description="More labels. trainc sets those of org.opencontainers.image. itself.")
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
    """Yield what the types cannot say."""
    try:
        _seconds(definition.created)
    except ValueError:
        yield report(CODE, document, ("created",), "no such day", found=definition.created)
    image = definition.image
    if (full := key_of(image)) != image:
        message = "not the full name of an image" if full else "not the name of an image"
        expected = full or "registry, path and tag, such as ghcr.io/team/train:1"
        yield report(CODE, document, ("image",), message, found=image, expected=expected)
    if definition.wheels and PIP not in definition.packages:
        yield report(CODE, document, ("wheels",), f"wheels need pip: add the package {PIP}")
    yield from _paths(definition, document)
    for label in definition.labels:
        if label.startswith(OWN_LABELS):
            message = f"trainc sets the labels {OWN_LABELS}* itself, from the other keys"
            yield report(CODE, document, ("labels", label), message, found=label)


def _paths(definition: Definition, document: Document) -> Iterator[Finding]:
    """Yield copied files from outside of images/, and paths in the image that are not valid or occur twice."""
    targets: list[tuple[Path, str]] = []
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
            yield report(CODE, document, path, "not an absolute path in its shortest form", found=target)
        elif target in seen:
            yield report(CODE, document, path, f"duplicate path {target}")
        seen.add(target)
