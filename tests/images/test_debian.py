"""Debian's control files and apt's sources."""

from __future__ import annotations

import pytest
from imagecase import STATUS

from trainc.images.debian import Installed, installed, mirror_sources, offered, sources, stanzas

DEB822 = """\
# the usual one
Types: deb deb-src
URIs: https://deb.example/debian
Suites: bookworm bookworm-updates trixie
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Types: deb
URIs: https://deb.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
Enabled: yes

Types: deb
URIs: https://off.example
Suites: bookworm
Components: main
Enabled: no

Types: deb-src
URIs: https://src.example
Suites: bookworm
Components: main
"""
ONE_LINE = """\
# deb https://no.example bookworm main
deb [arch=amd64 signed-by=/k.gpg check-valid-until=no] https://one.example/debian bookworm main non-free # here
deb-src https://src.example bookworm main
deb https://node.example nodistro main
"""


def test_stanzas() -> None:
    text = "\n\nA: 1\n two\n  three\n# no\nB:2\n\n\nC-D: x: y\n"
    assert list(stanzas(text)) == [{"a": "1\ntwo\n three", "b": "2"}, {"c-d": "x: y"}]
    assert list(stanzas("")) == []


def test_installed() -> None:
    assert installed(STATUS) == (
        Installed("bash", "5.2-1", "amd64", "bash"),
        Installed("zlib1g", "1:1.2+dfsg-1", "amd64", "zlib"),
    )


def test_offered() -> None:
    one = "Package: bash\nVersion: 1\nSHA256: aa\n\nPackage: bash\nVersion: 2\n"
    other = "Package: bash\nVersion: 1\nSHA256: bb\n\nPackage: zlib1g\nVersion: 3\nSHA256: cc\n"
    assert offered((one, other)) == {"bash": {"1": "aa", "2": ""}, "zlib1g": {"3": "cc"}}


def test_a_stanza_without_a_version() -> None:
    """apt takes such an index, and ignores the stanza; dpkg's status has a package that no pin equals."""
    assert offered(("Package: odd\nSHA256: aa\n\nVersion: 1\n\nPackage: bash\nVersion: 1\n",)) == {"bash": {"1": ""}}
    assert installed("Package: odd\nStatus: install ok installed\n") == (Installed("odd", "", "", "odd"),)


def test_sources_of_one_release() -> None:
    assert sources({"/etc/apt/sources.list.d/debian.sources": DEB822}, "bookworm") == (
        "Types: deb\n"
        "URIs: https://deb.example/debian\n"
        "Suites: bookworm bookworm-updates\n"
        "Components: main contrib\n"
        "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"
        "\n"
        "Types: deb\n"
        "URIs: https://deb.example/debian-security\n"
        "Suites: bookworm-security\n"
        "Components: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )


def test_sources_a_line() -> None:
    assert sources({"/etc/apt/sources.list": ONE_LINE}, "bookworm") == (
        "Types: deb\n"
        "URIs: https://one.example/debian\n"
        "Suites: bookworm\n"
        "Components: main non-free\n"
        "Signed-By: /k.gpg\n"
        "Check-Valid-Until: no\n"
    )


@pytest.mark.parametrize("suite", ["trixie-updates", "book", "nodistr"])
def test_no_source_of_a_release(suite: str) -> None:
    assert sources({"a.sources": DEB822, "b.list": ONE_LINE}, suite) == ""


def test_a_mirror() -> None:
    text = mirror_sources("https://mirror.example/debian", "bookworm")
    assert sources({"a.sources": text}, "bookworm") == text
    assert "Suites: bookworm bookworm-updates\n" in text
