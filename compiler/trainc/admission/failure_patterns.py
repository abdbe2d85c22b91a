"""Limits the patterns of a failure policy, which JobSet's controller compiles again for each failed Job.

The controller has one worker for all namespaces (v0.12.0 pkg/controllers/failure_policy.go, regexp.MatchString), so
patterns that take minutes to compile stop the JobSets of all others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object
from trainc.basics.regex import lazy
from trainc.findings.reporting import Fault

MOST: Final = 100_000
"""The most instructions of the patterns of a JobSet: at most a microsecond each, a tenth of a second per failed Job."""

_PROPERTY: Final = 50
"""The instructions that take as long as a class of Unicode such as ``\\pL``."""

_FOLDED: Final = 10_000
"""The instructions that take as long as a range of many characters whose upper and lower case count as equal."""

_ENOUGH: Final = 1_000_000_000
"""Above any limit: numbers of nested repetitions would have thousands of digits."""

_TOKEN = lazy(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
    | (?P<property>\\[pP](?:\{[^}]*\}?|.))
    | (?P<set>\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*+(?:\]|\\?\Z))
    | (?P<flags>\(\?[A-Za-z-]+\))
    | (?P<opening>\((?:\?(?:P?<[^>]*>?|[A-Za-z-]*:?))?)
    | (?P<closing>\))
    | (?P<repeat>[*+?]|\{(?P<least>[0-9]{1,4})(?P<comma>,(?P<most>[0-9]{0,4}))?\})\??
    | \\x\{[^}]*\}? | \\. | .
    """,
    re.DOTALL | re.VERBOSE,
)
_FOLDING = lazy(r"\(\?[A-Za-z]*i")
_WIDE_RANGE = lazy(r"-(?:\\|[^\x00-\x7f])")


def excess(jobset: JsonObject) -> Fault | None:
    """Return the error of a JobSet whose patterns are too large to compile for each failed Job, or None.

    The path leads to the largest one.
    """
    sizes = {path: instructions(pattern) for path, pattern in _patterns(jobset)}
    if (total := sum(sizes.values())) <= MOST:
        return None
    message = f"the patterns of the failure policy have {total:,} instructions"
    if total > _ENOUGH:
        message = f"the patterns of the failure policy have more than {_ENOUGH:,} instructions"
    expected = f"at most {MOST:,} instructions of all patterns together"
    hint = "write the patterns with smaller repetitions"
    return Fault("TC012", max(sizes, key=lambda path: sizes[path]), message, expected=expected, hint=hint)


def _patterns(jobset: JsonObject) -> Iterator[tuple[Path, str]]:
    policy = as_object(as_object(jobset.get("spec")).get("failurePolicy"))
    for number, rule in enumerate(as_list(policy.get("rules"))):
        for index, pattern in enumerate(as_list(as_object(rule).get("onJobFailureMessagePatterns"))):
            if isinstance(pattern, str):
                yield ("spec", "failurePolicy", "rules", number, "onJobFailureMessagePatterns", index), pattern


def instructions(pattern: str) -> int:
    """Return how many instructions Go's regexp makes of a pattern, or more; what takes as long to parse counts, too.

    RE2 would not do: it merges repetitions that Go writes out, and drops what can never match.
    """
    folds = _FOLDING.search(pattern) is not None
    before, last = [0], 0  # the instructions of each open group, and of what a repetition would repeat
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup
        if token["repeat"]:
            last = min(_repeated(token.groupdict(), last), _ENOUGH)
        elif kind == "closing":
            last += 3 + (before.pop() if len(before) > 1 else 0)
        elif kind == "opening":
            before[-1] += last
            before.append(0)
            last = 0
        elif kind != "flags" and token["quoted"] != "":  # a repetition behind these is one of what is before them
            before[-1] += last
            last = 1 + (token[0] == "|")  # the alternative after it may be empty, which is one, too
            if kind == "quoted":
                before[-1] += len(token["quoted"]) - 1
            elif kind in ("set", "property"):
                last += _class_size(token[0], folds=folds)
    return sum(before) + last + 3


def _repeated(token: Mapping[str, str | None], size: int) -> int:
    if token["least"] is None:
        return size + 2
    least = int(token["least"])
    if not token["most"]:
        return max(least, 1) * size + 2 * (token["comma"] is not None)
    most = int(token["most"])
    return max(most, 1) * (size + 1) - min(least, most)


def _class_size(text: str, *, folds: bool) -> int:
    """Return the instructions that take as long as a class of characters, besides its own."""
    wide = len(_WIDE_RANGE.findall(text)) if folds else 0
    return _PROPERTY * text.lower().count("\\p") + _FOLDED * wide
