"""Limits the patterns of a failure policy, which JobSet's controller compiles again for each failed Job.

The controller has one worker for all namespaces (v0.12.0 pkg/controllers/failure_policy.go, regexp.MatchString), so
patterns that take minutes to compile stop the JobSets of all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object
from trainc.basics.regex import lazy
from trainc.findings.reporting import Fault

MOST: Final = 100_000
"""The largest size of the patterns of a JobSet together: Go compiles them in some tenths of a second."""

_MOST_REPEATED: Final = 1000
"""How often Go repeats something at most, also by repetitions in each other."""

_UNICODE: Final = 100
"""How many characters take as long as a class such as ``\\pL``."""

_FOLDED: Final = 2_500
"""The same for a wide range where upper and lower case count as equal."""

_REPETITION = lazy(r"(\)|\\E)?\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
_IGNORES_CASE = lazy(r"\(\?[A-Za-z]*i")
_WIDE_RANGE = lazy(r"-(?:\\|[^\x00-\x7f])")


def excess(jobset: JsonObject) -> Fault | None:
    """Return the error of a JobSet whose patterns are too large to compile for each failed Job, or None.

    The path leads to the largest one.
    """
    sizes = {path: size(pattern) for path, pattern in _patterns(jobset)}
    if (total := sum(sizes.values())) <= MOST:
        return None
    message = f"the patterns of the failure policy count as {total:,} characters"
    hint = "write shorter patterns, with smaller repetitions and without \\p"
    where = max(sizes, key=lambda path: sizes[path])
    return Fault("TC012", where, message, expected=f"at most {MOST:,} for all patterns together", hint=hint)


def _patterns(jobset: JsonObject) -> Iterator[tuple[Path, str]]:
    policy = as_object(as_object(jobset.get("spec")).get("failurePolicy"))
    for number, rule in enumerate(as_list(policy.get("rules"))):
        for index, pattern in enumerate(as_list(as_object(rule).get("onJobFailureMessagePatterns"))):
            if isinstance(pattern, str):
                yield ("spec", "failurePolicy", "rules", number, "onJobFailureMessagePatterns", index), pattern


def size(pattern: str) -> int:
    """Return the characters of a pattern, times its repetitions; what takes long to parse counts more.

    Go's regexp has at most twice as many instructions, and two.
    """
    inner, outer = [1], [1]  # outer: behind a group, or behind what is empty, such as (?i) and \\Q\\E
    for behind, least, most in _REPETITION.findall(pattern):
        (outer if behind else inner).append(int(most or least) or 1)
    repeated = min(max(inner) * prod(outer), _MOST_REPEATED)
    slow = _UNICODE * pattern.lower().count("\\p")
    if _IGNORES_CASE.search(pattern):
        slow += _FOLDED * len(_WIDE_RANGE.findall(pattern))
    return (len(pattern) + slow) * repeated
