"""DEP-5 copyright files to SPDX expressions."""

from __future__ import annotations

from email import message_from_string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imagecase import COPYRIGHT, DEFINITION

from trainc.images.debian import NOTHING, license_of, spdx
from trainc.images.definition import Pin, parse_definition
from trainc.images.layers import Facts
from trainc.images.sbom import software, wheel_license
from trainc.inputs.source import Source

FORMAT = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"


def expression(*synopses: str) -> str:
    text = FORMAT + "".join(f"\nFiles: {number}\nLicense: {each}\n" for number, each in enumerate(synopses))
    return license_of(text, "src")[0]


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("GPL-2+", "GPL-2.0-or-later"),
        ("GPL-2", "GPL-2.0-only"),
        ("GPL-2.0", "GPL-2.0-only"),
        ("GPLv3+", "GPL-3.0-or-later"),
        ("LGPL-2.1+", "LGPL-2.1-or-later"),
        ("LGPL-2", "LGPL-2.0-only"),
        ("LGPL-3.0-or-later", "LGPL-3.0-or-later"),
        ("GPL-2.1", None),
        ("GPL", None),
        ("GPL-2+ with OpenSSL exception", None),
        ("Expat", "MIT"),
        ("BSD-3-Clause", "BSD-3-Clause"),
        ("bsd-3-clause", "BSD-3-Clause"),
        ("Apache-2", "Apache-2.0"),
        ("ZLIB", "Zlib"),
        ("public-domain", None),
    ],
)
def test_identifiers(name: str, identifier: str | None) -> None:
    assert spdx(name) == identifier


@pytest.mark.parametrize(
    ("synopses", "expected"),
    [
        (("GPL-2+",), "GPL-2.0-or-later"),
        (("GPL-2+", "Expat", "GPL-2+"), "GPL-2.0-or-later AND MIT"),
        (("GPL-1+ or Artistic",), "Artistic-1.0 OR GPL-1.0-or-later"),
        (("GPL-1+ or Artistic", "Expat"), "(Artistic-1.0 OR GPL-1.0-or-later) AND MIT"),
        (("GPL-1+ or Artistic, and Expat",), "(Artistic-1.0 OR GPL-1.0-or-later) AND MIT"),
        (("GPL-2 or Expat and ISC",), "GPL-2.0-only OR (ISC AND MIT)"),
        (("GPL-2 or Expat and ISC", "Zlib"), "(GPL-2.0-only OR (ISC AND MIT)) AND Zlib"),
        (("GPL-2+ and Expat", "Expat"), "GPL-2.0-or-later AND MIT"),
        (("public-domain",), "LicenseRef-src-public-domain"),
        ((), NOTHING),
    ],
)
def test_expressions(synopses: tuple[str, ...], expected: str) -> None:
    assert expression(*synopses) == expected


def test_texts_of_what_spdx_has_no_name_for() -> None:
    found, texts = license_of(COPYRIGHT, "bash")
    assert found == "(GPL-3.0-or-later OR MIT) AND LicenseRef-bash-odd"
    assert texts == {"LicenseRef-bash-odd": "Do as you like.\n\nBut well."}


@pytest.mark.parametrize(
    ("before", "found"), [("But\f", "But\f"), ("\f\n But", "\nBut"), ("One\n\f\n But", "One\n\nBut")]
)
def test_a_text_may_have_form_feeds(before: str, found: str) -> None:
    _, texts = license_of(COPYRIGHT.replace("But", before), "bash")
    assert texts == {"LicenseRef-bash-odd": f"Do as you like.\n\n{found} well."}


@pytest.mark.parametrize("pinned", ["ruamel-yaml", "ruamel_yaml", "Ruamel.YAML"])
def test_the_licence_of_a_wheel_is_found_by_any_spelling_of_its_name(pinned: str) -> None:
    definition, _, _ = parse_definition(Source("images/small/image.yaml", DEFINITION.encode()))
    assert definition is not None
    facts = Facts("", wheels={"ruamel_yaml-1": "Metadata-Version: 2.1\nName: ruamel.yaml\nLicense: MIT\n"})
    (wheel,) = software(facts, (), (Pin(pinned, "1", "a" * 64),), definition)
    assert wheel.license == "MIT"


def test_a_wheel_that_states_no_licence_may_have_a_classifier() -> None:
    metadata = "Name: x\nLicense: UNKNOWN\n"
    assert wheel_license(message_from_string(metadata)) == (NOTHING, {})
    metadata += "Classifier: License :: OSI Approved :: MIT License\n"
    assert wheel_license(message_from_string(metadata)) == ("MIT", {})


def test_a_file_that_is_not_machine_readable() -> None:
    assert license_of("This package was debianized by somebody.\n\nLicense: GPL\n", "x") == (NOTHING, {})
    assert license_of("", "x") == (NOTHING, {})


def balanced(text: str) -> bool:
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


words = st.sampled_from(("GPL-2+", "Expat", "ISC", "odd", "GPL-2+ with an exception", "C++"))
joints = st.sampled_from((" or ", " and ", ", or ", ", and "))


@given(st.lists(st.lists(st.tuples(words, joints), min_size=1, max_size=5), min_size=1, max_size=4))
def test_every_expression_has_the_grammar_of_spdx(parts: list[list[tuple[str, str]]]) -> None:
    synopses = ["".join(word + joint for word, joint in part).rstrip(" ,").rsplit(" ", 1)[0] for part in parts]
    found = expression(*(synopsis.rstrip(" ,") for synopsis in synopses))
    assert balanced(found)
    plain = found.replace("(", " ").replace(")", " ").split()
    assert plain, "something is said"
    for index, word in enumerate(plain):
        assert (word in ("AND", "OR")) is (index % 2 == 1), found
        assert index % 2 or all(letter.isalnum() or letter in ".-" for letter in word)
    assert expression(*reversed([synopsis.rstrip(" ,") for synopsis in synopses])) == found
