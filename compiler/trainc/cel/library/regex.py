"""matches(), find() and findAll(), on RE2, with the messages of Go's package regexp.

Source: cel-go v0.26.0 (String.Match), k8s.io/apiserver v0.34.4 pkg/cel/library/regex.go, Go's regexp.FindAllString.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, Final

from trainc.basics.regex import has_any_byte
from trainc.cel import cost
from trainc.cel.functions import Run, function
from trainc.cel.gotext import from_utf8, utf8
from trainc.cel.library.operators import refuse
from trainc.cel.types import type_name
from trainc.cel.values import NO_OVERLOAD, EvalError, Optional, TypeValue, Value
from trainc.cel.work import Meter, spend
from trainc.data import load_json
from trainc.kube.fielderror import cut

_MAX_MEMORY = 8 << 20
"""The memory limit of a pattern in RE2, in bytes."""

_MATCH = 10
"""The work of finding each match."""

_AHEAD = 256
"""The number of bytes read per unit of work behind a match that might have been longer."""

_MESSAGES = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
"""Go's messages by those of RE2, where they differ."""


@lru_cache(maxsize=512)
def pattern(text: str) -> Any:
    """Compile a regular expression for bytes. Raises EvalError with Go's message."""
    import re2  # type: ignore[import-untyped]

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MAX_MEMORY
    try:
        compiled = re2.compile(utf8(text), options)
    except re2.error as error:
        raise EvalError(_go_message(error.args[0], text)) from None
    if has_any_byte(text):
        raise EvalError("error parsing regexp: invalid escape sequence: `\\C`")
    for name in map(from_utf8, () if text.isascii() else sorted(compiled.groupindex, key=compiled.groupindex.get)):
        if not name.isascii():  # RE2 allows letters of all languages
            opening = next(each for each in (f"(?P<{name}>", f"(?<{name}>") if each in text)
            raise EvalError(f"error parsing regexp: invalid named capture: `{cut(opening)}`")
    return compiled


def _go_message(found: bytes | str, text: str) -> str:
    message, _, about = (from_utf8(found) if isinstance(found, bytes) else found).partition(": ")
    shown = text if message in ("missing )", "unexpected )", "pattern too large - compile failed") else about
    return f"error parsing regexp: {_MESSAGES.get(message, message)}: `{cut(shown)}`"


def _packaged() -> Any:
    """Return the patterns in the rules of the packaged CRDs, with their weights."""
    return load_json("schemas/patterns.json")


@cache
def _search(regex: str) -> Callable[[str], re.Match[str] | None]:
    return re.compile(regex.replace("$", r"\Z"), re.ASCII).search


def check(regex: str) -> None:
    """Raise EvalError with Go's message if regex is invalid."""
    if regex not in _packaged():
        pattern(regex)


def matches(text: str, regex: str) -> bool:
    """Return whether regex matches anywhere in text. Raises EvalError if it is invalid.

    Packaged patterns are equivalent in Python's re for ASCII text, which saves importing re2 (36 ms) in most runs.
    """
    if text.isascii() and regex in _packaged():
        return _search(regex)(text) is not None
    return pattern(regex).search(utf8(text)) is not None


def find(text: str, regex: str) -> str:
    """Return the first match of regex in text, or an empty string. Raises EvalError."""
    found = _illegal(regex).search(utf8(text))
    return "" if found is None else from_utf8(found.group())


def _find_all(text: str, regex: str, limit: int, meter: Meter) -> list[str]:
    """Return the matches of regex in text, at most limit if that is not negative. Raises EvalError."""
    compiled, found, data, behind = _illegal(regex), list[str](), utf8(text), -1
    longer = any(each in regex for each in "*+{")
    for match in compiled.finditer(data) if limit else ():
        start, end = match.span()
        spend(meter, _MATCH + longer * (len(data) - end) // _AHEAD)
        # Go finds no empty match directly after another one or inside a code point.
        if start == end and (start == behind or (start < len(data) and data[start] & 0xC0 == 0x80)):
            continue
        behind = end
        found.append(from_utf8(match.group()))
        if len(found) == limit:
            break
    return found


def _illegal(regex: str) -> Any:
    try:
        return pattern(regex)
    except EvalError as error:
        raise EvalError(f"Illegal regex: {error.message}") from None


@lru_cache(maxsize=512)
def weight(regex: str) -> int:
    """Return the number of instructions of a regular expression; 0 if it is invalid.

    Of one that is too large, it is the number that takes as long as RE2 needs to find that out.
    """
    try:
        return int(_packaged().get(regex) or pattern(regex).programsize)
    except EvalError as error:
        return _MAX_MEMORY // 96 if "expression too large" in error.message else 0


_COMPILED, _STATES = 200, 512
"""The minimal work of compiling a pattern; the number of automaton states followed per unit of work."""


def _find_cost(args: Sequence[Value], _: Value) -> int:
    return cost.match(cost.plain_size(args[0]), cost.plain_size(args[1]))


def _compiling(args: Sequence[Value], meter: Meter) -> None:
    """Spend the work of compiling a computed pattern and of matching it."""
    text, regex = args[:2]
    if text.__class__ is str and regex.__class__ is str:
        spend(meter, _COMPILED + len(regex))
        states = weight(regex)
        spend(meter, 2 * states + len(text) * states // _STATES)


def _text(value: Value) -> str:
    """Return the text to match: cel-go accepts strings, optionals of strings, and names of types."""
    if isinstance(value, Optional):
        return _text(value.value)
    if value.__class__ is str:
        return str(value)
    if isinstance(value, TypeValue):
        return type_name(value.type)
    raise EvalError(NO_OVERLOAD)


def _matches(text: Value, regex: Value) -> bool:
    if text.__class__ is not str:
        refuse("matches", text)
    if regex.__class__ is not str:
        raise EvalError(NO_OVERLOAD)
    return matches(text, regex)


def with_pattern(function: str, regex: str) -> Run:
    """Return the implementation of a function for a constant pattern; its last argument is the meter."""
    states = weight(regex)

    def call(value: Value, _: Value, *rest: Value) -> Value:
        *limit, meter = rest
        if any(each.__class__ is not int for each in limit):
            raise EvalError(NO_OVERLOAD)
        text = _text(value)
        spend(meter, len(text) * states // _STATES)
        if function == "findAll":
            return _find_all(text, regex, limit[0] if limit else -1, meter)
        return matches(text, regex) if function == "matches" else find(text, regex)

    return call


FUNCTIONS: Final = (
    function(
        "matches",
        ("matches", "(string, string) bool"),
        (
            "matches_string",
            ".(string, string) bool",
            None,
            lambda args, _: cost.match(cost.actual_size(args[0]), cost.actual_size(args[1])),
        ),
        run=_matches,
        work=_compiling,
    ),
    function("find", ("string_find_string", ".(string, string) string", find), cost=_find_cost, work=_compiling),
    function(
        "findAll",
        (
            "string_find_all_string",
            ".(string, string) list(string)",
            lambda text, regex, m: _find_all(text, regex, -1, m),
        ),
        ("string_find_all_string_int", ".(string, string, int) list(string)", _find_all),
        cost=_find_cost,
        work=_compiling,
        metered=True,
    ),
)
