"""Finds the usual mistakes in a text that is not YAML, each with its position and a hint.

libyaml reports the first character that it cannot use, which is often lines after the mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from trainc.basics.regex import lazy
from trainc.findings.display import invisible

_CONFLICT = lazy(r"^(?:<{7} |>{7} |={7}$).*", re.M)
_TEXT = lazy(r"""\"[^"]*\"|'[^']*'|#.*""")
"""Parts of a line that may contain any character."""

_INDENTATION = "keys of one mapping need the same indentation"


_NO_SPACE = lazy(r"\s*(?:- )*[\w.-]+:[^\s/][^\s:]*$")
"""A line such as ``numNodes:2``."""


class SyntaxHint(NamedTuple):
    """A message, the offset in the text where the mistake is, the text found there, and what to do."""

    message: str
    offset: int
    found: str | None
    hint: str | None


def explain(error: Any, text: str, strings: Callable[[], Iterable[tuple[int, int]]]) -> SyntaxHint:
    """Explain an error of libyaml that has a problem and a mark.

    ``strings`` returns where quoted scalars before the error begin and end, as offsets in ``text``.
    """
    offset = min(error.problem_mark.index, len(text))
    if conflict := _CONFLICT.search(text):
        hint = "keep one side, and delete the lines that start with <<<<<<<, ======= and >>>>>>>"
        return SyntaxHint("unresolved Git merge conflict", conflict.start(), conflict[0], hint)
    line_start = text.rfind("\n", 0, offset) + 1
    line = text[line_start:].split("\n", 1)[0]
    before_start = text.rfind("\n", 0, max(line_start - 1, 0)) + 1
    before = text[before_start : max(line_start - 1, 0)]
    for start, content in ((line_start, line), (before_start, before)):
        if found := invisible(_TEXT.sub(lambda match: "x" * len(match[0]), content)):
            name, column = found
            hint = f"replace the {name} with a space"
            return SyntaxHint(f"{name} where YAML needs a space", start + column, None, hint)
    if open_string := _open_string(error, text, offset, strings):
        return open_string
    message = f"{error.problem} {error.context}" if error.context else error.problem
    return SyntaxHint(message, offset, None, _hint(error.problem, text[offset : offset + 1], line, before))


def _open_string(
    error: Any, text: str, offset: int, strings: Callable[[], Iterable[tuple[int, int]]]
) -> SyntaxHint | None:
    """Explain a string whose closing quote is missing: it ends with the text, or at the next quote lines below."""
    if error.context == "while scanning a quoted scalar" and error.problem == "found unexpected end of stream":
        start = error.context_mark.index
        return SyntaxHint("string is never closed", start, None, f"add the closing {text[start]}")
    *_, (begin, end) = (0, 0), *strings()
    if "\n" in text[begin:end] and "\n" not in text[end:offset]:
        last = text.count("\n", 0, end) + 1
        return SyntaxHint(
            f"the string that starts here ends in line {last}, and more text follows it",
            begin,
            None,
            f"add the closing {text[begin]} to this line",
        )
    return None


def _hint(problem: str, character: str, line: str, before: str) -> str | None:
    if character == "\t":
        return "indent with spaces, not with tabs"
    if character in ("@", "`", "%"):
        return f"quote a text that starts with {character}"
    if problem == "mapping values are not allowed in this context" and ": " in line.partition(": ")[2]:
        return 'quote a text that contains ": "'
    if problem in ("mapping values are not allowed in this context", "did not find expected key"):
        if _NO_SPACE.match(before):
            return "write a space after the colon in the line above"
        indent, previous = _indent(line), _indent(before)
        if previous != indent and not before.rstrip().endswith(":"):
            return f"this line is indented by {indent} and the line above by {previous}: {_INDENTATION}"
        return "check the indentation, and that brackets and quotes are closed"
    if problem == "could not find expected ':'":
        return 'write "key: value", with a space after the colon'
    return _HINTS.get(problem)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


_HINTS = {
    "did not find expected <document start>": "kubectl cuts files at ---, so none may follow a line %YAML or %TAG",
    "did not find expected ',' or ']'": 'add the missing comma or ], or quote a text that contains ": " or a comma',
    "did not find expected ',' or '}'": 'add the missing comma or }, or quote a text that contains ": " or a comma',
    "did not find expected node content": "write a value here, or close the list or mapping with ] or }",
    "found invalid Unicode character escape code": "YAML has no surrogate pairs: write the character itself",
}
