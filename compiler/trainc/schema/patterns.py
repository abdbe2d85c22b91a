"""Regular expressions as Go reads them (RE2 syntax), translated for Python's re.

Source: regexp/syntax of Go's standard library. Where the two differ: ``$`` is the end of the text and nothing else,
``\\s`` lacks the vertical tab, classes may be POSIX, flags may stand anywhere, ``\\z``, ``\\Q...\\E`` and ``\\x{...}``.
"""

from __future__ import annotations

import re
from functools import cache

_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_OUTSIDE = {"z": r"\Z", "s": r"[\t\n\f\r ]", "S": r"[^\t\n\f\r ]", "a": r"\x07"}
_INSIDE = {"s": r"\t\n\f\r ", "a": r"\x07"}
_TOKEN = re.compile(
    r"""(?P<quoted>\\Q(?P<literal>.*?)(?:\\E|$))
      | (?P<hex>\\x\{(?P<code>[0-9A-Fa-f]+)\})
      | (?P<octal>\\(?P<digits>0[0-7]{0,2}))
      | (?P<escape>\\(?P<letter>.))
      | (?P<posix>\[:(?P<negated>\^?)(?P<name>\w+):\])
      | (?P<flags>\(\?(?P<set>[imsU]*)(?:-(?P<cleared>[imsU]+))?\))
      | (?P<named>\(\?<(?P<group>\w+)>)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class UnsupportedPattern(ValueError):
    """A pattern of which only Go can make something (Unicode classes, ungreedy mode), or nobody."""


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return what matches, by ``search``, the texts that Go's MatchString matches; raises UnsupportedPattern."""
    try:
        return re.compile(translate(pattern), re.ASCII)
    except re.error as error:
        raise UnsupportedPattern(f"{pattern}: {error}") from error


def translate(pattern: str) -> str:
    """Return the pattern in Python's syntax; raises UnsupportedPattern."""
    result: list[str] = []
    start: int | None = None  # where the open class begins in result
    closing = 0  # groups opened for flags that stand in the middle
    for token in _TOKEN.finditer(pattern):
        if token["flags"]:
            text = _flag_group(token, pattern)
            closing += 1
        elif start is None:
            text = _outside(token, pattern)
            start = len(result) if token["other"] == "[" else None
        else:
            first = len(result) == start + 1 or (len(result) == start + 2 and result[-1] == "^")
            text = _inside(token, pattern, first=first)
            start = None if token["other"] == "]" and not first else start
        result.append(text)
    return "".join(result) + ")" * closing


def _flag_group(token: re.Match[str], pattern: str) -> str:
    """Make ``(?i)`` a group up to the end. Go's would end with the group around it: only the outermost is taken."""
    depth = pattern[: token.start()].count("(") - pattern[: token.start()].count(")")
    if "U" in token[0] or depth or "m" in token[0]:
        raise UnsupportedPattern(f"{pattern}: flags {token[0]}")
    cleared = f"-{token['cleared']}" if token["cleared"] else ""
    return f"(?{token['set']}{cleared}:"


def _literal(code: int) -> str:
    return re.escape(chr(code))


def _common(token: re.Match[str], pattern: str) -> str | None:
    if token["hex"]:
        return _literal(int(token["code"], 16))
    if token["octal"]:
        return _literal(int(token["digits"], 8))
    if token["quoted"]:
        return re.escape(token["literal"])
    if token["letter"] in ("p", "P", "C"):
        raise UnsupportedPattern(f"{pattern}: class {token[0]}")
    return None


def _outside(token: re.Match[str], pattern: str) -> str:
    common = _common(token, pattern)
    if common is not None:
        return common
    if token["named"]:
        return f"(?P<{token['group']}>"
    if token["other"] == "$":
        return r"\Z"
    return _OUTSIDE.get(token["letter"], token[0])


def _inside(token: re.Match[str], pattern: str, *, first: bool) -> str:
    common = _common(token, pattern)
    if common is not None:
        return common
    if token["posix"]:
        if token["negated"] or token["name"] not in _POSIX:
            raise UnsupportedPattern(f"{pattern}: class {token[0]}")
        return _POSIX[token["name"]]
    if token["letter"] == "S":
        raise UnsupportedPattern(f"{pattern}: class {token[0]}")
    if token["other"] and (token["other"] in "[&~|" or (token["other"] == "]" and first)):
        return "\\" + token["other"]  # re warns of, or reads as something else, what Go takes for itself
    return _INSIDE.get(token["letter"], token[0])
