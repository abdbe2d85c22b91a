"""Go's regular expressions; the vectors of Thing compare them with Go, too."""

from __future__ import annotations

import time

import pytest
import re2  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from trainc.kube.gojson import go_number
from trainc.schema.formats import FORMATS, matcher, packaged, size_of
from trainc.schema.values import is_integral, membership, number_errors


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
        (r"^\Q(?P<é>\C\E$", [r"(?P<é>\C"], ["a"]),
        (r"^\x{1F600}$", ["\U0001f600"], ["x"]),
        ("(?i)^ab$", ["AB", "ab"], ["abc"]),
        ("^(?<year>[0-9]+)$", ["2024"], ["x"]),
        (r"^\pL[^\PN]$", ["é1"], ["11"]),
        ("(?U)^a+$", ["aa"], ["b"]),
        ("(?m)^a$", ["b\na"], ["ba"]),
        ("a(b(?i)c)", ["abC"], ["aBc"]),
        ("^(a*)*$", ["a" * 200], ["a" * 200 + "b"]),
        ("^.$", ["a", "\u2028"], ["\n", "ab"]),
    ],
)
def test_a_pattern_means_what_it_means_in_go(pattern: str, matching: list[str], other: list[str]) -> None:
    matches = matcher(pattern)
    assert matches is not None
    assert all(map(matches, matching))
    assert not any(map(matches, other))


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "[a",
            "a{1001}",
            "(?=a)",
            "a**",
            "\\pX",
            "*a",
            "é(",
            "a)",
            "\\Z",
            "\\C",
            "\\Qa\\E\\C",
            "\\",
            "(?P<n",
            "(?P<é>a)",
            "(?<日>a)",
        ),
        "((a{10}|\\pL{10}){10}(b{10}|\\pN{10}){10}){10}" * 40,
    ],
)
def test_a_pattern_that_go_refuses_or_that_is_too_large(pattern: str) -> None:
    assert matcher(pattern) is None


@pytest.mark.parametrize("pattern", sorted(packaged()))
@given(data=st.data())
def test_packaged_patterns_mean_to_python_what_they_mean_to_re2(pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(pattern) | st.text("a.-/_Z9Ke+:@ms\n é", max_size=12))
    matches = matcher(pattern)
    assert matches is not None
    assert matches(text) is (re2.search(pattern, text) is not None)


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


@pytest.mark.parametrize(("number", "fits"), [(3.4028235677973366e38, True), (3.402823567797337e38, False)])
def test_a_number_that_rounds_to_infinity_is_no_float(number: float, fits: bool) -> None:
    """The first is halfway between the greatest float and infinity; recorded answers of the server have both."""
    assert (number_errors({"type": "number", "format": "float"}, number) == []) is fits


def test_membership_converts_as_go_does() -> None:
    assert membership([1])(1.5)
    assert membership(["A"])(65)
    assert not membership([1])(True)
    assert not membership([None])(None)
    assert membership([{"a": 1}])({"a": 1})
    assert not membership([{"a": 1}])({"a": True})
    assert membership([1.0])(1)
    assert not membership(["1", [1], False])(1)


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date", ["2024-02-29", "2000-02-29", "0000-01-01"], ["2023-02-29", "1900-02-29", "2024-13-01", "2024-1-1"]),
        (
            "datetime",
            ["2024-01-01T00:00:00Z", "2024-01-01t23:59:59.5+01:00"],
            ["2024-01-01 00:00:00Z", "2024-01-01T24:00:00Z"],
        ),
        ("duration", ["5s", "1h2m", "3 days", "9223372036854775807s"], ["s", "", "5 apples", "9223372036854775808s"]),
        ("byte", ["YWI=", "YWJj"], ["", "YWI", "YW=I"]),
        ("ipv4", ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"], ["1.2.3.256", "1.2.3", "::1"]),
        ("ipv6", ["::1", "1::", "::", "::ffff:1.2.3.4"], ["fe80::1%e", "1:2:3", "1::2::3", "1.2.3.4"]),
        ("cidr", ["1.2.3.0/24", "::/0"], ["1.2.3.4/33", "1.2.3.4", "::/129"]),
        ("mac", ["00:11:22:33:44:55", "0011.2233.4455"], ["00:11:22:33:44", "00:11:22-33:44:55"]),
        ("k8sshortname", ["a-b"], ["a.b", "-a", "a" * 64]),
        ("k8slongname", ["a.b", "a" * 253], ["A", "a..b", "a" * 254]),
    ],
)
def test_formats(form: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not FORMATS[form](text)] == []
    assert [text for text in bad if FORMATS[form](text)] == []


@pytest.mark.parametrize(
    ("form", "text"), [("email", "a" * 26), ("duration", "1" * 20_000), ("duration", "1m" * 20_000)]
)
def test_a_text_that_is_nearly_right_takes_no_time(form: str, text: str) -> None:
    begin = time.process_time()
    FORMATS[form](text)
    assert time.process_time() - begin < 1


def test_re2_prints_nothing_about_a_pattern_that_it_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    assert matcher("(unclosed") is None
    assert capfd.readouterr() == ("", "")


def test_a_pattern_that_is_too_large_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes up to a second to find out."""
    tried: list[str] = []
    compiled = re2.compile

    def compile_pattern(text: str, options: object) -> object:
        tried.append(text)
        return compiled(text, options)

    monkeypatch.setattr(re2, "compile", compile_pattern)
    pattern = r"(?:[\pL\pN]{999}x){1,1}" * 9
    assert (size_of(pattern), matcher(pattern), size_of(pattern)) == (1_000_000, None, 1_000_000)
    assert tried == [pattern]
