"""image.yaml: its text to a Definition. Pure. The form is data/image.schema.json."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from trainc.config import read_document
from trainc.configschema import schema_of
from trainc.diagnostics import Diagnostic, has_errors, report, sort_key, suggest
from trainc.imagelock import key_of
from trainc.records import dataclass, field
from trainc.schema import check
from trainc.source import Document, Json, JsonObject, Source, as_list, as_object, objects

FILE: Final = "image.yaml"
CODE: Final = "TC706"
SCHEMA: Final = "image.schema.json"

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian's, which sshd gives to root as well."""

OWN_LABELS: Final = "org.opencontainers.image."
PIP: Final = "python3-pip-whl"
"""The package of Debian whose pip installs wheels, without a network."""


@dataclass(frozen=True, slots=True)
class User:
    """An account beside root: the name and the number of user and group."""

    name: str
    id: int


@dataclass(frozen=True, slots=True)
class Copied:
    """A file to copy: ``source`` from the folder of image.yaml, ``target`` absolute in the image."""

    source: str
    target: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Definition:
    """What image.yaml says. ``created`` is RFC 3339 in UTC, ``image`` the name spelt out, links are target by path."""

    image: str
    suite: str
    architecture: str
    created: str
    packages: tuple[str, ...]
    description: str = ""
    wheels: tuple[str, ...] = ()
    user: User | None = None
    files: tuple[Copied, ...] = ()
    folders: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict, hash=False)
    environment: Mapping[str, str] = field(default_factory=dict, hash=False)
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    working_directory: str = "/"
    licenses: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    document: Document | None = field(default=None, compare=False, repr=False)

    @property
    def epoch(self) -> int:
        """Return ``created`` in seconds since 1970."""
        return _seconds(self.created)


def parse_definition(source: Source) -> tuple[Definition | None, tuple[Diagnostic, ...]]:
    """Return what a text defines, None if anything is an error, and what is wrong: TC706 and findings of YAML text."""
    data, document, findings = read_document(source)
    if not has_errors(findings):
        findings = (*findings, *sorted(_faults(data, document), key=sort_key))
    if has_errors(findings):
        return None, findings
    return _definition(as_object(data), document), findings


def _seconds(text: str) -> int:
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z").timestamp())


def _definition(data: JsonObject, document: Document) -> Definition:
    user = as_object(data.get("user"))
    files = objects(data.get("files"))
    return Definition(
        image=str(data["image"]),
        suite=str(data["suite"]),
        architecture=str(data.get("architecture", "amd64")),
        created=str(data["created"]),
        packages=_texts(data, "packages"),
        description=str(data.get("description", "")),
        wheels=_texts(data, "wheels"),
        user=User(str(user["name"]), int(str(user["id"]))) if user else None,
        files=tuple(Copied(str(each["from"]), str(each["to"]), each.get("executable") is True) for each in files),
        folders=_texts(data, "folders"),
        links=_mapping(data, "links"),
        environment=_mapping(data, "environment"),
        entrypoint=_texts(data, "entrypoint"),
        command=_texts(data, "command"),
        working_directory=str(data.get("workingDirectory", "/")),
        licenses=str(data.get("licenses", "")),
        labels=_mapping(data, "labels"),
        document=document,
    )


def _texts(data: JsonObject, key: str) -> tuple[str, ...]:
    return tuple(str(each) for each in as_list(data.get(key)))


def _mapping(data: JsonObject, key: str) -> Mapping[str, str]:
    return {name: str(value) for name, value in as_object(data.get(key)).items()}


def _faults(data: Json, document: Document) -> Iterator[Diagnostic]:
    if not isinstance(data, dict):
        yield report(CODE, document, (), "wrong type", expected="a mapping")
        return
    schema = schema_of(SCHEMA)
    _, unknown, misfits = check(schema, data)
    for path in unknown:
        found = schema.at(path[:-1])
        known = tuple(sorted(found.properties)) if found is not None else ()
        hint = suggest(str(path[-1]), known)
        yield report(CODE, document, path, f"unknown key {path[-1]!r}", expected=", ".join(known) or None, hint=hint)
    for each in misfits:
        yield report(CODE, document, each.path, each.message, found=each.found, expected=each.expected)
    if not misfits:
        yield from _contradictions(data, document)


def _contradictions(data: JsonObject, document: Document) -> Iterator[Diagnostic]:
    """Yield what the schema cannot say."""
    try:
        _seconds(str(data["created"]))
    except ValueError:
        yield report(CODE, document, ("created",), "no such day", found=str(data["created"]))
    image = str(data["image"])
    if key_of(image) != image:
        message = "the name of the image is not spelt out" if key_of(image) else "not the name of an image"
        expected = key_of(image) or "registry, path and tag, such as ghcr.io/team/train:1"
        yield report(CODE, document, ("image",), message, found=image, expected=expected)
    if data.get("wheels") and PIP not in as_list(data["packages"]):
        message = f"wheels need pip: the package {PIP} is not asked for"
        yield report(CODE, document, ("wheels",), message)
    yield from _places(data, document)
    for label in as_object(data.get("labels")):
        if label.startswith(OWN_LABELS):
            message = f"the labels {OWN_LABELS}* are trainc's: they say what the other keys say"
            yield report(CODE, document, ("labels", label), message, found=label)


def _places(data: JsonObject, document: Document) -> Iterator[Diagnostic]:
    """Yield copied files and links that leave their folder, or meet."""
    seen: set[str] = set()
    for index, each in enumerate(objects(data.get("files"))):
        source, target = posixpath.normpath(str(each["from"])), str(each["to"])
        if source.startswith(("/", "../../")) or source in (".", ".."):
            expected = "a path of a file below images/, from the folder of image.yaml"
            yield report(
                CODE, document, ("files", index, "from"), "outside of images/", found=source, expected=expected
            )
        yield from _meeting(document, ("files", index, "to"), target, seen)
    for index, folder in enumerate(as_list(data.get("folders"))):
        yield from _meeting(document, ("folders", index), str(folder), seen)
    for path in as_object(data.get("links")):
        yield from _meeting(document, ("links", path), path, seen)


def _meeting(document: Document, path: tuple[str | int, ...], target: str, seen: set[str]) -> Iterator[Diagnostic]:
    if not target.startswith("/") or posixpath.normpath(target) != target or target == "/":
        yield report(CODE, document, path, "not an absolute path in its shortest form", found=target)
    elif target in seen:
        yield report(CODE, document, path, f"{target} is there already")
    seen.add(target)
