"""Debian's control files (deb822(5)), apt's lists of sources, and copyright files (DEP-5) as SPDX expressions. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

Stanza = Mapping[str, str]
"""Values by key in lower case; continuation lines follow after a newline, without their first space."""

_ONE_LINE = re.compile(r"deb(?:\s+\[(?P<options>[^\]]*)\])?\s+(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")
_OPTIONS: Final = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
    "allow-insecure": "Allow-Insecure",
}
_CONFFILE_FIELDS: Final = ("types", "uris", "suites", "components", *_OPTIONS)


class Installed(Struct, frozen=True):
    """A package in dpkg's status, with its source package."""

    name: str
    version: str
    architecture: str
    source: str


def stanzas(text: str) -> Iterator[Stanza]:
    """Yield the stanzas of a control file: comments are lines that begin with #."""
    fields: dict[str, list[str]] = {}
    last: list[str] = []  # the lines of the last field; none of what precedes the first is kept
    # Licences have form feeds, which neither end a line, as in str.splitlines, nor make it blank.
    for line in (*text.split("\n"), ""):
        if line.startswith("#"):
            continue
        if not line.strip(" \t\r"):
            if fields:
                yield {key: "\n".join(lines) for key, lines in fields.items()}
            fields, last = {}, []
        elif line[0].isspace():
            last.append(line[1:].rstrip())
        else:
            key, _, value = line.partition(":")
            last = fields[key.strip().lower()] = [value.strip()]


def installed(status: str) -> tuple[Installed, ...]:
    """Return the installed packages of dpkg's status (``/var/lib/dpkg/status``), sorted by name.

    A value that is missing is empty, so that no pin equals such a package.
    """
    found = []
    for each in stanzas(status):
        if each.get("status", "").endswith(" installed"):
            name = each.get("package", "")
            source = each.get("source", name).split(" ", 1)[0]
            found.append(Installed(name, each.get("version", ""), each.get("architecture", ""), source))
    return tuple(sorted(found, key=lambda one: one.name))


def offered(indexes: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    """Return the SHA-256 of .deb files by package and version, from the texts of Packages files.

    Like apt, it ignores a stanza without one of the two.
    """
    found: dict[str, dict[str, str]] = {}
    for index in indexes:
        for each in stanzas(index):
            if (package := each.get("package")) and (version := each.get("version")):
                found.setdefault(package, {}).setdefault(version, each.get("sha256", ""))
    return found


def suites_of(suite: str) -> tuple[str, str, str]:
    """Return the suites of a release: itself, its updates, its security updates."""
    return suite, f"{suite}-updates", f"{suite}-security"


def sources(texts: Mapping[str, str], suite: str) -> str:
    """Return the sources of binary packages of one release, as deb822, from the files of ``/etc/apt`` by name.

    The text is empty if there are none. Files that end in .list have one source per line (sources.list(5)).
    """
    wanted = suites_of(suite)
    kept = []
    for name, text in sorted(texts.items()):
        for each in _one_line(text) if name.endswith(".list") else stanzas(text):
            chosen = [one for one in each.get("suites", "").split() if one in wanted]
            enabled = each.get("enabled", "yes").lower() not in ("no", "false", "0")
            if chosen and enabled and "deb" in each.get("types", "").split():
                kept.append({**each, "types": "deb", "suites": " ".join(chosen)})
    return "\n".join(_written(each) for each in kept)


def mirror_sources(uri: str, suite: str) -> str:
    """Return the source, as deb822, of an archive with a release and its updates, without security updates."""
    main, updates, _ = suites_of(suite)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    fields = {"types": "deb", "uris": uri, "suites": f"{main} {updates}", "components": "main", "signed-by": keyring}
    return _written(fields)


def _one_line(text: str) -> Iterator[Stanza]:
    for line in text.splitlines():
        if (match := _ONE_LINE.fullmatch(line.partition("#")[0].strip())) is not None:
            fields = {"types": "deb", "uris": match["uri"], "suites": match["suite"]}
            fields["components"] = match["components"].strip()
            for option in (match["options"] or "").split():
                key, _, value = option.partition("=")
                fields[key.lower()] = value.replace(",", " ")
            yield fields


def _written(stanza: Stanza) -> str:
    spelt = {"types": "Types", "uris": "URIs", "suites": "Suites", "components": "Components", **_OPTIONS}
    lines = []
    for key in _CONFFILE_FIELDS:
        if key in stanza:
            first, *rest = stanza[key].split("\n")
            lines += [f"{spelt[key]}: {first}".rstrip(), *(f" {line}" for line in rest)]
    return "\n".join(lines) + "\n"


NOTHING: Final = "NOASSERTION"
"""SPDX for an unknown value."""

_GNU = re.compile(
    r"(?P<name>gpl|lgpl|agpl)-?v?(?P<major>[123])(\.(?P<minor>[01]))?(?P<later>\+|-or-later|-only)?", re.I
)
_GNU_KNOWN: Final = frozenset(
    ("GPL-1.0", "GPL-2.0", "GPL-3.0", "LGPL-2.0", "LGPL-2.1", "LGPL-3.0", "AGPL-1.0", "AGPL-3.0")
)
_IDENTIFIERS: Final = (
    *("Apache-2.0", "Artistic-2.0", "Beerware", "BSD-2-Clause", "BSD-3-Clause", "BSD-4-Clause", "BSD-4-Clause-UC"),
    *("CC0-1.0", "CPL-1.0", "curl", "FSFAP", "FSFULLR", "FSFUL", "ISC", "Latex2e", "MIT", "Sleepycat", "X11", "Zlib"),
)
_SPDX: Final = {
    **{name.lower(): name for name in _IDENTIFIERS},
    "apache-2": "Apache-2.0",
    "artistic": "Artistic-1.0",
    "artistic-2": "Artistic-2.0",
    "cc0": "CC0-1.0",
    "expat": "MIT",
    "gfdl-1.3+-no-invariant": "GFDL-1.3-no-invariants-or-later",
    "gfdl-niv-1.3": "GFDL-1.3-no-invariants-only",
    "gfdl-niv-1.3+": "GFDL-1.3-no-invariants-or-later",
}
"""SPDX identifiers by the short names of DEP-5, in lower case. DEP-5's Expat is SPDX's MIT."""

_JOINT = re.compile(r",?\s+(?:and|or)\s+", re.I)


def license_of(copyright_text: str, source: str) -> tuple[str, Mapping[str, str]]:
    """Return the licence expression of a copyright file, and the texts of licences without an SPDX identifier.

    The expression joins the licences of all parts of the source package; it is NOASSERTION if the file is not DEP-5.
    Names of licences without an identifier start with the source package, as other packages may use them otherwise.
    """
    found = list(stanzas(copyright_text))
    if not found or "format" not in found[0]:
        return NOTHING, {}
    texts: dict[str, str] = {}
    synopses: list[str] = []
    for each in found:
        synopsis, _, text = each.get("license", "").partition("\n")
        synopsis = " ".join(synopsis.split())
        if synopsis and len(synopsis) < 120:
            texts[synopsis] = text or texts.get(synopsis, "")
            synopses.append(synopsis)
    expression = _joined({part for synopsis in synopses for part in _parts(synopsis, source)}) or NOTHING
    names = sorted({name for synopsis in synopses for name in _JOINT.split(synopsis)})
    return expression, {reference(source, name): _text(name, texts) for name in names if spdx(name) is None}


def _joined(parts: Collection[str]) -> str:
    """Join the parts of an SPDX expression with AND, sorted."""
    if len(parts) == 1:
        return next(iter(parts))
    return " AND ".join(f"({part})" if " OR " in part else part for part in sorted(parts))


def _parts(synopsis: str, source: str) -> set[str]:
    """Return the SPDX expressions that a synopsis joins with `and`.

    In DEP-5 `and` binds tighter than `or`, but not after a comma.
    """
    for separator, is_and in ((", and ", True), (", or ", False), (" or ", False), (" and ", True)):
        pieces = [piece for piece in re.split(separator, synopsis, flags=re.I) if piece]
        if len(pieces) < 2:
            continue
        parts = [_parts(piece, source) for piece in pieces]
        choices = sorted({_joined(part) for part in parts})
        if is_and or len(choices) == 1:
            return set().union(*parts)
        return {" OR ".join(f"({choice})" if " AND " in choice else choice for choice in choices)}
    return {spdx(synopsis) or reference(source, synopsis)}


def spdx(name: str) -> str | None:
    """Return the SPDX identifier of a short name of DEP-5, or of an identifier in other case; None if unknown."""
    if (match := _GNU.fullmatch(name)) is not None:
        found = f"{match['name'].upper()}-{match['major']}.{match['minor'] or 0}"
        later = match["later"] in ("+", "-or-later")
        return f"{found}-{'or-later' if later else 'only'}" if found in _GNU_KNOWN else None
    return _SPDX.get(name.lower())


def reference(source: str, name: str) -> str:
    """Return the LicenseRef of a licence without an SPDX identifier."""
    return f"LicenseRef-{_plain(source)}-{_plain(name)}"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name.replace("+", "-plus")).strip("-.") or "unnamed"


def _text(name: str, texts: Mapping[str, str]) -> str:
    """Return the text of a licence, with empty lines instead of dots; its short name if there is no text."""
    lines = ["" if line.strip() == "." else line for line in texts.get(name, "").split("\n")]
    return "\n".join(lines).strip() or name
