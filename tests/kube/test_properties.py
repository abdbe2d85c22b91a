"""What must hold whatever the input is."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from kube_cases import Values
from msgspec.structs import replace

from trainc.data import load_json
from trainc.kube import gotypes
from trainc.kube.gotime import TimeError, normalize_time
from trainc.kube.merge import MergeError, merge
from trainc.kube.pods import pod_requests
from trainc.kube.quantity import INT64_MAX, Format, Quantity, QuantityError, from_json, parse

SUFFIXES = ("", "m", "k", "M", "G", "T", "u", "n", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E2")
DIGITS = st.text("0123456789", min_size=1, max_size=12)
TEXTS = st.builds(
    lambda sign, whole, part, suffix: f"{sign}{whole}{part}{suffix}",
    st.sampled_from(("", "-", "+")),
    DIGITS,
    st.one_of(st.just(""), DIGITS.map(lambda digits: f".{digits[:6]}")),
    st.sampled_from(SUFFIXES),
)
QUANTITIES = TEXTS.map(parse)
AMOUNTS = TEXTS.map(lambda text: parse(text.removeprefix("-")))
NAMES = st.sampled_from("abcdef")
VALUES = st.sampled_from(("1", "2", "3"))
ENV = st.lists(st.builds(lambda n, v: {"name": n, "value": v}, NAMES, VALUES), unique_by=lambda item: item["name"])
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"image": VALUES, "env": ENV, "args": st.lists(VALUES)}),
    unique_by=lambda item: item["name"],
)
PODS = st.fixed_dictionaries(
    {},
    optional={
        "containers": CONTAINERS,
        "initContainers": CONTAINERS,
        "nodeSelector": st.dictionaries(NAMES, VALUES),
        "serviceAccountName": VALUES,
        "tolerations": st.lists(st.fixed_dictionaries({"key": VALUES})),
    },
)
KINDS = st.sampled_from((gotypes.JOB_SET, gotypes.JOB_SET_SPEC, gotypes.POD_SPEC, "v1.ObjectMeta"))
ZERO_TIME = "0001-01-01T00:00:00Z"


def exact(quantity: Quantity) -> Fraction:
    return quantity.unscaled * Fraction(10) ** quantity.scale


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nothing(item) for key, item in value.items() if item not in (None, [])}
    return [without_nothing(item) for item in value] if isinstance(value, list) else value


def leaves(value: Any) -> Iterator[Any]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if children is None:
        yield value
    for child in children or ():
        yield from leaves(child)


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value


@given(TEXTS)
def test_writing_a_quantity_keeps_its_value(text: str) -> None:
    written = parse(text).canonical()
    assert parse(written).canonical() == written
    assert parse(written) == parse(text)
    assert exact(parse(written)) == exact(parse(text))


@given(st.integers(985, 1001), st.integers(0, 16), st.sampled_from((*SUFFIXES, *(f"e{n}" for n in range(-9, 30)))))
@example(992, 7, "")
def test_what_is_written_of_a_long_quantity_can_be_read(digits: int, decimals: int, suffix: str) -> None:
    """A server writes what a client sent in another form, and reads that again."""
    try:
        quantity = parse(f"{'9' * digits}.{'9' * decimals}{suffix}")
    except QuantityError:
        assert digits + decimals + 2 > 1000
        return
    parse(replace(quantity, text="").canonical())


@given(st.text("0123456789.eEinumkKMGTPi+-x ", max_size=8))
def test_any_text_is_a_quantity_or_refused_with_one_of_three_messages(text: str) -> None:
    try:
        found = parse(text)
    except QuantityError as error:
        assert re.match("quantities must match|unable to parse (numeric part|quantity's suffix)", str(error))
    else:
        # Past the largest suffix Go drops the exponent.
        assert parse(found.canonical()) == found or text.endswith(("P", "E"))


@given(QUANTITIES, QUANTITIES)
def test_arithmetic_is_exact(left: Quantity, right: Quantity) -> None:
    assert exact(left.add(right)) == exact(left) + exact(right)
    assert exact(left.sub(right)) == exact(left) - exact(right)
    assert exact(left.mul(7)) == exact(left) * 7
    assert left.compare(right) == (exact(left) > exact(right)) - (exact(left) < exact(right))
    assert (left == right) == (exact(left) == exact(right))
    assert (left != right) == (exact(left) != exact(right))
    assert left != right or hash(left) == hash(right)
    assert (left < right) == (exact(left) < exact(right))
    assert left.add(right).format is (right.format if left.is_zero() else left.format)


@given(QUANTITIES)
def test_value_rounds_up(quantity: Quantity) -> None:
    assume(not quantity.wide and abs(exact(quantity)) * 1000 <= INT64_MAX)
    magnitude = abs(exact(quantity))
    assert abs(quantity.value()) == -(-magnitude // 1)
    assert abs(quantity.milli_value()) == -(-magnitude * 1000 // 1)
    assert quantity.sign() == (exact(quantity) > 0) - (exact(quantity) < 0)


@given(st.integers(-(10**30), 10**30))
def test_integers_are_read_as_they_are(number: int) -> None:
    assert exact(from_json(number)) == number


@given(KINDS, st.integers(0, 10**6))
def test_decoding_twice_changes_nothing_more(kind: str, seed: int) -> None:
    raw = Values(seed).make(kind, 20)
    assume(ZERO_TIME not in repr(raw))  # a pointer to it is written as null, which is then read as no pointer
    before = copy.deepcopy(raw)
    once = gotypes.decode(raw, kind)
    again = gotypes.decode(once, kind)
    assert again == once
    assert gotypes.decode(again, kind) is again or None in leaves(again)
    assert raw == before
    # What is returned as it was given is what would have been written, in that order.
    assert once is not raw or json.dumps(gotypes.decode(reversed_keys(raw), kind)) == json.dumps(raw)


@given(st.integers(0, 10**6))
def test_apply_configurations_hold_what_the_typed_object_held(seed: int) -> None:
    raw = Values(seed).make(gotypes.JOB_SET_SPEC, 20)
    # The last two are all that the apply configurations of these types lack.
    assume(not any(lost in repr(raw) for lost in (ZERO_TIME, "selfLink", "managedFields")))
    typed = gotypes.decode(raw, gotypes.JOB_SET_SPEC)
    applied = gotypes.apply_configuration(raw, gotypes.JOB_SET_SPEC)
    # An empty list that has to be written is null after that.
    assert without_nothing(gotypes.decode(applied, gotypes.JOB_SET_SPEC)) == without_nothing(typed)


@given(PODS)
def test_an_empty_patch_changes_nothing(pod: Any) -> None:
    assert merge(pod, {}, gotypes.POD_SPEC) == pod


@given(PODS, PODS)
def test_a_patch_applies_once(pod: Any, patch: Any) -> None:
    before = copy.deepcopy((pod, patch))
    once = merge(pod, patch, gotypes.POD_SPEC)
    assert merge(once, patch, gotypes.POD_SPEC) == once
    assert (pod, patch) == before


@given(PODS, PODS)
def test_fields_and_items_that_a_patch_does_not_name_stay(pod: Any, patch: Any) -> None:
    merged: Any = merge(pod, patch, gotypes.POD_SPEC)
    assert {key: merged[key] for key in pod if key not in patch} == {k: v for k, v in pod.items() if k not in patch}
    assert set(merged) == set(pod) | set(patch)
    for field in ("containers", "initContainers"):
        old, new = pod.get(field, []), patch.get(field, [])
        names = [item["name"] for item in merged.get(field, [])]
        assert len(names) == len(set(names))
        assert set(names) == {item["name"] for item in (*old, *new)}
        rest = [item for item in merged.get(field, []) if item["name"] not in {item["name"] for item in new}]
        assert rest == [item for item in old if item in rest]
        assert [name for name in names if name in {item["name"] for item in new}] == [item["name"] for item in new]


@given(PODS, PODS)
def test_atomic_lists_are_replaced(pod: Any, patch: Any) -> None:
    merged: Any = merge(pod, patch, gotypes.POD_SPEC)
    assert merged.get("tolerations") == patch.get("tolerations", pod.get("tolerations"))


@given(st.lists(AMOUNTS, max_size=4), st.lists(st.tuples(AMOUNTS, st.booleans()), max_size=4))
def test_requests_cover_every_moment_of_a_pod(running: list[Quantity], starting: list[tuple[Quantity, bool]]) -> None:
    def container(quantity: Quantity, **more: str) -> dict[str, Any]:
        return {"resources": {"requests": {"cpu": quantity.canonical()}}, **more}

    spec: Any = {
        "containers": [container(quantity) for quantity in running],
        "initContainers": [container(q, **({"restartPolicy": "Always"} if always else {})) for q, always in starting],
    }
    sidecars, peak = Fraction(0), Fraction(0)
    for quantity, always in starting:
        peak = max(peak, sidecars + exact(quantity))
        sidecars += exact(quantity) if always else 0
    total = pod_requests(spec).get("cpu", Quantity())
    assert exact(total) == max(sum(map(exact, running), Fraction(0)) + sidecars, peak)


@given(st.datetimes(), st.integers(-23, 23))
def test_times_come_out_in_utc(moment: Any, hours: int) -> None:
    zone = f"{'-' if hours < 0 else '+'}{abs(hours):02d}:00"
    text = f"{moment:%Y}".zfill(4) + f"{moment:-%m-%dT%H:%M:%S}"
    written = normalize_time(text + zone)
    if written is not None:
        assert normalize_time(written) == written
        assert re.fullmatch(r"-?[0-9]{4,5}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", written)
        assert (written[:-1] == text) == (hours == 0)


@given(st.text("0123456789-T:Z+. ", max_size=25))
def test_texts_that_are_no_times_are_refused(text: str) -> None:
    try:
        written = normalize_time(text)
    except TimeError as error:
        assert str(error).startswith("parsing time ")
    else:
        assert written is None or written.endswith("Z")


@pytest.mark.parametrize("text", ["1" * 1000, "0." + "1" * 1000, "1" * 1000 + "Ki"])
def test_long_numbers(text: str) -> None:
    assert parse(text).sign() == 1
    assert parse(parse(text).canonical()).canonical() == parse(text).canonical()


def test_exponents_that_would_take_all_memory_are_refused() -> None:
    with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
        parse("1234567890123456789e2000000000")
    with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
        parse("1e2000000000").add(parse("1"))
    with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
        parse("1234567890123456789e992")
    with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
        parse("1e999").add(parse("10m"))
    assert parse("1234567890123456789e991").wide
    assert parse("1e2000000000").mul(2).wide
    assert parse("1e2000000000").compare(parse("1")) == 1
    assert parse("1e2000000000").canonical() == "100e1999999998"
    assert parse("1e2000000000").value() == 0
    assert parse("0e2000000000").value() == 0


def test_a_zero_of_any_exponent_adds_nothing() -> None:
    five, zero = parse("5k"), parse("0e-200000")
    for result, expected in ((five.add(zero), "5k"), (zero.add(five), "5k"), (zero.sub(five), "-5k")):
        assert (result.canonical(), result.format, result.wide) == (expected, Format.DECIMAL_SI, True)


def test_a_quantity_is_no_number() -> None:
    assert (parse("1") == 1) is False
    assert parse("1") != 1
    assert (parse("1") != parse("1000m")) is False


def test_most_digits() -> None:
    most = "1" * 1000
    assert parse(most).canonical() == most
    assert parse("1" + "0" * 999).compare(parse("1e999")) == 0
    for text in (most + "1", "1" + "." + most):
        with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
            parse(text)


@pytest.mark.parametrize(
    ("order", "before", "after"),
    [("a", ["a"], ["a"]), (["a"], "a", ["a"]), (["a"], ["a"], "a"), ({"a": 1}, ["a"], ["a"]), (["a"], ["a"], None)],
)
def test_the_order_of_what_is_no_list_is_refused(order: Any, before: Any, after: Any) -> None:
    patch = {"$setElementOrder/finalizers": order, "finalizers": after}
    message = r"^\$setElementOrder/finalizers: the directive and what it names must be lists$"
    with pytest.raises(MergeError, match=message):
        merge({"finalizers": before}, patch, "v1.ObjectMeta")


@pytest.mark.parametrize("keys", [("finalizers", "ownerReferences"), ("ownerReferences", "finalizers")])
def test_of_two_wrong_orders_the_first_by_name_is_reported(keys: tuple[str, ...]) -> None:
    patch: dict[str, Any] = {f"$setElementOrder/{key}": "a" for key in keys}
    with pytest.raises(MergeError, match=r"^\$setElementOrder/finalizers: "):
        merge({}, patch, "v1.ObjectMeta")


@pytest.mark.parametrize(("original", "patch"), [([], {}), ({}, []), (None, {}), ({}, "x")])
def test_only_mappings_are_merged(original: Any, patch: Any) -> None:
    with pytest.raises(MergeError, match=r"^invalid JSON document$"):
        merge(original, patch, gotypes.POD_SPEC)


@pytest.mark.parametrize(
    ("kind", "original", "patch"),
    [
        ("v1.ObjectMeta", {"finalizers": ["a"]}, {"$setElementOrder/finalizers": [{}], "finalizers": [{}]}),
        ("v1.PodSpec", {"tolerations": [{}]}, {"$setElementOrder/tolerations": [{}]}),
        ("v1.PodSpec", {"containers": [{"name": ["a"]}]}, {"containers": [{"name": ["a"]}]}),
        ("v1.PodSpec", {"containers": [{"name": {}}]}, {"containers": [{"name": {}}]}),
    ],
)
def test_where_go_panics_because_it_compares_collections_an_error_is_raised(
    kind: str, original: Any, patch: Any
) -> None:
    with pytest.raises(MergeError, match=r"^a collection where strategic merge compares values$"):
        merge(original, patch, kind)


def test_lists_of_all_structs_are_merged_or_replaced() -> None:
    """The table has no strategy ``replace``, and no ``retainKeys`` alone, which merge would not understand."""
    found = {tuple(row[3:4]) for fields in load_json("gotypes.json").values() for row in fields}
    assert found == {(), ("",), ("merge",), ("merge,retainKeys",)}
