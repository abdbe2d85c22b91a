"""Safe output of text from files: on one line of a terminal, and in each output format.

Control characters, and characters that hide text or change its direction, become visible escapes. Commands in logs are
broken up: GitHub's runner reads a line that begins with ``::`` after any blanks as a command, and ``##[`` anywhere in a
line; the agent of Azure Pipelines reads ``##vso[`` anywhere, TeamCity ``##teamcity[``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from trainc.basics.regex import lazy
from trainc.inputs.source import BUILTIN, Source

_REVISED = lazy(r":(?:(?:jobs|runtimes|policies|out)/|trainc\.yaml\Z|images\.lock\.yaml\Z)")
"""The part after the revision in the name of a file at a git revision."""

VALUE_WIDTH = 120
"""The most characters of a value (found, expected) that a finding shows."""

HINT_WIDTH = 300
"""The most characters of a hint: our own words, and at most a name of the input."""

MESSAGE_WIDTH = 1000
"""The most characters of a message; upstream's own texts may quote whole objects."""

LINE_WIDTH = 100
"""The most terminal columns of a source line that a finding shows."""

PATH_WIDTH = 80
"""The most characters of a path after a caret."""

TAB = 4
ELLIPSIS = "..."

_TOKEN = lazy(
    r"""
    "(?:[^"\\]|\\.)*" | '(?:[^']|'')*'               # quoted
    | \#.* | TC[0-9]\w*                                # a comment, or a code in one
    | [^\s:,\[\]{}#](?:[^:,\[\]{}#]|:(?=\S)|(?<=\S)\#)*?(?=\s*(?:\Z|:(?:\s|\Z)|[,\]}]|\s\#))
    """,
    re.VERBOSE,
)
"""A key or scalar of YAML or JSON, as far as a line shows it."""

_WIDE = frozenset("WF")
_ZERO = frozenset(("Mn", "Me"))
_SELECTOR = (
    r"(?<![\xa9\xae\u203c-\u205e\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])"
    r"[\ufe0e\ufe0f](?:(?!\u20e3)|(?<![0-9#*].))"
)
"""A selector of the text or emoji form, except after a character that has both forms, and in a keycap.

None of these is escaped itself: after an escape, a selector would be hidden that was not before it.
"""
HIDDEN_CHARACTERS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    r"\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0d\ufeff\uffa0"
    r"\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f\U00016fe4\U0001bca0-\U0001bcaf\U0001d159"
    r"\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U0010ffff"
)
"""The characters of HIDDEN that need no context, as ranges for a pattern."""

_MARKS = (
    r"\u0300-\u034e\u0350-\u036f\u0483-\u0489\u0591-\u05bd\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    r"\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0730-\u074a\u07eb-\u07f3\u07fd\u0816-\u0819\u081b-\u0823\u0825-\u0827"
    r"\u0829-\u082d\u0859-\u085b\u0898-\u089f\u08ca-\u08e1\u08e3-\u0902\u0941-\u0948\u0951-\u0957\u09fe\u0e31"
    r"\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f18\u0f19\u0f35\u0f37\u0f71-\u0f7e\u0f80-\u0f84"
    r"\u0f86\u0f87\u0f8d-\u0f97\u0f99-\u0fbc\u0fc6\u108d\u135d-\u135f\u17c6\u17c9-\u17d3\u17dd\u1939-\u193b"
    r"\u1a17\u1a18\u1a73-\u1a7c\u1a7f\u1ab0-\u1ace\u1b6b-\u1b73\u1bef-\u1bf1\u1c2c-\u1c33\u1c36\u1c37\u1cd0-\u1cd2"
    r"\u1cd4-\u1ce0\u1ced\u1cf4\u1cf8\u1cf9\u1dc0-\u1dff\u20d0-\u20f0\u2cef-\u2cf1\u2de0-\u2dff\u302a-\u302d"
    r"\u3099\u309a\ua66f-\ua672\ua674-\ua67d\ua69e\ua69f\ua6f0\ua6f1\ua8e0-\ua8f1\ua926-\ua92d\uaa31\uaa32\uaab0"
    r"\uaab2-\uaab4\uaab7\uaab8\uaabe\uaabf\uaac1\ufe20-\ufe2f\U000101fd\U000102e0\U00010376-\U0001037a"
    r"\U00010a0c-\U00010a0f\U00010a38-\U00010a3a\U00010ae5\U00010ae6\U00010d24-\U00010d27\U00010eab\U00010eac"
    r"\U00010f46-\U00010f50\U00010f82-\U00010f85\U00011100-\U00011102\U00011180\U00011181\U000111b6-\U000111be"
    r"\U000111cf\U00011300\U00011301\U0001133b\U0001133c\U00011366-\U0001136c\U00011370-\U00011374\U0001145e"
    r"\U000114bf\U000114c0\U000115b2-\U000115b5\U000115bf\U000115c0\U000115dc\U000115dd\U0001163f\U00011640\U000116ab"
    r"\U000116b0-\U000116b5\U000116b7\U00011a01-\U00011a0a\U00011a3b-\U00011a3e\U00011a51-\U00011a56"
    r"\U00011c92-\U00011ca7\U00011caa-\U00011cb0\U00011d90\U00011d91\U00016b30-\U00016b36\U0001cf00-\U0001cf2d"
    r"\U0001cf30-\U0001cf46\U0001d167-\U0001d169\U0001d17b-\U0001d182\U0001d185-\U0001d18b\U0001d1aa-\U0001d1ad"
    r"\U0001d242-\U0001d244\U0001e000-\U0001e006\U0001e008-\U0001e018\U0001e01b-\U0001e021\U0001e023\U0001e024"
    r"\U0001e026-\U0001e02a\U0001e130-\U0001e136\U0001e2ae\U0001e2ec-\U0001e2ef\U0001e8d0-\U0001e8d6"
    r"\U0001e944-\U0001e94a"
)
"""Marks that Noto and DejaVu fonts draw above or below the letter before them, and above or below each other."""
_STACKED = (
    rf"[\u0300-\u036f\u0483-\u1dff\u20d0-\u309a\ua66f-\uaac1\ufe20-\ufe2f\U000101fd-\U0001e94a](?<=[{_MARKS}]{{5}})"
)
"""A mark on four others, which no language has: a pile of them covers the lines around it in a browser.

The first ranges have all marks, and are few: most other characters, such as Greek and Cyrillic letters, dashes and
quotation marks, are passed in a third of the time.
"""
HIDDEN_MARK = rf"{_SELECTOR}|{_STACKED}"
"""What is hidden because of the characters around it, as a pattern."""
HIDDEN = lazy(rf"{HIDDEN_MARK}|[{HIDDEN_CHARACTERS}]")
"""A character that must not reach a reader as it is, other than a tab and a line feed.

Controls, formats such as bidirectional overrides, what Unicode lets a font leave out (Default_Ignorable_Code_Point),
line separators, surrogates, private use, noncharacters, and planes without a character. They are listed here because
unicodedata differs between versions of Python. Other unassigned characters are shown as is, as a font's empty box.
"""
_UNSAFE = lazy(rf"{HIDDEN_MARK}|[\t\n{HIDDEN_CHARACTERS}]")
_HIDDEN_BUT_COLOURS = lazy(rf"\x1b\[[0-9;]*m|{HIDDEN_MARK}|[{HIDDEN_CHARACTERS}]")

OTHER_SPACES = r"\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
"""The spaces other than the ASCII one, and the empty pattern of Braille, as ranges for a pattern."""

_SPACES = lazy(f"[{OTHER_SPACES}]")
_ODD = rf"(?:{_SELECTOR}|[{HIDDEN_CHARACTERS}{OTHER_SPACES}])"
ODD_EDGE = lazy(rf"\A{_ODD}|{_ODD}(?=#)|(?![\U000e0020-\U000e01ef]){_ODD}\Z")
"""What looks like a blank at an edge of a text, or before a #. A tag or variation selector at the end does not."""
_INVISIBLE = lazy("[\\xa0\\u1680\\u2000-\\u200d\\u202f\\u205f\\u2060\\u3000\\ufeff]")


def is_shown(text: str) -> bool:
    """Return whether a text is shown without escapes."""
    return text.isprintable() if text.isascii() else _UNSAFE.search(text) is None


def is_printable(text: str) -> bool:
    """Return whether a text is shown without escapes and has no other space than the ASCII one."""
    return is_shown(text) and _SPACES.search(text) is None


def invisible(text: str) -> tuple[str, int] | None:
    """Return name and index of the first character that is invisible, or a space other than the ASCII one, or None."""
    found = _INVISIBLE.search(text)
    if found is None:
        return None
    name = "no-break space" if found[0] == "\xa0" else "byte order mark" if found[0] == "\ufeff" else "special space"
    return f"{name} (U+{ord(found[0]):04X})", found.start()


def escape(match: re.Match[str]) -> str:
    """Return the escape of a character, as in YAML and in Python: ``\\x1b``, ``\\u2028``."""
    return match[0].encode("unicode_escape").decode("ascii")


def is_in_file(source: Source) -> bool:
    """Return whether a source is a file, not a folder, standard input, built in, or a file at a revision."""
    name = source.name
    if name.startswith((BUILTIN, "<")) or name == "-" or _REVISED.search(name):
        return False
    return bool(source.text) or (name.endswith((".yaml", ".yml", ".json")) and name != "trainc.yaml")


def shown_name(source: Source) -> str:
    """Return the name of a source for people, on one line."""
    return one_line(source.name) if source.built_in is None else f"built-in runtime {source.built_in}"


def one_line(text: str, limit: int = MESSAGE_WIDTH) -> str:
    """Return text on one line, control characters escaped, cut to limit characters."""
    text = escaped(text[: limit + 1])
    return text if len(text) <= limit else text[: limit - len(ELLIPSIS)] + ELLIPSIS


def escaped(text: str) -> str:
    """Return text on one line, control characters escaped."""
    return text if is_shown(text) else _UNSAFE.sub(escape, text)


def width(cell: str) -> int:
    """Return the terminal columns of a printable text."""
    if cell.isascii():
        return len(cell)
    return sum(
        2 if unicodedata.east_asian_width(char) in _WIDE else 0 if unicodedata.category(char) in _ZERO else 1
        for char in cell
    )


def aligned(rows: Sequence[Sequence[str]], gap: str = "  ") -> Iterator[str]:
    """Yield a line for each row of printable texts, in columns with a gap between them."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True))
        yield gap.join(padded).rstrip()


def cells(line: str) -> list[str]:
    """Return the text that is shown for each code point of a source line; a tab is expanded to spaces."""
    shown: list[str] = []
    at = 0
    for index, char in enumerate(line):
        unsafe = _UNSAFE.match(line, index)
        cell = " " * (TAB - at % TAB) if char == "\t" else escape(unsafe) if unsafe else char
        shown.append(cell)
        at += width(cell)
    return shown


def window(line: str, column: int) -> tuple[str, int, int]:
    """Return the shown part of a source line, and the columns before and of the key or scalar at ``column``.

    ``column`` counts code points from 1, the results count terminal columns. A line wider than ``LINE_WIDTH`` is cut
    around the column, with an ellipsis on each cut side.
    """
    at = max(0, column - 1)
    match = _TOKEN.match(line, at, at + LINE_WIDTH)
    wanted = sum(map(width, cells(match[0] if match else line[at : at + 1])))
    # Code points far from the column cannot be shown whatever their width (a line may hold megabytes).
    first = max(0, at - LINE_WIDTH)
    shown = cells(line[first : at + LINE_WIDTH])
    at = min(at - first, len(shown))
    cut_left, cut_right = first > 0, len(line) > first + len(shown)
    widths = [width(cell) for cell in shown]
    start, end = at, at
    if not cut_left and not cut_right and sum(widths) <= LINE_WIDTH:
        start, end = 0, len(shown)
    while start > 0 and sum(widths[start - 1 : at]) <= LINE_WIDTH // 3:
        start -= 1
    while end < len(shown) and sum(widths[start : end + 1]) <= LINE_WIDTH:
        end += 1
    left = ELLIPSIS if cut_left or start > 0 else ""
    right = ELLIPSIS if cut_right or end < len(shown) else ""
    before, below = sum(widths[start:at]), sum(widths[at:end])
    return f"{left}{''.join(shown[start:end])}{right}", len(left) + before, max(1, min(wanted, below))


# Whole outputs, by format. A reader of JSON, XML or YAML gets the same values as without escapes.


COMMAND = lazy(r"##(?=\w*\[)")
"""The beginning of a command anywhere in a line."""

LINE_COMMAND = lazy(r"^([^\S\n]*)::(?![:\s])", re.MULTILINE)
"""The beginning of a command at the start of a line. Lines of ours begin with three colons, which is not a command."""

_STRANGE = lazy(r"[^\n\t -~]")
_OURS = lazy(r"(?:error|warning|notice) (?:file=|title=TC[0-9]{3} )")


def escape_text(text: str, colour: bool = False) -> str:
    """Escape text for a terminal or a log, or Markdown. ``colour`` keeps the escape sequences of colours."""
    pattern = _HIDDEN_BUT_COLOURS if colour else HIDDEN
    text = pattern.sub(lambda match: match[0] if len(match[0]) > 1 else escape(match), text)
    return LINE_COMMAND.sub(r"\1\\x3a:", COMMAND.sub(r"#\\x23", text))


def escape_github(text: str) -> str:
    """Escape annotations of GitHub: only lines that begin as ours do remain commands."""
    lines = HIDDEN.sub(escape, COMMAND.sub(r"#\\x23", text)).split("\n")
    return "\n".join(line if _OURS.match(line, 2) else LINE_COMMAND.sub(r"\1\\x3a:", line) for line in lines)


def escape_json(text: str) -> str:
    """Escape JSON. Characters outside of ASCII that are safe to show remain."""
    return COMMAND.sub(r"#\\u0023", HIDDEN.sub(_json_escape, text))


def _json_escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def escape_xml(text: str) -> str:
    """Escape XML."""
    text = _STRANGE.sub(lambda match: f"&#{ord(match[0])};", text)
    return LINE_COMMAND.sub(r"\1&#58;:", COMMAND.sub(r"#&#35;", text))


ESCAPES: dict[str, Callable[[str], str]] = {
    "text": escape_text,
    "markdown": escape_text,
    "json": escape_json,
    "sarif": escape_json,
    "github": escape_github,
    "junit": escape_xml,
    "codequality": escape_json,
}
"""By the value of ``--format`` or ``-o``. YAML is escaped by ``emit.emit_inert``."""


def counted(number: int, noun: str) -> str:
    """Return a number and a noun in the singular or plural: ``1 file``, ``2,000 files``."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def listed(names: Collection[str], most: int) -> str:
    """Return names in a line, and the number of those beyond ``most``."""
    rest = len(names) - most
    return ", ".join(islice(names, most)) + (f" and {rest:,} more" if rest > 0 else "")
