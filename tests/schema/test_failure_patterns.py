"""How large the patterns of a failure policy are for Go, whose regexp JobSet's controller uses."""

from __future__ import annotations

import pytest

from trainc.admission.failure_patterns import MOST, excess, size

INSTRUCTIONS = {
    # By syntax.Compile of Go 1.26. RE2 makes only a few of the first three.
    r"\b{1000}" * 300: 300_002,
    f"(?:{'x*' * 500}){{1000}}": 1_000_002,
    "x{1000}" * 500 + r"[^\x00-\x{10ffff}]": 500_003,
    "x{1000}" * 100: 100_002,
    "(?:[a-z]*){1000}" * 10: 20_002,
    "(?:x{1000}|)" * 300: 300_602,
    "(?P<n>(?:ab){2,7}|[^]c]+){20}?": 482,
    r"\Qa{9}\E{20}|[[:alpha:]\]]{3,}": 30,
    "(?:)" * 1000 + "a?" * 1000: 3_002,
    f"(?:{'ab' * 200})(?i){{300}}": 120_002,
    f"(?:{'ab' * 200})\\Q\\E{{300}}": 120_002,
    "|": 3,
    "x": 3,
}


@pytest.mark.parametrize("pattern", INSTRUCTIONS)
def test_go_has_at_most_twice_as_many_instructions(pattern: str) -> None:
    assert INSTRUCTIONS[pattern] <= 2 * size(pattern) + 2


@pytest.mark.parametrize("pattern", [r"\pL" * 2000, r"[\pL\p{Greek}]" * 1000, "(?i)" + "[B-\U0001e942]" * 50])
def test_what_takes_long_to_parse_counts(pattern: str) -> None:
    assert size(pattern) >= MOST


@pytest.mark.parametrize(
    "pattern",
    [
        *("out of memory", "(?i)cuda error: [a-z ]+", "^exit code (1[0-9]{2}|2[0-9]{2})$", "(", "[", "\\", "{,5}", ""),
        "pod ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}) failed",
        "(?i)(cuda error|xid [0-9]+): (out of memory|device-side assert|uncorrectable ecc error|fell off the bus)",
        *("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "(?i)nccl|cuda|xid [0-9]+", "x{0}", "x{3,}"),
    ],
)
def test_usual_patterns_are_small(pattern: str) -> None:
    assert size(pattern) < MOST // 5


@pytest.mark.parametrize("part", ["(", "[", "{1", "((x{1000}){1000}){1000}", "(?i[", "(?"])
def test_the_size_is_found_in_linear_time(part: str) -> None:
    size(part * (300_000 // len(part)))


def test_the_patterns_of_all_rules_count_together() -> None:
    def found(*rules: object) -> tuple[object, ...] | None:
        fault = excess({"spec": {"failurePolicy": {"rules": list(rules)}}})
        return None if fault is None else fault.path[2:]

    half = {"onJobFailureMessagePatterns": ["x{1000}" * 7]}
    assert found(half) is None
    larger = {"onJobFailureMessagePatterns": [1, "x{1000}" * 8]}
    assert found(half, {}, larger) == ("rules", 2, "onJobFailureMessagePatterns", 1)
    assert found(1, {"onJobFailureMessagePatterns": 1}) is None
    assert excess({"spec": 1}) is None
