"""Properties of CEL's libraries that hold for any argument."""

from __future__ import annotations

import base64
import ipaddress
import math
import string
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from trainc.cel.gotext import shortest
from trainc.cel.library import conversions, functions, kubernetes, lists, net, regex, strings
from trainc.cel.library.conversions import double_to_int, duration_to_string, parse_float, string_to_int
from trainc.cel.library.strings import string_format
from trainc.cel.questions import plain
from trainc.cel.values import INT_MAX, INT_MIN, NONE, Duration, EvalError, Optional, Timestamp, Undecided, Value
from trainc.cel.work import MOST_CHARACTERS, MOST_ELEMENTS, TOO_EXPENSIVE, Panic, fresh
from trainc.kube import gonet, gotime
from trainc.kube.gojson import go_number

OVERLOADS: dict[str, Any] = {each.id: each.run for row in functions().values() for each in row.overloads}
INTS = st.integers(INT_MIN, INT_MAX)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NANOS = st.integers(conversions.MIN_SECONDS * 10**9, conversions.MAX_SECONDS * 10**9 + 999_999_999)
OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: minutes * 60)
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(NANOS, OFFSETS)
def test_timestamp_reads_what_it_writes(nanos: int, offset: int) -> None:
    time = Timestamp(nanos, offset)
    assume(1 <= conversions.civil(time, offset).year <= 9999)
    found = conversions.parse_timestamp(conversions.timestamp_to_string(time))
    assert (found.nanos, found.offset) == (nanos, offset)


@given(NANOS, OFFSETS)
def test_civil_is_a_calendar(nanos: int, offset: int) -> None:
    moment = conversions.civil(Timestamp(nanos), offset)
    assume(1 <= moment.year <= 9999)
    at = moment.moment
    days = gotime.day_number(at.year, at.month, at.day)
    assert days is not None
    assert days * conversions.DAY + at.hour * 3600 + at.minute * 60 + at.second - offset == nanos // 10**9


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-(2**62), "-146138510344-07-14T16:14:56Z"),
        (-9 * 10**15, "-285196677-06-10T08:00:00Z"),
        (-62167219201, "-0001-12-31T23:59:59Z"),
        (-62135596801, "0000-12-31T23:59:59Z"),
        (253402300800, "10000-01-01T00:00:00Z"),
        (291270643200, "11200-01-01T00:00:00Z"),
        (9 * 10**15, "285200616-07-24T16:00:00Z"),
        (2**63 - 1, "292277026596-12-04T15:30:07Z"),
    ],
)
def test_a_message_may_have_any_year(seconds: int, text: str) -> None:
    """As Go writes them. The function ``timestamp`` allows years of four digits only, a message any seconds."""
    assert conversions.timestamp_to_string(Timestamp(seconds * 10**9)) == text
    assert conversions.civil(Timestamp(seconds * 10**9), 0).year == int(text.rpartition("T")[0][:-6])


@given(INTS)
def test_duration_reads_nanoseconds(nanos: int) -> None:
    assert conversions.parse_duration(f"{nanos}ns") == Duration(nanos)


@given(st.integers(-(10**15), 10**15))
def test_duration_reads_what_it_writes(micros: int) -> None:
    # In microseconds: a double holds so many digits, and Go's fractions are exact that far.
    span = Duration(micros * 1000)
    assert abs(conversions.parse_duration(duration_to_string(span)).nanos - span.nanos) <= 1


@pytest.mark.parametrize("text", ["1" + "a" * 100_000, "1ms" * 50_000 + "!", "9" * 100_000, "." * 100_000])
def test_hostile_durations_are_refused_in_one_pass(text: str) -> None:
    assert conversions.duration_nanos(text) is None


@given(INTS)
def test_int_reads_what_it_writes(number: int) -> None:
    assert string_to_int(str(number)) == number
    assert string_to_int(("-" if number < 0 else "+") + "0" * 5000 + str(abs(number))) == number


@given(FINITE)
def test_double_reads_what_it_writes(number: float) -> None:
    assert parse_float(go_number(number)) == number
    assert parse_float(shortest(number)) == number


@given(st.floats())
def test_double_to_int_cuts_or_refuses(number: float) -> None:
    if math.isfinite(number) and -(2.0**63) < number < 2.0**63:
        assert double_to_int(number) == math.trunc(number)
    else:
        with pytest.raises(EvalError, match=r"^integer overflow$"):
            double_to_int(number)


def test_upper_and_lower_case_are_of_ascii_letters_only() -> None:
    text = "".join(map(chr, range(0x250)))
    upper, lower = OVERLOADS["string_upper_ascii"](text), OVERLOADS["string_lower_ascii"](text)
    assert upper == "".join(char.upper() if char in string.ascii_letters else char for char in text)
    assert lower == "".join(char.lower() if char in string.ascii_letters else char for char in text)


@given(TEXTS, TEXTS, st.integers(-1, 15))
def test_positions_of_strings(text: str, part: str, start: int) -> None:
    assume(part and start >= 0)
    found = strings.index_of(text, part, start)
    assert found == text.find(part, start)
    assert strings.join(strings.split(text, part), part) == text
    assert strings.replace(text, part, part) == text


@given(TEXTS, st.integers(-2, 14), st.integers(-2, 14))
def test_substrings(text: str, start: int, end: int) -> None:
    if 0 <= start <= end <= len(text):
        assert strings.substring(text, start, end) == text[start:end]
        assert strings.substring(text, start) == text[start:]
    else:
        with pytest.raises(EvalError, match=r"index out of range|invalid substring range"):
            strings.substring(text, start, end)


@given(INTS)
def test_format_of_integers_can_be_read(number: int) -> None:
    decimal, binary, octal, small, large = string_format("%d %b %o %x %X", [number] * 5, fresh()).split(" ")
    assert {int(decimal), int(binary, 2), int(octal, 8), int(small, 16), int(large, 16)} == {number}


@given(st.floats(-1e15, 1e15), st.integers(0, 20))
def test_format_of_doubles_can_be_read(number: float, precision: int) -> None:
    text = string_format(f"%.{precision}f", [number], fresh())
    assert len(text.partition(".")[2]) == precision
    assert abs(Fraction(text.replace(",", "")) - Fraction(number)) * 2 <= Fraction(1, 10**precision)


@given(st.recursive(st.none() | st.booleans() | INTS | st.floats() | TEXTS, lambda inner: st.lists(inner, max_size=3)))
def test_format_knows_every_plain_value(value: Value) -> None:
    assert string_format("%s%%", [value], fresh()).endswith("%")


NUMBERS = st.from_regex(r"[+-]?[0-9]{1,18}(\.[0-9]{1,9})?([numkMGTPE]|[KMGTP]i)?", fullmatch=True)


@given(NUMBERS, NUMBERS)
def test_quantities_are_ordered(one: str, two: str) -> None:
    left, right = kubernetes.parse_quantity(one), kubernetes.parse_quantity(two)
    order = OVERLOADS["quantity_compare_to"](left, right)
    assert order == -OVERLOADS["quantity_compare_to"](right, left)
    assert OVERLOADS["quantity_is_less_than"](left, right) == (order < 0)
    assert OVERLOADS["quantity_is_greater_than"](left, right) == (order > 0)
    assert left.equals(right) == (order == 0)
    difference = OVERLOADS["quantity_sub"](left, right)
    assert OVERLOADS["quantity_sign"](difference) == order
    assert OVERLOADS["quantity_add"](difference, right).equals(left)


def test_a_sum_of_quantities_is_not_found_equal() -> None:
    total = OVERLOADS["quantity_add"](kubernetes.parse_quantity("1"), kubernetes.parse_quantity("1"))
    assert total.equals(kubernetes.parse_quantity("2"))
    with pytest.raises(EvalError, match="no such overload"):
        kubernetes.parse_quantity("2").equals(total)


@given(st.integers(0, 2**32 - 1) | st.integers(0, 2**128 - 1))
def test_addresses_are_written_canonically(number: int) -> None:
    known = ipaddress.ip_address(number)
    assume(getattr(known, "ipv4_mapped", None) is None)
    found = net.parse_ip(str(known))
    assert (int(found.number), found.text()) == (number, known.compressed)
    assert net.parse_ip(known.exploded).equals(found)


@given(st.integers(0, 2**32 - 1), st.integers(0, 32), st.integers(0, 2**32 - 1))
def test_networks_contain_their_addresses(number: int, length: int, other: int) -> None:
    known = ipaddress.ip_network((number, length), strict=False)
    found = net.parse_cidr(f"{ipaddress.ip_address(number)}/{length}")
    assert net.masked(found).text() == str(known)
    address = ipaddress.ip_address(other)
    assert net.contains_ip(found, net.parse_ip(str(address))) == (address in known)
    assert net.contains_cidr(found, net.masked(found))


@given(st.text(string.printable, max_size=20))
def test_no_text_breaks_a_parser(text: str) -> None:
    for overload in ("string_to_ip", "string_to_cidr", "string_to_url", "string_to_semver", "string_to_quantity"):
        try:
            value = OVERLOADS[overload](text)
        except EvalError as error:
            assert error.message
        else:
            assert isinstance(plain(value), str)


@given(st.text("ab:/?#[]@%41.é-", max_size=15))
def test_urls_are_read_as_written(text: str) -> None:
    try:
        url = gonet.read_url(f"http://{text}")
    except gonet.UrlError:
        return
    written = url.text()
    assert gonet.read_url(written).text() == written
    gonet.read_url(written.partition("#")[0], request=True)


@given(st.tuples(*[st.integers(0, 2**63)] * 3), st.tuples(*[st.integers(0, 5)] * 3))
def test_versions_are_ordered_by_numbers(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    left, right = (kubernetes.parse_version(".".join(map(str, numbers))) for numbers in (one, two))
    assert kubernetes.compare_versions(left, right) == (one > two) - (one < two)
    assert kubernetes.parse_version(left.text()).equals(left)


@given(st.lists(st.integers(0, 3) | st.sampled_from([0.0, 1.0, math.nan]) | st.text("ab", max_size=1), max_size=10))
def test_distinct_keeps_the_first(items: list[Any]) -> None:
    found = lists.distinct(items, fresh())
    assert all(
        math.isnan(item) or lists.index_of(found, item, fresh()) >= 0 for item in items if isinstance(item, float)
    )
    assert OVERLOADS["list_sets_contains_list"](found, [item for item in items if item == item], fresh())  # noqa: PLR0124 - NaN
    assert lists.distinct(found, fresh()) == found or any(item != item for item in items)  # noqa: PLR0124


@given(st.binary(max_size=8).map(base64.b64encode), st.text(max_size=5))
def test_formats_say_nothing_of_what_is_valid(encoded: bytes, text: str) -> None:
    byte = OVERLOADS["format.byte"]()
    result = OVERLOADS["format-validate"](byte, encoded.decode())
    assert result is NONE if encoded else result.value == ["invalid base64"]
    named: Optional = OVERLOADS["format-named"](text)
    assert named is NONE or named.value.text()


def test_what_would_fill_the_memory_is_refused() -> None:
    half = "a" * (MOST_CHARACTERS // 1000)
    for overload, *args in (
        ("lists_range", MOST_ELEMENTS + 1),
        ("string_replace_string_string", half, "", half),
        ("list_join_string", [half] * 1001, ""),
        ("list_distinct", [[]] * 2000, fresh()),
        ("list_sets_contains_list", [1.0] * 2000, [1] * 2000, fresh()),
    ):
        with pytest.raises(Panic) as refused:
            OVERLOADS[overload](*args)
        assert refused.value.message == TOO_EXPENSIVE


def test_the_authorizer_is_undecided() -> None:
    with pytest.raises(Undecided, match="authorizer"):
        OVERLOADS["authorizer_path"](None, "/healthz")


def test_patterns_are_compiled_once() -> None:
    assert regex.pattern("^a+$") is regex.pattern("^a+$")
