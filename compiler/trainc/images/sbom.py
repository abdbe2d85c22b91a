"""The software of an image or a wheel, with licences, and its bill of materials: SPDX 2.3 in JSON. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from email.message import Message
from email.parser import HeaderParser
from typing import Final

from msgspec import Struct, field

from trainc.basics.jsonvalues import Json, JsonObject
from trainc.images.debian import NOTHING, installed, license_of, reference, spdx
from trainc.images.definition import Definition, Pin, package_name
from trainc.images.layers import Facts
from trainc.images.layout import canonical

_UNSTATED: Final = "UNKNOWN"
"""What older releases of setuptools write for a licence that a project does not state."""

_CLASSIFIER: Final = "License :: OSI Approved :: "
_CLASSIFIERS: Final = {
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
}

_IMAGE: Final = "SPDXRef-Image"
_DOCUMENT: Final = "SPDXRef-DOCUMENT"
_UNKNOWN: Final[JsonObject] = {
    "copyrightText": NOTHING,
    "downloadLocation": NOTHING,
    "filesAnalyzed": False,
    "licenseConcluded": NOTHING,
}
"""The fields of a package that a build does not know."""

_NAMESPACE: Final = "https://spdx.org/spdxdocs/trainc-"


class Software(Struct, frozen=True):
    """A part of an image, or a wheel.

    ``purl`` is its package URL; ``texts`` are those of licences without an SPDX identifier.
    """

    name: str
    version: str
    purl: str
    sha256: str
    license: str
    source: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)


def software(
    facts: Facts, packages: Sequence[Pin], wheels: Sequence[Pin], definition: Definition
) -> tuple[Software, ...]:
    """Return Debian's packages and then the wheels, each by name; ``packages`` and ``wheels`` are their pins."""
    found = []
    hashes = {pin.name: pin.sha256 for pin in packages}
    for each in installed(facts.status):
        expression, texts = license_of(facts.copyrights.get(each.name, ""), each.source)
        version = each.version.replace("+", "%2B").replace(":", "%3A")
        distribution = f"arch={each.architecture}&distro={definition.suite}"
        purl = f"pkg:deb/debian/{each.name.replace('+', '%2B')}@{version}?{distribution}"
        digest = hashes.get(each.name, "")
        found.append(Software(each.name, each.version, purl, digest, expression, each.source, texts))
    headers = (HeaderParser().parsestr(text) for text in facts.wheels.values())
    known = {package_name(str(one["Name"])): one for one in headers}
    for pin in sorted(wheels, key=lambda one: one.name):
        expression, texts = wheel_license(known.get(package_name(pin.name), Message()))
        purl = f"pkg:pypi/{pin.name}@{pin.version}"
        found.append(Software(pin.name, pin.version, purl, pin.sha256, expression, "", texts))
    return tuple(found)


def license_list(parts: Iterable[Software]) -> str:
    """Return a line a part, for people: name, version, licence expression."""
    lines = [f"{part.name} {part.version}: {part.license}\n" for part in parts]
    where = "Texts: /usr/share/doc/<package>/copyright, and the .dist-info folders of wheels.\n\n"
    return "Software of this image, and its licences as SPDX expressions (NOASSERTION: not machine-readable).\n" + (
        where + "".join(lines)
    )


def wheel_license(metadata: Message) -> tuple[str, Mapping[str, str]]:
    """Return the license in METADATA, as an expression with the texts that SPDX has no name for.

    It is License-Expression (PEP 639), else License, else a classifier, else NOASSERTION.
    """
    if stated := metadata["License-Expression"]:
        return str(stated), {}
    stated = " ".join(str(metadata["License"] or "").split())
    if stated != _UNSTATED and 0 < len(stated) < 80:
        known = spdx(stated)
        name = stated if stated.startswith("LicenseRef-") else reference("wheel", stated)
        return (known, {}) if known else (name, {name: stated})
    for classifier in metadata.get_all("Classifier") or []:
        if known := _CLASSIFIERS.get(str(classifier).removeprefix(_CLASSIFIER)):
            return known, {}
    return NOTHING, {}


def sbom(definition: Definition, parts: Sequence[Software]) -> JsonObject:
    """Return the document of an image."""
    return _document(definition.image, definition.created, _image(definition), "CONTAINS", parts)


def sbom_of_wheel(wheel: Software, parts: Sequence[Software], created: str) -> JsonObject:
    """Return the document of a wheel, which needs ``parts``; ``created`` is a time such as 2026-01-31T00:00:00Z."""
    return _document(f"{wheel.name} {wheel.version}", created, _package(wheel), "DEPENDS_ON", parts)


def _document(name: str, created: str, subject: JsonObject, relation: str, parts: Sequence[Software]) -> JsonObject:
    """Return a document. Its namespace depends on its content, so that different documents have different ones."""
    first = str(subject["SPDXID"])
    packages: list[Json] = [subject, *(_package(part) for part in parts)]
    related = [(_DOCUMENT, "DESCRIBES", first), *((first, relation, _identifier(part)) for part in parts)]
    relationships: list[Json] = [
        {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in related
    ]
    content: JsonObject = {"packages": packages, "relationships": relationships}
    texts = {name: text for part in reversed(parts) for name, text in part.texts.items()}
    if texts:
        content["hasExtractedLicensingInfos"] = [
            {"licenseId": name, "name": name, "extractedText": text} for name, text in sorted(texts.items())
        ]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": _DOCUMENT,
        "name": name,
        "documentNamespace": f"{_NAMESPACE}{hashlib.sha256(canonical(content)).hexdigest()}",
        "creationInfo": {"created": created, "creators": ["Tool: trainc"]},
        **content,
    }


def _image(definition: Definition) -> JsonObject:
    name, _, tag = definition.image.rpartition(":")
    return {
        "SPDXID": _IMAGE,
        "name": name,
        "versionInfo": tag,
        "primaryPackagePurpose": "CONTAINER",
        "licenseDeclared": definition.licenses or NOTHING,
        **_UNKNOWN,
    }


def _package(part: Software) -> JsonObject:
    found: JsonObject = {
        "SPDXID": _identifier(part),
        "name": part.name,
        "versionInfo": part.version,
        "primaryPackagePurpose": "LIBRARY" if part.purl.startswith("pkg:pypi/") else "INSTALL",
        "licenseDeclared": part.license,
        **_UNKNOWN,
        "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": part.purl}
        ],
    }
    if part.sha256:
        found["checksums"] = [{"algorithm": "SHA256", "checksumValue": part.sha256}]
    if part.source:
        found["sourceInfo"] = f"Debian source package {part.source}"
    return found


def _identifier(part: Software) -> str:
    kind = "wheel" if part.purl.startswith("pkg:pypi/") else "deb"
    return f"SPDXRef-{kind}-{re.sub('[^A-Za-z0-9.]', '-', part.name.replace('+', '-plus'))}"
