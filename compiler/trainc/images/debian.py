"""Debian's control files: stanzas of `Key: value` lines (deb822(5)), and apt's lists of sources. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

Stanza = Mapping[str, str]
"""Values by key in lower case; further lines of a value follow after a newline, without their first space."""

_ONE_LINE = re.compile(r"deb(?:\s+\[(?P<options>[^\]]*)\])?\s+(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)")
_OPTIONS: Final = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
    "allow-insecure": "Allow-Insecure",
}
_CONFFILE_FIELDS: Final = ("types", "uris", "suites", "components", *_OPTIONS)


class Installed(Struct, frozen=True):
    """A package as dpkg's status knows it, with the names of its source package and of its architecture."""

    name: str
    version: str
    architecture: str
    source: str


def stanzas(text: str) -> Iterator[Stanza]:
    """Yield the stanzas of a control file: comments are lines that begin with #."""
    fields: dict[str, str] = {}
    last = ""
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields, last = {}, ""
        elif line[0] in " \t":
            if last:
                fields[last] += f"\n{line[1:].rstrip()}"
        else:
            key, _, value = line.partition(":")
            last = key.strip().lower()
            fields[last] = value.strip()
    if fields:
        yield fields


def installed(status: str) -> tuple[Installed, ...]:
    """Return what dpkg's status (``/var/lib/dpkg/status``) says is installed, by name."""
    found = []
    for each in stanzas(status):
        if each.get("status", "").endswith(" installed"):
            name = each["package"]
            source = each.get("source", name).split(" ", 1)[0]
            found.append(Installed(name, each["version"], each["architecture"], source))
    return tuple(sorted(found, key=lambda one: one.name))


def offered(indexes: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    """Return the SHA-256 of .deb files by package and version, of the texts of Packages files."""
    found: dict[str, dict[str, str]] = {}
    for index in indexes:
        for each in stanzas(index):
            found.setdefault(each["package"], {}).setdefault(each["version"], each.get("sha256", ""))
    return found


def suites_of(suite: str) -> tuple[str, str, str]:
    """Return the suites that a release is made of: itself, its updates, its security updates."""
    return suite, f"{suite}-updates", f"{suite}-security"


def sources(texts: Mapping[str, str], suite: str) -> str:
    """Return, of the files of ``/etc/apt`` by name, the sources of binary packages of one release, as deb822.

    The text is empty if there are none. Files that end in .list have a source a line (sources.list(5)).
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
    """Return the source, as deb822, of an archive that has a release and its updates, but not its security updates."""
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
