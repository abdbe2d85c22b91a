"""Asks apt, in a state of its own, what the package source has; neither the machine's lists nor its packages count."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from trainc.images.debian import mirror_sources, offered, sources, suites_of
from trainc.images.pins import Pin
from trainc.images.process import BuildError, run, tool

MIRROR: Final = "TRAINC_MIRROR"
"""The environment variable that stands for --mirror."""

_ETC: Final = Path("/etc/apt")
_CHOSEN = re.compile(r"^Inst (?P<name>\S+) \((?P<version>\S+) ", re.M)
_MINBASE: Final = ("?essential", "?priority(required)", "apt")
"""What mmdebstrap's variant minbase installs, as apt's patterns (apt-patterns(7))."""


class Archive(Struct, frozen=True):
    """A package source as apt sees it: its folder of lists, and the SHA-256 of .deb files by package and version."""

    sources: Path
    options: tuple[str, ...]
    offered: Mapping[str, Mapping[str, str]]

    def resolve(self, packages: Iterable[str]) -> tuple[Pin, ...]:
        """Return what a minimal system with these packages is made of today, by name. Raises BuildError."""
        told = run([tool("apt-get", "apt"), *self.options, "--simulate", "install", *_MINBASE, *packages])
        chosen = {match["name"].partition(":")[0]: match["version"] for match in _CHOSEN.finditer(told)}
        pins = []
        for name, version in sorted(chosen.items()):
            digest = self.offered.get(name, {}).get(version, "")
            if not digest:
                raise BuildError(f"the package source says no SHA-256 of {name} {version}")
            pins.append(Pin(name, version, digest))
        return tuple(pins)


def open_archive(suite: str, architecture: str, mirror: str | None, scratch: Path) -> Archive:
    """Fetch the lists of packages of a release into a folder. Raises BuildError where there are none."""
    path = scratch / "debian.sources"
    path.write_text(sources_of(suite, mirror), encoding="utf-8")
    state = scratch / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Acquire::GzipIndexes": "false",
        "Acquire::Languages": "none",
        "Dir::Cache": state / "cache",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::Etc::sourcelist": path,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State": state,
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
    }
    options = ("--quiet", *(f"-o{key}={value}" for key, value in settings.items()))
    apt = tool("apt-get", "apt")
    run([apt, *options, "--error-on=any", "update"])
    listed = run([apt, *options, "indextargets", "--format", "$(FILENAME)", "Created-By: Packages"])
    texts = (Path(line).read_text("utf-8", "replace") for line in listed.splitlines() if Path(line).exists())
    return Archive(path, options, offered(texts))


def sources_of(suite: str, mirror: str | None = None) -> str:
    """Return where a release's packages come from, as deb822. Raises BuildError where that is nowhere.

    ``mirror`` is the URI of an archive, or a file in the form of sources.list(5). Without it TRAINC_MIRROR of the
    environment counts, and without that the machine's own sources of the release.
    """
    mirror = mirror or os.environ.get(MIRROR) or None
    if mirror is None:
        found = sources(_files(_ETC), suite)
        where = f"{_ETC} has no source of"
    elif Path(mirror).is_file():
        found = sources({mirror: Path(mirror).read_text("utf-8", "replace")}, suite)
        where = f"{mirror} has no source of"
    elif "://" in mirror:
        return mirror_sources(mirror, suite)
    else:
        raise BuildError(f"--mirror (or {MIRROR}) is neither a URI nor a file: {mirror}")
    if not found:
        raise BuildError(f"{where} {', '.join(suites_of(suite))}: give one with --mirror, a URI or a file")
    return found


def _files(etc: Path) -> Mapping[str, str]:
    """Return apt's configuration of sources: its texts by path."""
    found = [etc / "sources.list", *sorted((etc / "sources.list.d").glob("*"))]
    kept = [path for path in found if path.suffix in (".list", ".sources") and path.is_file()]
    return {str(path): path.read_text("utf-8", "replace") for path in kept}
