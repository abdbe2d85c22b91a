"""``'%s is %.2f'.format([...])``, with cel-go's texts, groups of digits and superscript exponents.

Source: cel-go v0.26.0 ext/formatting.go (version 2 of the library, so %f and %e go through golang.org/x/text v0.23.0
in its locale en-US), and Go's fmt. The precision of %e is a width there, and there are always six decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from trainc.cel.conversions import bytes_to_string, duration_to_string, parse_float
from trainc.cel.gotext import from_utf8, general, quote, quote_cut, utf8
from trainc.cel.library.limits import check_size
from trainc.cel.library.times import timestamp_to_string
from trainc.cel.types import type_name
from trainc.cel.values import Container, Duration, EvalError, KeyedMap, Timestamp, TypeValue, Uint, Value, type_of

_SPECIAL = ("NaN", "Infinity", "-Infinity")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TIMES = "\N{MULTIPLICATION SIGN}"
_DEFAULT_PRECISION = 6
_TOO_LONG, _NO_VERB = 10_000_010, "%!(NOVERB)"
"""x/text stops reading a precision or width at this size, and then finds no letter."""
_CLAUSE, _DURING = "could not parse formatting clause: ", "error during formatting: "


def string_format(template: str, args: Sequence[Value]) -> str:
    """Fill the clauses of a template with args, in order; more args than clauses are ignored. Raises EvalError."""
    text, parts, used, at = utf8(template), [], 0, 0
    values = list(args)
    while (percent := text.find(b"%", at)) >= 0:
        parts.append(text[at:percent])
        if text[percent + 1 : percent + 2] == b"%":
            parts.append(b"%")
            at = percent + 2
            continue
        if used >= len(values):
            raise EvalError(f"index {used} out of range")
        if percent + 1 == len(text):
            raise EvalError("unexpected end of string")
        at, clause, precision = read_clause(text, percent + 1)
        parts.append(utf8(_filled(clause, values[used], precision)))
        used += 1
        check_size(sum(map(len, parts[-2:])))
    parts.append(text[at:])
    return from_utf8(b"".join(parts))


def read_clause(text: bytes, at: int) -> tuple[int, str, int | None]:
    """Read a clause behind its percent sign: where it ends, its letter, its precision. Raises EvalError."""
    precision = None
    if text[at : at + 1] == b".":
        begin = at = at + 1
        while text[at : at + 1].isdigit():
            at += 1
        if at == len(text):
            raise EvalError(f"{_CLAUSE}error while parsing precision: could not find end of precision specifier")
        precision = _precision(text[begin:at].decode("ascii"))
    letter = chr(text[at])
    if letter not in _CLAUSES:
        raise EvalError(f'{_CLAUSE}unrecognized formatting clause "{letter}"')
    return at + 1, letter, precision


def _precision(digits: str) -> int:
    significant = digits.lstrip("0")
    problem = "" if digits else "invalid syntax"
    if len(significant) > 19 or int(significant or "0") >= 2**63:
        problem = "value out of range"
    if problem:
        error = f"strconv.Atoi: parsing {quote_cut(digits)}: {problem}"
        raise EvalError(f"{_CLAUSE}error while parsing precision: error while converting precision to integer: {error}")
    return int(significant or "0")


def _filled(letter: str, value: Value, precision: int | None) -> str:
    try:
        return _CLAUSES[letter](value, _DEFAULT_PRECISION if precision is None else precision)
    except EvalError as error:
        raise EvalError(_DURING + error.message) from None


def text_of(value: Value, precision: int = 0) -> str:
    """Return what ``%s`` gives. Raises EvalError for types that it does not know."""
    known = _TEXTS.get(value.__class__)
    if known is not None:
        return known(value)
    if isinstance(value, Container):
        return _list_text(value) if value.is_list() else _map_text(value)
    raise EvalError(
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and"
        f" timestamps, was given {type_name(type_of(value))}"
    )


def _bytes_text(value: bytes) -> str:
    try:
        return bytes_to_string(value)
    except EvalError as error:
        raise EvalError(f"could not convert argument {quote(error.message)} to string") from None


def _list_text(value: Sequence[Value] | Container) -> str:
    return f"[{', '.join(map(_member, value))}]"


def _map_text(value: dict[str, Value] | KeyedMap | Container) -> str:
    if isinstance(value, KeyedMap):
        pairs = [(_key(key), _member(item)) for key, item in value.entries.values()]
    elif isinstance(value, Container):
        pairs = [(_key(key), _member(value.get(key, None))) for key in value]
    else:
        pairs = [(_key(key), _member(item)) for key, item in value.items()]
    pairs.sort(key=lambda pair: utf8(pair[0]))
    return f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}"


def _key(key: Value) -> str:
    if key.__class__ in (str, bool, int, Uint):
        return _member(key)
    raise EvalError(f"no formatting function for map key of type {type_name(type_of(key))}")


def _member(value: Value) -> str:
    """Return a value within a list or map, as CEL writes it."""
    kind = value.__class__
    if kind is str:
        return quote(value)
    if kind is bytes:
        return f"b{quote(_bytes_text(value))}"
    if kind is float:
        return f"{value:.6f}" if math.isfinite(value) else f'"{general(value)}"'
    if kind is Timestamp:
        return f'timestamp("{timestamp_to_string(value)}")'
    if kind is Duration:
        return f'duration("{duration_to_string(value)}")'
    if kind in _TEXTS or isinstance(value, Container):
        return text_of(value)
    raise EvalError(f"no formatting function for {type_name(type_of(value))}")


def _decimal(value: Value, precision: int) -> str:
    return str(_integer(value, "decimal clause can only be used on integers, was given"))


def _octal(value: Value, precision: int) -> str:
    return f"{_integer(value, 'octal clause can only be used on integers, was given'):o}"


def _binary(value: Value, precision: int) -> str:
    if value.__class__ is bool:
        return "1" if value else "0"
    return f"{_integer(value, 'only integers and bools can be formatted as binary, was given'):b}"


def _hexadecimal(value: Value, precision: int) -> str:
    if value.__class__ is str:
        return utf8(value).hex()
    if value.__class__ is bytes:
        return str(value.hex())
    return f"{_integer(value, 'only integers, byte buffers, and strings can be formatted as hex, was given'):x}"


def _integer(value: Value, complaint: str) -> int:
    if value.__class__ is int:
        return int(value)
    if isinstance(value, Uint):
        return value.value
    raise EvalError(f"{complaint} {type_name(type_of(value))}")


def _fixed(value: Value, precision: int) -> str:
    number = _double(value, "fixed-point")
    if not math.isfinite(number):
        return _special(number)
    if precision >= _TOO_LONG:
        return _NO_VERB
    # x/text keeps the number of decimals in an int16, and of those that may be zeros in a uint8.
    most, least = (precision + 2**15) % 2**16 - 2**15, precision % 2**8
    if most < 0:
        most = _all_decimals(number)
    whole, _, decimals = f"{abs(number):,.{most}f}".partition(".")
    decimals = decimals.rstrip("0").ljust(least, "0")
    return f"{'-' * (number < 0)}{whole}{'.' * bool(decimals)}{decimals}"


def _all_decimals(number: float) -> int:
    """Return how many decimals the shortest form of a number has."""
    mantissa, _, exponent = f"{number!r}".partition("e")
    return max(0, len(mantissa.partition(".")[2]) - int(exponent or "0"))


def _scientific(value: Value, width: int) -> str:
    number = _double(value, "scientific")
    if math.isfinite(number):
        mantissa, _, exponent = f"{abs(number):.6e}".partition("e")
        power = ("-" if exponent[0] == "-" else "") + f"{abs(int(exponent)):02d}"
        text = f"{'-' * (number < 0)}{mantissa}{_TIMES}10{power.translate(_SUPERSCRIPT)}"
    else:
        text = _special(number)
    return _NO_VERB if width >= _TOO_LONG else text.rjust(width % 2**16)


def _special(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _double(value: Value, clause: str) -> float:
    if value.__class__ is float:
        return float(value)
    if value.__class__ is str and value in _SPECIAL:
        return parse_float(value) or math.nan
    raise EvalError(f"{clause} clause can only be used on doubles, was given {type_name(type_of(value))}")


_TEXTS: Mapping[type, Callable[[Value], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    int: str,
    Uint: lambda value: str(value.value),
    float: general,
    str: lambda value: value,
    bytes: _bytes_text,
    Timestamp: timestamp_to_string,
    Duration: duration_to_string,
    TypeValue: lambda value: type_name(value.type),
    list: _list_text,
    dict: _map_text,
    KeyedMap: _map_text,
}
_CLAUSES: Mapping[str, Callable[[Value, int], str]] = {
    "s": text_of,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hexadecimal,
    "X": lambda value, precision: _hexadecimal(value, precision).upper(),
    "o": _octal,
}
OVERLOADS: Mapping[str, Callable[..., Value]] = {"string_format": string_format}
