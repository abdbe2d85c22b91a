"""packages.lock and wheels.lock: exact versions, each with the SHA-256 of its content. Pure.

packages.lock has a Debian package a line, ``NAME VERSION SHA256``, sorted. wheels.lock is a requirements file of pip
with hashes (``NAME==VERSION --hash=sha256:...``), so pip can read it as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Path
from trainc.findings import Finding, has_errors, report
from trainc.inputs.source import Document, Mark, Source

PACKAGES: Final = "packages.lock"
WHEELS: Final = "wheels.lock"
MALFORMED: Final = "TC707"
GONE: Final = "TC708"

PACKAGES_HEADER: Final = (
    "# Written by 'trainc image update': every Debian package of the image, its version, and the SHA-256 of its .deb.\n"
)
WHEELS_HEADER: Final = "# Written by 'trainc image update': the image's wheels, for pip install --require-hashes.\n"

_PACKAGE = re.compile(r"(?P<name>[a-z0-9][a-z0-9+.-]+) (?P<version>[A-Za-z0-9.+:~-]+) (?P<hash>[0-9a-f]{64})")
_WHEEL = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9.!+_-]+) --hash=sha256:(?P<hash>[0-9a-f]{64})"
)


class Pin(Struct, frozen=True):
    """A package or wheel: its name, its exact version, and the SHA-256 of its file in hexadecimal."""

    name: str
    version: str
    sha256: str


def parse_packages(source: Source) -> tuple[tuple[Pin, ...], tuple[Finding, ...]]:
    """Return the pins of a packages.lock in its order, and what is wrong with it (TC707); no pins then."""
    return _parse(source, _PACKAGE, "NAME VERSION SHA256")


def parse_wheels(source: Source) -> tuple[tuple[Pin, ...], tuple[Finding, ...]]:
    """Return the pins of a wheels.lock in its order, and what is wrong with it (TC707); no pins then."""
    return _parse(source, _WHEEL, "NAME==VERSION --hash=sha256:SHA256")


def packages_text(pins: Iterable[Pin]) -> str:
    """Return the packages.lock of pins."""
    return PACKAGES_HEADER + "".join(f"{pin.name} {pin.version} {pin.sha256}\n" for pin in _sorted(pins))


def wheels_text(pins: Iterable[Pin]) -> str:
    """Return the wheels.lock of pins."""
    return WHEELS_HEADER + "".join(f"{pin.name}=={pin.version} --hash=sha256:{pin.sha256}\n" for pin in _sorted(pins))


def missing(source: Source, pins: Sequence[Pin], offered: Mapping[str, Mapping[str, str]]) -> tuple[Finding, ...]:
    """Return a TC708 for each pinned package that a package source does not have, with the versions to be had.

    ``offered`` holds, by name and version, the SHA-256 of the .deb, an empty text where the package source says none.
    """
    document = _document(source)
    findings = []
    for pin in pins:
        versions = offered.get(pin.name, {})
        if pin.version not in versions:
            message = f"{pin.name} {pin.version} is not available"
            expected = ", ".join(sorted(versions)) or "no version"
            findings.append(report(GONE, document, (pin.name,), message, found=pin.version, expected=expected))
        elif versions[pin.version] not in ("", pin.sha256):
            message = f"{pin.name} {pin.version} differs from the pinned one"
            found = versions[pin.version]
            findings.append(report(GONE, document, (pin.name,), message, found=found, expected=pin.sha256))
    return tuple(findings)


def preferences(pins: Iterable[Pin]) -> str:
    """Return apt's preferences (apt_preferences(5)) by which nothing but the pinned versions can be installed."""
    lines = ["Package: *", "Pin: release *", "Pin-Priority: -1", ""]
    for pin in pins:
        lines += [f"Package: {pin.name}", f"Pin: version {pin.version}", "Pin-Priority: 1001", ""]
    return "\n".join(lines)


def changes(old: Iterable[Pin], new: Iterable[Pin]) -> Iterator[str]:
    """Yield a line for each package that comes, goes or has another version or content: ``+``, ``-`` or ``~``."""
    before, after = ({pin.name: pin for pin in pins} for pins in (old, new))
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        if was is None and now is not None:
            yield f"+ {name} {now.version}"
        elif now is None and was is not None:
            yield f"- {name} {was.version}"
        elif was != now and was is not None and now is not None:
            yield f"~ {name} {now.version} (was {was.version})"


def _sorted(pins: Iterable[Pin]) -> list[Pin]:
    return sorted(pins, key=lambda pin: pin.name)


def _parse(source: Source, form: re.Pattern[str], expected: str) -> tuple[tuple[Pin, ...], tuple[Finding, ...]]:
    document = _document(source)
    pins: dict[str, Pin] = {}
    findings = []
    for number, line in enumerate(source.decoded().splitlines()):
        if not line.strip() or line.startswith("#"):
            continue
        if (match := form.fullmatch(line.rstrip())) is None:
            findings.append(report(MALFORMED, document, (number,), "not a pin", found=line, expected=expected))
        elif match["name"] in pins:
            findings.append(report(MALFORMED, document, (number,), f"{match['name']} is pinned twice"))
        else:
            pins[match["name"]] = Pin(match["name"], match["version"], match["hash"])
    return (() if has_errors(findings) else tuple(pins.values())), tuple(findings)


def _document(source: Source) -> Document:
    """Return a document whose paths are numbers of lines, from 0, and names of packages."""

    def marks() -> Mapping[Path, Mark]:
        found: dict[Path, Mark] = {(): Mark(1, 1)}
        for number, line in enumerate(source.decoded().splitlines()):
            name = re.split(r"[ =]", line, maxsplit=1)[0]
            found[(number,)] = found[(name,)] = Mark(number + 1, 1)
        return found

    return Document(source, {}, 0, marks)
