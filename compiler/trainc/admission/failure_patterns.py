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

_UNICODE: Final = 50
"""How many characters take as long as a class such as ``\\pL``."""

_FOLDED: Final = 500
"""The same for a range where upper and lower case count as equal, by its three characters."""

_REPETITION = lazy(r"\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}")
_IGNORES_CASE = lazy(r"\(\?[A-Za-z]*i")


def excess(jobset: JsonObject) -> Fault | None:
    """Return the error of a JobSet whose patterns are too large to compile for each failed Job, or None.

    The path leads to the largest one.
    """
    sizes = {path: size(pattern) for path, pattern in _patterns(jobset)}
    if (total := sum(sizes.values())) <= MOST:
        return None
    message = f"the patterns of the failure policy have {total:,} characters, times their repetitions"
    hint = "write the patterns with smaller repetitions"
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

    Go's regexp has at most twice as many instructions, and two. Repetitions multiply only in groups.
    """
    numbers = [int(most or least) for least, most in _REPETITION.findall(pattern)] or [1]
    repeated = min(prod(filter(None, numbers)), _MOST_REPEATED) if "(" in pattern else max(numbers)
    unicode = _UNICODE if "\\p" in pattern.lower() else 1
    folded = _FOLDED if "-" in pattern and _IGNORES_CASE.search(pattern) else 1
    return len(pattern) * max(repeated, 1) * unicode * folded
