"""Functions of strings. Positions and sizes count code points.

Source: cel-go v0.26.0 ext/strings.go (version 2 of the library), common/types/string.go and Go's package strings.
Bytes that are no UTF-8 (see gotext.py) count as one code point each; functions that go through runes replace them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from trainc.cel.gotext import runes, shown
from trainc.cel.library.limits import check_size
from trainc.cel.values import EvalError, Value
from trainc.kube.gojson import trim_space

_QUOTED = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)
_UPPER = str.maketrans({code: code - 32 for code in range(ord("a"), ord("z") + 1)})
_LOWER = str.maketrans({code: code + 32 for code in range(ord("A"), ord("Z") + 1)})


def char_at(text: str, index: int) -> str:
    """Return the code point at index, or an empty string just behind the last. Raises EvalError."""
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return runes(text[index : index + 1])


def index_of(text: str, wanted: str, start: int = 0) -> int:
    """Return where wanted is found first from start on, else -1; start itself for an empty string. Raises EvalError."""
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    return runes(text).find(runes(wanted), start)


def last_index_of(text: str, wanted: str) -> int:
    """Return where wanted is found last, else -1."""
    return _last(runes(text), runes(wanted)) if wanted else len(text)


def last_index_of_from(text: str, wanted: str, start: int) -> int:
    """Return where wanted is found last, beginning at start or before; -1 also if start is past the end.

    Raises EvalError.
    """
    if not wanted:
        return start
    if start < 0:
        raise _out_of_range(start)
    if start >= len(text):
        return -1
    return _last(runes(text)[: start + len(wanted)], runes(wanted))


def _last(text: str, wanted: str) -> int:
    # Backwards, since str.rfind takes the product of both lengths at worst, and str.find their sum.
    at = text[::-1].find(wanted[::-1])
    return at if at < 0 else len(text) - len(wanted) - at


def lower_ascii(text: str) -> str:
    """Return text with A to Z in lower case."""
    return runes(text).translate(_LOWER)


def upper_ascii(text: str) -> str:
    """Return text with a to z in upper case."""
    return runes(text).translate(_UPPER)


def replace(text: str, old: str, new: str, count: int = -1) -> str:
    """Replace old, at most count times unless that is negative; an empty old stands between all code points."""
    found = text.count(old)
    times = found if count < 0 else min(found, count)
    check_size(len(text) + times * (len(new) - len(old)))
    return text.replace(old, new, times)


def split(text: str, separator: str, count: int = -1) -> list[str]:
    """Split into at most count parts unless that is negative; an empty separator gives the code points."""
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def substring(text: str, start: int) -> str:
    """Return the code points from start on. Raises EvalError."""
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return runes(text[start:])


def substring_to(text: str, start: int, end: int) -> str:
    """Return the code points from start up to, not including, end. Raises EvalError."""
    if start > end:
        raise EvalError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return runes(text[start:end])


def join(parts: Iterable[Value], separator: str = "") -> str:
    """Join strings. Raises EvalError for an element that is none."""
    texts = list(parts)
    for part in texts:
        if not isinstance(part, str):
            raise EvalError(f"join: invalid input: {shown(part)}")
    check_size(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def quote(text: str) -> str:
    """Return text in double quotes, with the escapes of CEL's grammar where it has a letter for one."""
    return f'"{runes(text).translate(_QUOTED)}"'


def _out_of_range(index: int) -> EvalError:
    return EvalError(f"index out of range: {index}")


OVERLOADS: Mapping[str, Callable[..., Value]] = {
    "contains_string": lambda text, part: part in text,
    "starts_with_string": str.startswith,
    "ends_with_string": str.endswith,
    "size_string": len,
    "string_size": len,
    "size_bytes": len,
    "bytes_size": len,
    "string_char_at_int": char_at,
    "string_index_of_string": index_of,
    "string_index_of_string_int": index_of,
    "string_last_index_of_string": last_index_of,
    "string_last_index_of_string_int": last_index_of_from,
    "string_lower_ascii": lower_ascii,
    "string_upper_ascii": upper_ascii,
    "string_replace_string_string": replace,
    "string_replace_string_string_int": replace,
    "string_split_string": split,
    "string_split_string_int": split,
    "string_substring_int": substring,
    "string_substring_int_int": substring_to,
    "string_trim": trim_space,
    "list_join": join,
    "list_join_string": join,
    "strings_quote": quote,
}
