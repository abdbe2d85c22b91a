"""Go's regular expressions in Python; the vectors of Thing compare them with Go, too."""

from __future__ import annotations

import warnings

import pytest

from trainc.schema.patterns import UnsupportedPattern, compile_pattern
from trainc.schema.values import go_number, is_integral, is_member


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^a$", ["a"], ["a\n", "ba"]),
        ("^[$]$", ["$"], ["", "a"]),
        (r"^\$\z", ["$"], ["$\n"]),
        (r"^\s$", [" ", "\t", "\f"], ["\v", "\u00a0"]),
        (r"^\d\w$", ["1_"], ["\u0661a", "1é"]),
        ("^[[:alpha:]_]+$", ["aZ_"], ["1", "é"]),
        ("^[]a]$", ["]", "a"], ["^"]),
        ("^[^]a]$", ["b"], ["]", "a"]),
        ("^[a[]$", ["[", "a"], ["b"]),
        (r"^\Qa.b\E.$", ["a.bc"], ["axbc"]),
        (r"^\x{1F600}$", ["\U0001f600"], ["x"]),
        ("(?i)^ab$", ["AB", "ab"], ["abc"]),
        ("^(?<year>[0-9]+)$", ["2024"], ["x"]),
        ("^.$", ["a", "\u2028"], ["\n", "ab"]),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, matching: list[str], other: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = compile_pattern(pattern).search
    assert all(search(text) for text in matching)
    assert not any(search(text) for text in other)


@pytest.mark.parametrize("pattern", [r"\pL", r"[\PN]", "(?U)a+", "(?m)^a$", "(", "[[:^alpha:]]", "a(b(?i)c)"])
def test_a_pattern_that_cannot_be_translated_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedPattern):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (2.5, "2.5"),
        (100000.0, "100000"),
        (1e6, "1e+06"),
        (123456789.5, "1.234567895e+08"),
        (-1e-5, "-1e-05"),
        (0.0001, "0.0001"),
        (1e300, "1e+300"),
        (2**63, "9.223372036854776e+18"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_numbers_are_spelt_as_go_prints_them(number: float, text: str) -> None:
    assert go_number(number) == text


def test_floats_that_pass_for_integers() -> None:
    assert is_integral(4.0)
    assert is_integral(-3.0)
    assert is_integral(3.0000000001)
    assert not is_integral(-3.0000000001)
    assert not is_integral(0.5)
    assert not is_integral(2.0**53)
    assert not is_integral(float("inf"))


def test_membership_converts_as_go_does() -> None:
    assert is_member(1.5, [1])
    assert is_member(65, ["A"])
    assert not is_member(True, [1])
    assert not is_member(None, [None])
    assert is_member({"a": 1}, [{"a": 1}])
    assert not is_member({"a": True}, [{"a": 1}])
