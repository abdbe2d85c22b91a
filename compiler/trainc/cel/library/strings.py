"""Functions of strings, including format(). Positions and sizes count code points.

Source: cel-go v0.26.0 ext/strings.go and ext/formatting.go (version 2 of the library, so %f and %e use
golang.org/x/text v0.23.0 with the locale en-US), common/types/string.go and Go's strings and fmt. The precision of
%e is a width, with always six decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import contains
from typing import Final, NamedTuple

from trainc.cel import cost
from trainc.cel.functions import function
from trainc.cel.gotext import atoi, from_utf8, shown, utf8
from trainc.cel.library.conversions import bytes_to_string, duration_to_string, parse_float, timestamp_to_string
from trainc.cel.maps import is_list, is_map, items, length
from trainc.cel.types import Kind, type_name
from trainc.cel.values import (
    Container,
    Duration,
    EvalError,
    KeyedMap,
    Timestamp,
    TypeValue,
    Uint,
    Value,
    number,
    type_of,
)
from trainc.cel.work import CHARACTERS, Meter, check_size, spend
from trainc.kube.fielderror import quote
from trainc.kube.gojson import decimal, go_number, trim_space

_QUOTED = str.maketrans({char: f"\\{name}" for char, name in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)})
_UPPER = str.maketrans({code: code - 32 for code in range(ord("a"), ord("z") + 1)})
_LOWER = str.maketrans({code: code + 32 for code in range(ord("A"), ord("Z") + 1)})


def _char_at(text: str, index: int) -> str:
    """Return the code point at index, or an empty string at the end. Raises EvalError."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def index_of(text: str, wanted: str, start: int = 0) -> int:
    """Return the first index of wanted from start, else -1; start for an empty string. Raises EvalError."""
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    return text.find(wanted, start)


def _last_index_of_from(text: str, wanted: str, start: int) -> int:
    """Return the last index of wanted up to start, else -1, also if start is beyond the end.

    Raises EvalError.
    """
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    if start >= len(text):
        return -1
    return text.rfind(wanted, 0, start + len(wanted))


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """Replace old, at most count times if that is not negative; an empty old matches between all code points."""
    found = text.count(old)
    times = found if count < 0 else min(found, count)
    check_size(len(text) + times * (len(new) - len(old)))
    return text.replace(old, new, times)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    """Split into at most count parts if that is not negative; an empty separator splits into code points."""
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def substring(text: str, start: int, end: int | None = None) -> str:
    """Return the code points from start to before end. Raises EvalError."""
    if end is not None and start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, start if end is None else end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def join(parts: Iterable[Value], separator: str = "") -> str:
    """Join strings. Raises EvalError for other elements."""
    texts = list(parts)
    for part in texts:
        if not isinstance(part, str):
            raise EvalError(f"join: invalid input: {shown(part)}")
    check_size(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


# format()

_SPECIAL: Final = ("NaN", "Infinity", "-Infinity")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TIMES = "\N{MULTIPLICATION SIGN}"
_DEFAULT_PRECISION = 6
_MOST_DECIMALS = 1074
"""The most decimals of a double; all further ones are zeros."""
_FORMATTED = 16
"""The number of bytes written for clauses per unit of work: a precision may ask for many."""
_CLAUSE, _DURING = "could not parse formatting clause: ", "error during formatting: "


def string_format(template: str, args: Sequence[Value], meter: Meter) -> str:
    """Format args with a template; surplus args are ignored. Raises EvalError."""
    values = list(args)
    parts: list[bytes] = []
    for used, (before, letter, precision) in enumerate(clauses(utf8(template), len(values))):
        written = utf8(_filled(letter, values[used], precision) if letter else "")
        spend(meter, len(written) // _FORMATTED)
        parts += (before, written)
    return from_utf8(b"".join(parts))


def clauses(template: bytes, size: int, *, static: bool = False) -> Iterator[tuple[bytes, str, int | None]]:
    """Yield the text before each clause, its letter and precision; then the rest, with an empty letter.

    ``size`` is the number of arguments. Raises EvalError; cel-go checks the end first when it compiles (``static``).
    """
    used = at = 0
    before: list[bytes] = []
    while (percent := template.find(b"%", at)) >= 0:
        before.append(template[at:percent])
        at = percent + 1
        if template[at : at + 1] == b"%":
            before.append(b"%")
            at += 1
            continue
        if at == len(template) and (static or used < size):
            raise EvalError("unexpected end of string")
        if used >= size:
            raise EvalError(f"index {used} out of range")
        at, letter, precision = _clause(template, at)
        yield b"".join(before), letter, precision
        before, used = [], used + 1
    yield b"".join([*before, template[at:]]), "", None


def _clause(text: bytes, at: int) -> tuple[int, str, int | None]:
    """Parse a clause after its percent sign: its end, letter and precision. Raises EvalError."""
    precision = None
    if text[at : at + 1] == b".":
        begin = at = at + 1
        while text[at : at + 1].isdigit():
            at += 1
        if at == len(text):
            raise EvalError(f"{_CLAUSE}error while parsing precision: could not find end of precision specifier")
        try:
            precision = atoi(text[begin:at].decode("ascii"))
        except EvalError as error:
            words = "error while parsing precision: error while converting precision to integer"
            raise EvalError(f"{_CLAUSE}{words}: {error.message}") from None
    letter = chr(text[at])
    if letter not in CLAUSES:
        raise EvalError(f'{_CLAUSE}unrecognized formatting clause "{letter}"')
    return at + 1, letter, precision


def _filled(letter: str, value: Value, precision: int | None) -> str:
    clause = CLAUSES[letter]
    try:
        kind = type_of(value).kind
        fits = kind in clause.kinds or (letter == "s" and isinstance(value, Container))
        if not fits or (kind is Kind.STRING and letter in "fe" and value not in _SPECIAL):
            raise EvalError(f"{clause.complaint}, was given {type_name(type_of(value))}")
        if precision is None:
            precision = _DEFAULT_PRECISION
        if letter in "fe" and precision // 10 > 10**6:
            return "%!(NOVERB)"  # x/text does not read a number of so many digits
        return clause.write(value, precision)
    except EvalError as error:
        raise EvalError(_DURING + error.message) from None


def _text_of(value: Value) -> str:
    known = _TEXTS.get(value.__class__)
    if known is not None:
        return known(value)
    return _list_text(value) if value.is_list() else _map_text(value)


def _bytes_text(value: bytes) -> str:
    try:
        return bytes_to_string(value)
    except EvalError as error:
        raise EvalError(f"could not convert argument {quote(error.message)} to string") from None


def _list_text(value: Sequence[Value] | Container) -> str:
    return f"[{', '.join(map(_member, value))}]"


def _map_text(value: dict[str, Value] | KeyedMap | Container) -> str:
    pairs = [(_key(key), _member(item)) for key, item in items(value)]
    pairs.sort(key=lambda pair: utf8(pair[0]))
    return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"


def _key(key: Value) -> str:
    if key.__class__ in (str, bool, int, Uint):
        return _member(key)
    raise EvalError(f"no formatting function for map key of type {type_name(type_of(key))}")


def _member(value: Value) -> str:
    """Return a value within a list or map, in CEL notation."""
    kind = value.__class__
    if kind is str:
        return quote(value)
    if kind is bytes:
        return f"b{quote(_bytes_text(value))}"
    if kind is float:
        return f"{value:.6f}" if math.isfinite(value) else f'"{go_number(value)}"'
    if kind is Timestamp:
        return f'timestamp("{timestamp_to_string(value)}")'
    if kind is Duration:
        return f'duration("{duration_to_string(value)}")'
    if kind in _TEXTS or isinstance(value, Container):
        return _text_of(value)
    raise EvalError(f"no formatting function for {type_name(type_of(value))}")


def _hexadecimal(value: Value) -> str:
    data = utf8(value) if value.__class__ is str else value
    if isinstance(data, bytes):
        return data.hex()
    return f"{number(value):x}"


def _fixed(value: Value, precision: int) -> str:
    double = _double(value) or 0.0
    if not math.isfinite(double):
        return _infinite(double)
    # x/text keeps the least number of decimals as uint8 and the greatest as int16, where a negative one is no limit.
    least, most = precision % 2**8, (precision + 2**15) % 2**16 - 2**15
    text = f"{double:,.{min(most, _MOST_DECIMALS)}f}" if most >= 0 else f"{decimal(repr(double)):,f}"
    whole, _, decimals = text.partition(".")
    decimals = decimals.rstrip("0").ljust(least, "0")
    return f"{whole}.{decimals}" if decimals else whole


def _scientific(value: Value, width: int) -> str:
    double = _double(value)
    text = _infinite(double)
    if math.isfinite(double):
        mantissa, _, exponent = f"{double or 0.0:.6e}".partition("e")
        text = f"{mantissa}{_TIMES}10{exponent.removeprefix('+').translate(_SUPERSCRIPT)}"
    return text.rjust(width % 2**16)  # x/text keeps it as uint16


def _infinite(double: float) -> str:
    return "NaN" if math.isnan(double) else "∞" if double > 0 else "-∞"


def _double(value: Value) -> float:
    return value if value.__class__ is float else parse_float(value) or math.nan


_TEXTS: Mapping[type, Callable[[Value], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    Uint: lambda value: str(value.value),
    float: go_number,
    str: lambda value: value,
    bytes: _bytes_text,
    Timestamp: timestamp_to_string,
    Duration: duration_to_string,
    TypeValue: lambda value: type_name(value.type),
    list: _list_text,
    dict: _map_text,
    KeyedMap: _map_text,
}


class Clause(NamedTuple):
    """A clause: the kinds of types that it accepts, the error for others, and the text of a value with a precision."""

    kinds: frozenset[Kind]
    complaint: str
    write: Callable[[Value, int], str]


_INTEGERS: Final = frozenset((Kind.INT, Kind.UINT))
_FLOATS: Final = frozenset((Kind.DOUBLE, Kind.STRING))
_BYTES: Final = _INTEGERS | {Kind.STRING, Kind.BYTES}
_HEX: Final = "only integers, byte buffers, and strings can be formatted as hex"
CLAUSES: Final[Mapping[str, Clause]] = {
    "s": Clause(
        frozenset((Kind.LIST, Kind.MAP, Kind.TYPE, Kind.NULL, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION))
        | (_FLOATS | _BYTES),
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
        " timestamps",
        lambda value, _: _text_of(value),
    ),
    "d": Clause(_INTEGERS, "decimal clause can only be used on integers", lambda value, _: str(number(value))),
    "f": Clause(_FLOATS, "fixed-point clause can only be used on doubles", _fixed),
    "e": Clause(_FLOATS, "scientific clause can only be used on doubles", _scientific),
    "b": Clause(
        _INTEGERS | {Kind.BOOL},
        "only integers and bools can be formatted as binary",
        lambda value, _: f"{number(value):b}",
    ),
    "x": Clause(_BYTES, _HEX, lambda value, _: _hexadecimal(value)),
    "X": Clause(_BYTES, _HEX, lambda value, _: _hexadecimal(value).upper()),
    "o": Clause(_INTEGERS, "octal clause can only be used on integers", lambda value, _: f"{number(value):o}"),
}


# Costs, work and rows

_WRITTEN: Final = 5
"""The work of writing a list element or map entry."""

_CHARACTER: Final = 4
"""The number of characters written, with escapes, per unit of work."""


def _texts(args: Sequence[Value], meter: Meter) -> None:
    if args[0].__class__ is list:
        spend(meter, len(args[0]) + sum(len(each) for each in args[0] if each.__class__ is str) // CHARACTERS)


def _replaced(args: Sequence[Value], meter: Meter) -> None:
    text, old = args[:2]
    if text.__class__ is str and old.__class__ is str:
        spend(meter, len(text) // CHARACTERS)
        spend(meter, text.count(old) // 10)


def _written(args: Sequence[Value], meter: Meter) -> None:
    for arg in args:
        if arg.__class__ is str or arg.__class__ is bytes:
            spend(meter, len(arg) // _CHARACTER)
        elif is_list(arg):
            spend(meter, len(arg) * _WRITTEN)
            _written(arg, meter)
        elif is_map(arg):
            spend(meter, length(arg) * _WRITTEN)
            for pair in items(arg):
                _written(pair, meter)


_part = partial(function, terse=True)
_read = partial(function, cost=cost.first_plain)

FUNCTIONS: Final = (
    _part("contains", ("contains_string", ".(string, string) bool", contains, cost.product)),
    _part("startsWith", ("starts_with_string", ".(string, string) bool", str.startswith, cost.first)),
    _part("endsWith", ("ends_with_string", ".(string, string) bool", str.endswith, cost.first)),
    function("charAt", ("string_char_at_int", ".(string, int) string", _char_at)),
    function(
        "indexOf",
        ("string_index_of_string", ".(string, string) int", index_of),
        ("string_index_of_string_int", ".(string, string, int) int", index_of),
        cost=cost.traversal,
    ),
    function(
        "lastIndexOf",
        ("string_last_index_of_string", ".(string, string) int", str.rfind),
        ("string_last_index_of_string_int", ".(string, string, int) int", _last_index_of_from),
        cost=cost.traversal,
    ),
    _read("lowerAscii", ("string_lower_ascii", ".(string) string", lambda text: text.translate(_LOWER))),
    _read("upperAscii", ("string_upper_ascii", ".(string) string", lambda text: text.translate(_UPPER))),
    function(
        "replace",
        ("string_replace_string_string", ".(string, string, string) string", replace),
        ("string_replace_string_string_int", ".(string, string, string, int) string", replace),
        cost=cost.first_plain_twice,
        work=_replaced,
    ),
    function(
        "split",
        ("string_split_string", ".(string, string) list(string)", split),
        ("string_split_string_int", ".(string, string, int) list(string)", split),
        cost=cost.first_plain_twice,
        work=cost.no_work,
    ),
    _read(
        "substring",
        ("string_substring_int", ".(string, int) string", substring),
        ("string_substring_int_int", ".(string, int, int) string", substring),
    ),
    _read("trim", ("string_trim", ".(string) string", trim_space)),
    function(
        "join",
        ("list_join", ".(list(string)) string", join),
        ("list_join_string", ".(list(string), string) string", join),
        cost=lambda _, result: math.ceil(cost.actual_size(result) * 2 * cost.TRAVERSAL),
        work=_texts,
    ),
    function(
        "strings.quote",
        ("strings_quote", "(string) string", lambda text: f'"{text.translate(_QUOTED)}"', cost.first),
        work=_written,
    ),
    function(
        "format",
        ("string_format", ".(string, list(dyn)) string", string_format, cost.first),
        work=_written,
        metered=True,
    ),
)
