"""The software bill of materials of an image, as SPDX 2.3 in JSON. Pure: equal images have equal bytes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from trainc.images.definition import Definition
from trainc.images.layout import canonical
from trainc.images.licenses import NOTHING
from trainc.images.software import Software
from trainc.source import Json, JsonObject

_IMAGE: Final = "SPDXRef-Image"
_DOCUMENT: Final = "SPDXRef-DOCUMENT"
_NAMESPACE: Final = "https://spdx.org/spdxdocs/trainc-"


def sbom(definition: Definition, parts: Sequence[Software]) -> JsonObject:
    """Return the document. Its namespace is made of its content, so that another content is another document."""
    packages: list[Json] = [_image(definition), *(_package(part) for part in parts)]
    relationships: list[Json] = [_relation(_DOCUMENT, "DESCRIBES", _IMAGE)]
    relationships += [_relation(_IMAGE, "CONTAINS", _identifier(part)) for part in parts]
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
        "name": definition.image,
        "documentNamespace": f"{_NAMESPACE}{hashlib.sha256(canonical(content)).hexdigest()}",
        "creationInfo": {"created": definition.created, "creators": ["Tool: trainc"]},
        **content,
    }


def _image(definition: Definition) -> JsonObject:
    name, _, tag = definition.image.rpartition(":")
    return {
        "SPDXID": _IMAGE,
        "name": name,
        "versionInfo": tag,
        "primaryPackagePurpose": "CONTAINER",
        "downloadLocation": NOTHING,
        "filesAnalyzed": False,
        "licenseConcluded": NOTHING,
        "licenseDeclared": definition.licenses or NOTHING,
        "copyrightText": NOTHING,
    }


def _package(part: Software) -> JsonObject:
    found: JsonObject = {
        "SPDXID": _identifier(part),
        "name": part.name,
        "versionInfo": part.version,
        "primaryPackagePurpose": "LIBRARY" if part.purl.startswith("pkg:pypi/") else "INSTALL",
        "downloadLocation": NOTHING,
        "filesAnalyzed": False,
        "licenseConcluded": NOTHING,
        "licenseDeclared": part.license,
        "copyrightText": NOTHING,
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


def _relation(one: str, kind: str, other: str) -> JsonObject:
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
