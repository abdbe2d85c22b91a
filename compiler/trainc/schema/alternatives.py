"""The keywords anyOf, oneOf, allOf and not, as checks of a walk (walk.py).

Source of the rules: k8s.io/kube-openapi pkg/validation/validate, with its choice among alternatives: if none fits, the
failures of the one that passed the most checks are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final, TypeAlias

from trainc.schema.formats import FEW, FIELD, TRIAL, Work
from trainc.schema.structural import Structural, compiled
from trainc.schema.values import CLASSES, count_parts, json_type, mismatch
from trainc.schema.wording import Failure, Failures, Visit

_KEYWORDS: Final = ("anyOf", "oneOf", "allOf", "not")

FailuresOf: TypeAlias = Callable[[Work, Structural, Any], Failures]
"""Returns the failures of a value in a schema, and counts the work of patterns."""

Fits: TypeAlias = Callable[[Structural, Any], bool]
FitsIn: TypeAlias = Callable[[Work, Structural, Any], bool]
"""Returns whether a value has no failures in a schema; it chooses among no alternatives, unlike ``FailuresOf``.

Otherwise a choice at each level would choose again at all levels below it, and work would double with each level.
"""


def alternative_checks(schema: Structural, cls: type, find: FailuresOf, fits: FitsIn | None) -> Iterator[Visit]:
    """Yield the checks of a schema's alternatives for values of a class.

    Without ``fits``, failures of the alternatives themselves are left out where a value fits none.
    """
    for keyword in _KEYWORDS:
        subs = schema.alternatives(keyword)
        if subs and not (keyword == "anyOf" and any(_takes_all(sub, cls) for sub in subs)):
            yield _check(schema, keyword, subs, find, fits)


def _takes_all(schema: Structural, cls: type) -> bool:
    """Return whether a schema has only a type, and all values of a class are of that type."""
    return schema.keywords.keys() == {"type"} and CLASSES.get(schema.type) is cls


def _check(
    schema: Structural, keyword: str, subs: tuple[Structural, ...], find: FailuresOf, fits: FitsIn | None
) -> Visit:
    trials = len(subs) + sum(compiled(_trials_below, sub) for sub in subs)
    are_many = trials > FEW

    def check(value: Any, failures: Failures) -> Any:
        if are_many:
            failures.work.spend(trials * TRIAL * count_parts(value))
        tried = [find(failures.work, sub, value) for sub in subs]
        valid = sum(not found for found in tried)
        of_value = None if fits is None else partial(fits, failures.work)
        if keyword == "anyOf" and not valid:
            best = _best(subs, tried, value, of_value)
            for failure in best:
                failure.secondary = failure.secondary or failure.keyword == "type"
            failures += [Failure(keyword, value, schema), *best]
        elif keyword == "oneOf" and valid != 1:
            found = f"{valid} valid alternatives" if valid else "none valid"
            failures.append(Failure(keyword, value, schema, f"Found {found}"))
            failures += [] if valid else _best(subs, tried, value, of_value)
        elif keyword == "allOf" and valid < len(subs):
            failures += chain.from_iterable(tried)
            failures.work.spend((len(subs) - valid) * FIELD if are_many else 0)
            failures.append(Failure(keyword, value, schema, "" if valid else ". None validated"))
        elif keyword == "not" and valid:
            failures.append(Failure(keyword, value, schema))
        return value

    return check


def _trials_below(schema: Structural) -> int:
    """Return the number of alternatives in a schema, at any depth."""
    return sum((path[0] in _KEYWORDS) + int(compiled(_trials_below, sub)) for path, sub in schema.below())


def _best(subs: tuple[Structural, ...], tried: list[Failures], value: Any, fits: Fits | None) -> list[Failure]:
    """Return the failures of the first alternative with the highest score."""
    if fits is None:
        return []
    scores = [_score(sub, value, fits) for sub in subs]
    return tried[scores.index(max(scores))]


def _score(schema: Structural, value: Any, fits: Fits) -> int:
    """Count the checks that an alternative passed, as kube-openapi's MatchCount does."""
    typed = bool(schema.types or schema.format)
    is_typed = mismatch(schema.types, schema.format, value) is None
    if value is None:
        return int(is_typed)
    score = typed * (1 + is_typed) + 4  # type; alternatives, twice; enum; the schema itself
    score += sum(_score_alternatives(schema, keyword, value, fits) for keyword in ("anyOf", "oneOf", "allOf"))
    if isinstance(value, str):
        return score + 1 + bool(schema.format)
    if not isinstance(value, list | dict):
        return score + (2 if json_type(value) != "boolean" else 0)
    parts: list[tuple[str | int, Any]] = [*(value.items() if isinstance(value, dict) else enumerate(value))]
    below = sum(_score(child, part, fits) for step, part in parts if (child := schema.child(step)) is not None)
    return score + (2 if isinstance(value, list) else 1) + below


def _score_alternatives(schema: Structural, keyword: str, value: Any, fits: Fits) -> int:
    subs = schema.alternatives(keyword)
    scores = [_score(sub, value, fits) for sub in subs]
    if keyword == "allOf" or not subs:
        return sum(scores)
    valid = [score for sub, score in zip(subs, scores, strict=True) if fits(sub, value)]
    if keyword == "oneOf" and len(valid) > 1:
        return 0
    return valid[0] if valid else max(scores)
