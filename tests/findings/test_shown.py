"""What of a text is shown as it is does not depend on the Python that runs trainc."""

from __future__ import annotations

import sys
import unicodedata

from trainc.findings.display import is_printable, is_shown, one_line

SAME = frozenset(("Cc", "Cs", "Co", "Zl", "Zp", "Cf"))


def test_every_character_of_a_category_that_is_not_shown() -> None:
    chars = map(chr, range(sys.maxunicode + 1))
    shown = [f"U+{ord(c):04X}" for c in chars if unicodedata.category(c) in SAME and is_shown(c)]
    assert shown == []


def test_every_character_that_is_assigned_and_visible_is_shown() -> None:
    chars = map(chr, range(sys.maxunicode + 1))
    hidden = [c for c in chars if unicodedata.category(c)[0] in "LNPS" and not is_shown(c)]
    assert hidden == []


def test_what_one_version_of_unicode_has_assigned_is_shown_under_all() -> None:
    # Unicode 14 to 17 assign these: Kawi, Garay, Sidetic, an Arabic letter of Unicode 17
    text = "\U00011f02 \U00010d40 \U00010940 \U00010ec5 \U0001fae8"
    assert one_line(text) == text


def test_printable_is_what_python_calls_so_where_characters_are_assigned() -> None:
    chars = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) != "Cn"]
    assert [c for c in chars if is_printable(c) != c.isprintable()] == []
