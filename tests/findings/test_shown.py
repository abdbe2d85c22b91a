"""What of a text is shown as it is does not depend on the Python that runs trainc."""

from __future__ import annotations

import sys
import unicodedata

from trainc.findings.display import cells, escaped, is_printable, is_shown, one_line

SAME = frozenset(("Cc", "Cs", "Co", "Zl", "Zp", "Cf"))

SELECTORS = [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]
FILLERS = [0x115F, 0x1160, 0x3164, 0xFFA0]
IGNORABLE = {chr(code) for code in (0x34F, 0x17B4, 0x17B5, *range(0x180B, 0x180E), 0x180F, *FILLERS, *SELECTORS)}
"""What is assigned of Default_Ignorable_Code_Point (DerivedCoreProperties.txt) besides formats (Cf)."""
EMPTY = {"\U00016fe4", "\U0001d159"}
"""A mark and a symbol without ink (a filler of Khitan, a note without a head)."""


def test_every_character_of_a_category_that_is_not_shown() -> None:
    chars = map(chr, range(sys.maxunicode + 1))
    shown = [f"U+{ord(c):04X}" for c in chars if unicodedata.category(c) in SAME and is_shown(c)]
    assert shown == []


def test_every_character_that_is_assigned_and_visible_is_shown() -> None:
    chars = map(chr, range(sys.maxunicode + 1))
    hidden = {c for c in chars if unicodedata.category(c)[0] in "LMNPS" and not is_shown(c)}
    assert hidden == {c for c in IGNORABLE | EMPTY if unicodedata.category(c) != "Cn"}  # U+180F since Unicode 14
    assert not any(map(is_shown, IGNORABLE | EMPTY))


def test_a_selector_is_shown_where_an_emoji_takes_one() -> None:
    assert all(map(is_shown, ("\u2764\ufe0f", "\U0001f3f7\ufe0f", "1\ufe0f\u20e3")))
    assert one_line("jobs\ufe0f") == "jobs\\ufe0f"
    hidden = [char for char in map(chr, range(0x20000)) if not is_shown(char)]
    assert [char for char in (*hidden, "\u20d0") if one_line(f"{char}\ufe0f") != f"{escaped(char)}\\ufe0f"] == []
    assert one_line("\u2764\ufe0f\ufe0f") == "\u2764\ufe0f\\ufe0f"
    assert "".join(cells("\u2764\ufe0f a\ufe0f")) == "\u2764\ufe0f a\\ufe0f"


def test_a_pile_of_marks_is_not_shown() -> None:
    assert all(
        map(is_shown, ("e\u0302\u0323", "\u05d1\u05bc\u05b0\u05bd", "\u0e17\u0e35\u0e48", "\u0f40\u0f71\u0f72\u0f7e"))
    )
    for mark in "\u0336\u0483\u05b0\u064b\u06e1\u08ff\u0e47\u0f71\u0fad\u1cd0\u20dd\u2de0\ua674\U00010376\U0001d167":
        assert one_line(f"a{mark * 6}b") == f"a{mark * 4}" + 2 * mark.encode("unicode_escape").decode() + "b"
        assert "".join(cells(f"a{mark * 6}b")) == one_line(f"a{mark * 6}b")


def test_a_selector_does_not_part_a_pile_of_marks() -> None:
    assert one_line("a" + 2 * "\u0300\u0300\u0300\ufe0f\u20e3") == "a" + 2 * "\u0300\u0300\u0300\\ufe0f\u20e3"
    assert all(map(is_shown, ("1\ufe0f\u20e32\ufe0f\u20e3", "#\ufe0f\u20e3")))


def test_all_marks_of_a_pile_have_no_width() -> None:
    piled = [chr(code) for code in range(sys.maxunicode + 1) if not is_shown(4 * "\u0300" + chr(code))]
    assert {unicodedata.category(each) for each in piled if is_shown(each)} == {"Mn", "Me"}


def test_planes_without_a_character_are_not_shown() -> None:
    assert not any(map(is_shown, map(chr, range(0x3FFFE, 0x110000))))


def test_what_one_version_of_unicode_has_assigned_is_shown_under_all() -> None:
    # Unicode 14 to 17 assign these: Kawi, Garay, Sidetic, an Arabic letter of Unicode 17
    text = "\U00011f02 \U00010d40 \U00010940 \U00010ec5 \U0001fae8"
    assert one_line(text) == text


def test_printable_is_what_python_calls_so_where_characters_are_assigned() -> None:
    chars = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) != "Cn"]
    assert {c for c in chars if is_printable(c) != c.isprintable()} <= {*IGNORABLE, *EMPTY, "\u2800"}
