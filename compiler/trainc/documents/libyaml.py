"""The events of one YAML text as go-yaml's parser produces them, from libyaml through ruamel.yaml.clib.

go-yaml is a port of libyaml. This module makes up for the differences: libyaml refuses ``[a:b]`` and the escape
``\\'``, accepts the escape ``\\/``, skips byte order marks inside a text, and does not report the tag ``!``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec
from _ruamel_yaml import (  # type: ignore[import-not-found]  # no types
    AliasEvent,
    CParser,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.error import YAMLError

from trainc.basics.regex import lazy
from trainc.documents.problems import CONVERTING, MAX_DEPTH, TOO_DEEP, Problem, Refused
from trainc.findings.display import invisible

Read = Callable[[], Any]
"""Returns the next event of a text, beginning with the start of the stream."""
T = TypeVar("T")

ERRORS = YAMLError, UnicodeEncodeError
"""The errors that reading an event may raise, for ``syntax_error``."""

_BOM = "\ufeff"
_INNER_BOM = lazy(r"(?<=[\n\r\u0085\u2028\u2029])\ufeff|\A\ufeff")
_TAG_DIRECTIVE = lazy(r"(?:\A|(?<=[\n\r\u0085\u2028\u2029]))%TAG[ \t][^\n\r\u0085\u2028\u2029]*")
_MOST_DIRECTIVES = 1000
"""The most characters of directives %TAG of a text: libyaml compares each with all before, and each tag has a text."""

_COMMENT: Final = "#[^\n\r\u0085\u2028\u2029]*+"
_BARE_TAG = lazy(rf"(?:\s++|&\S*+|{_COMMENT})*+!(?:\s|\Z)")
_BEFORE_TEXT = lazy(rf"(?:[ \t\n\r\u0085\u2028\u2029]++|[&!]\S*+|{_COMMENT})*+")
"""What a scalar has before its text: an anchor and a tag, and comments behind each."""

_FLOW_COLON = "found unexpected ':'"
_ESCAPE = "found unknown escape character"
# A tag, or colons inside a word; one at a word's start would be an indicator in flow collections.
_WORD_COLON = lazy(r"(?<![^\s\"'\[\]{},?:])!(?:<[^\s<>]*>|[^\s\[\]{},]*)|(?<=[^\s\"'\[\]{},?:]):+(?=\S)")
_QUOTE_ESCAPE = lazy(r"(?<!\\)((?:\\\\)*)\\(?=')")
"""The escape ``\\'``, after any number of escaped backslashes."""
_SLASH_ESCAPE = lazy(r'"[^"\\]*+(?:\\[^/][^"\\]*+)*+\\/')
MOST_ATTEMPTS: Final = 16
"""How often a text is read again. The first time suffices, but for colons after quotes."""


def open_events(text: str, masks: str = "") -> Read:
    """Return a function that returns the next event of text.

    ``masks`` are two characters that stand in text for a colon, and for a backslash before a single quote, which is
    omitted from a double-quoted scalar; no event shows them.
    Raises Refused: TC002 for a byte order mark at the start of any line, TC012 for too many directives.
    """
    if "%TAG" in text and sum(len(each[0]) for each in _TAG_DIRECTIVE.finditer(text)) > _MOST_DIRECTIVES:
        raise Refused(Problem("TC012", (), f"directives %TAG of more than {_MOST_DIRECTIVES} characters"), 0)
    if _BOM in text and (found := _INNER_BOM.search(text)):
        raise Refused(Problem("TC002", (), "a byte order mark inside the text"), found.start())
    read: Read = CParser(text).get_event
    if masks:
        read = partial(_unmasked, read, *masks)
    return partial(_slash_checked, read, text) if "\\/" in text else read


def _unmasked(read: Read, colon: str, backslash: str) -> Any:
    event = read()
    for name in ("value", "anchor"):
        if text := getattr(event, name, None):
            escaped = "" if getattr(event, "style", None) == '"' else "\\"
            setattr(event, name, text.replace(colon, ":").replace(backslash, escaped))
    return event


def _slash_checked(read: Read, text: str) -> Any:
    event = read()
    if getattr(event, "style", None) == '"':
        end = event.end_mark.index
        before = _BEFORE_TEXT.match(text, event.start_mark.index, end)
        if before and (found := _SLASH_ESCAPE.match(text, before.end(), end)):
            offset = found.end() - 2
            line = text.count("\n", 0, offset)
            upstream = f"{CONVERTING}yaml: {f'line {line + 1}: ' if line else ''}{_ESCAPE}"
            raise Refused(Problem("TC002", (), _ESCAPE, upstream, "\\/", hint="write / alone"), offset)
    return event


def with_masks(text: str, parse: Callable[[str, str], T]) -> T:
    """Call ``parse(text, masks)``, again with masks in the text if libyaml refuses a text that go-yaml reads.

    Masks are as long as the masked text, so positions do not change. Raises Refused for every error of the parser.
    """
    masks, offset = "", 0
    for _ in range(MOST_ATTEMPTS + 1):
        try:
            return parse(text, masks)
        except ERRORS as error:
            problem = getattr(error, "problem", None)
            offset = error.problem_mark.index if problem in (_FLOW_COLON, _ESCAPE) else 0  # type: ignore[union-attr]
            escaped = problem == _ESCAPE and text[offset : offset + 2] == "\\'"
            if problem != _FLOW_COLON and not escaped:
                raise syntax_error(error, text) from None
        # Two characters of the private use area that the text does not contain.
        masks = masks or "".join(islice((char for char in map(chr, range(0xE000, 0xF8FF)) if char not in text), 2))
        if len(masks) < 2:
            message = "colons or escapes in flow collections, and all characters of the private use area"
            raise Refused(Problem("TC012", (), message), offset)
        if escaped:
            text = _QUOTE_ESCAPE.sub(rf"\1{masks[1]}", text)
        else:
            text = _mask_colons(text[:offset] + masks[0] + text[offset + 1 :], masks[0])
    raise Refused(Problem("TC012", (), "too many colons and escapes in flow collections to read them all"), offset)


def _mask_colons(text: str, mask: str) -> str:
    return _WORD_COLON.sub(lambda match: match[0] if match[0][0] == "!" else mask * len(match[0]), text)


class Node(msgspec.Struct, eq=False):
    """A node of a text, from begin to end, with its anchor and tag.

    ``kind`` is scalar, alias, mapping or sequence. ``style`` is the character with which a quoted scalar, a block
    scalar or a flow collection begins, and empty for others. ``after`` is the index, in the order of the text, of the
    first node that is not inside. The end of a block collection is that of its last node.
    """

    begin: int
    end: int
    kind: str
    style: str
    depth: int
    after: int = 0


_KINDS: Final = {
    ScalarEvent: "scalar",
    AliasEvent: "alias",
    MappingStartEvent: "mapping",
    SequenceStartEvent: "sequence",
}


def nodes(text: str, masks: str = "") -> Iterator[Node]:
    """Yield the nodes of a text in order, parents first. Raises Refused, and ERRORS."""
    read = open_events(text, masks)
    parents: list[Node] = []
    count = end = 0
    while (event_type := type(event := read())) is not StreamEndEvent:
        if event_type is MappingEndEvent or event_type is SequenceEndEvent:
            node = parents.pop()
            end = node.end = event.end_mark.index if node.style else end
            node.after = count
        elif kind := _KINDS.get(event_type):
            count += 1
            is_parent = kind in ("mapping", "sequence")
            if is_parent and len(parents) >= MAX_DEPTH:  # libyaml takes quadratic time for more
                raise Refused(Problem("TC012", (), TOO_DEEP), event.start_mark.index)
            style = getattr(event, "style", None) or ""
            if is_parent and event.flow_style:
                style = "{" if kind == "mapping" else "["
            node = Node(event.start_mark.index, event.end_mark.index, kind, style, len(parents), count)
            if is_parent:
                parents.append(node)
            end = node.end
            yield node


def scalars(text: str, masks: str = "") -> Iterator[Node]:
    """Yield the scalars of a text in order. Raises Refused, and ERRORS."""
    return (node for node in nodes(text, masks) if node.kind == "scalar")


def is_bare(event: Any, text: str) -> bool:
    """Return whether an untagged scalar is a string because of its quotes or of the tag ``!`` before it."""
    if event.style:
        return True
    start = event.start_mark.index
    return text[start : start + 1] in ("!", "&") and _BARE_TAG.match(text[start : event.end_mark.index]) is not None


def syntax_error(error: Exception, text: str) -> Refused:
    """Convert an error of libyaml, or of encoding text for it, to a Refused with go-yaml's message and a hint."""
    if isinstance(error, UnicodeEncodeError):
        return Refused(Problem("TC001", (), "bytes that are not UTF-8"), error.start)
    marked: Any = error
    problem = getattr(error, "problem", None)
    if problem is None:  # a ReaderError: no mark, but a position in bytes
        offset = len(text.encode()[: marked.position].decode(errors="ignore"))
        upstream = f"{CONVERTING}yaml: {marked.reason}"
        return Refused(Problem("TC002", (), marked.reason, upstream, repr(text[offset : offset + 1])), offset)
    # go-yaml's own count: the scanner's lines are one short, and line 0 is omitted.
    line = marked.problem_mark.line
    if line:
        line += type(error).__name__ == "ScannerError"
    elif marked.context_mark is not None:
        line = marked.context_mark.line
    where = f"line {line}: " if line else ""
    message, offset, found, hint = _explained(marked, text)
    upstream = f"{CONVERTING}yaml: {where}{problem}"
    return Refused(Problem("TC002", (), message, upstream, found, hint=hint), offset)


# The usual mistakes, each with its position and a hint. libyaml reports the first character that it cannot use, which
# is often lines after the mistake.

_CONFLICT = lazy(r"^(?:<{7}|>{7}) .*", re.M)
_MARKS: Final = ("<<<<<<< ", ">>>>>>> ")


def conflict(text: str) -> Refused | None:
    """Return the error of a text with markers of a merge conflict. In a list or scalar of several lines, YAML reads
    them as words.
    """
    if not any(mark in text for mark in _MARKS) or not (found := _CONFLICT.search(text)):
        return None
    hint = "keep one side, and delete the lines that start with <<<<<<<, ======= and >>>>>>>"
    return Refused(Problem("TC002", (), "unresolved Git merge conflict", None, found[0], hint=hint), found.start())


_TEXT = lazy(r"""\"[^"]*\"|'[^']*'|#.*""")
"""Parts of a line that may contain any character."""

_INDENTATION = "keys of one mapping need the same indentation"

_NOT_CLOSED = {"did not find expected ',' or ']'": "list", "did not find expected ',' or '}'": "mapping"}

_CLOSING = {"[": "]", "{": "}"}

_OPENED = lazy(r"((?: |- )*)[\w./-]+: +")
"""What precedes a bracket in its line: its key, without quotes, unlike in JSON."""

_NEXT_KEY = lazy(r"( *)(?:- |[\w./-]+:(?: |$)|---|\.\.\.)")
"""How a line begins that has a key, an item or the end of a document."""

_NO_SPACE = lazy(r"\s*(?:- )*[\w.-]+:[^\s/][^\s:]*$")
"""A line such as ``numNodes:2``."""

_TEMPLATE = lazy(r"\s*(?:- )?\{\{")
"""How a line begins that Helm or Jinja fills in or leaves out."""


def _explained(error: Any, text: str) -> tuple[str, int, str | None, str | None]:
    """Return a message, the offset of the mistake in the text, the text there, and a hint."""
    offset = min(error.problem_mark.index, len(text))
    if refused := conflict(text):
        problem = refused.problem
        return problem.message, refused.offset, problem.found, problem.hint
    line_start = text.rfind("\n", 0, offset) + 1
    line = text[line_start:].split("\n", 1)[0]
    before_start = text.rfind("\n", 0, max(line_start - 1, 0)) + 1
    before = text[before_start : max(line_start - 1, 0)]
    for start, content in ((line_start, line), (before_start, before)):
        if found := invisible(_TEXT.sub(lambda match: "x" * len(match[0]), content)):
            name, column = found
            return f"{name} where YAML needs a space", start + column, None, f"replace the {name} with a space"
    if error.context == "while scanning a quoted scalar" and error.problem == "found unexpected end of stream":
        start = error.context_mark.index
        return "string is never closed", start, None, f"add the closing {text[start]}"
    if error.problem in _NOT_CLOSED and _is_never_closed(text, error.context_mark.index, line_start):
        start, name = error.context_mark.index, _NOT_CLOSED[error.problem]
        return f"{name} is never closed", start, None, f"add the closing {_CLOSING[text[start]]}"
    begin = end = 0
    with suppress(Refused, *ERRORS):
        for scalar in scalars(text):
            begin, end = (scalar.begin, scalar.end) if scalar.style in ("'", '"') else (begin, end)
    if "\n" in text[begin:end] and "\n" not in text[end:offset]:
        message = (
            f"the string that starts here ends in line {text.count(chr(10), 0, end) + 1}, and more text follows it"
        )
        return message, begin, None, f"add the closing {text[begin]} to this line"
    message = f"{error.problem} {error.context}" if error.context else error.problem
    return message, offset, None, _hint(error.problem, text[offset : offset + 1], line, before)


def _is_never_closed(text: str, bracket: int, line_start: int) -> bool:
    """Return whether the line of an error follows the collection that a bracket before it opens, instead of ending it.

    It does if it is a key or an item that is not indented more than the bracket's key, or the end of the text.
    """
    line = text[line_start:].split("\n", 1)[0]
    key = _OPENED.fullmatch(text, text.rfind("\n", 0, bracket) + 1, bracket)
    next_key = _NEXT_KEY.match(line)
    if key is None or next_key is None or bracket >= line_start:
        return not text[line_start:].strip()
    opening, closing = text[bracket], _CLOSING[text[bracket]]
    return len(next_key[1]) <= len(key[1]) and line.count(closing) <= line.count(opening)


def _hint(problem: str, character: str, line: str, before: str) -> str | None:
    if character == "\t":
        return "indent with spaces, not with tabs"
    if _TEMPLATE.match(line):
        return "fill in templates before trainc reads them, such as with helm template"
    if character in ("@", "`", "%"):
        return f"quote a text that starts with {character}"
    if problem == "mapping values are not allowed in this context" and ": " in line.partition(": ")[2]:
        return 'quote a text that contains ": "'
    if problem in ("mapping values are not allowed in this context", "did not find expected key"):
        if _NO_SPACE.match(before):
            return "write a space after the colon in the line above"
        indent, previous = (len(each) - len(each.lstrip(" ")) for each in (line, before))
        if previous != indent and not before.rstrip().endswith(":"):
            return f"this line is indented by {indent} and the line above by {previous}: {_INDENTATION}"
        return "check the indentation, and that brackets and quotes are closed"
    if problem == "could not find expected ':'":
        return 'write "key: value", with a space after the colon'
    return _HINTS.get(problem)


_HINTS = {
    "did not find expected <document start>": "kubectl cuts files at ---, so none may follow a line %YAML or %TAG",
    "did not find expected ',' or ']'": 'add the missing comma or ], or quote a text that contains ": " or a comma',
    "did not find expected ',' or '}'": 'add the missing comma or }, or quote a text that contains ": " or a comma',
    "did not find expected node content": "write a value here, or close the list or mapping with ] or }",
    "found invalid Unicode character escape code": "YAML has no surrogate pairs: write the character itself",
}


_HIDDEN_BREAK = lazy("\r(?!\n)|[\x85\u2028\u2029]")
MOST_BREAKS = 64
"""The most hidden line breaks that are reported of a text."""


def hidden_breaks(text: str) -> list[tuple[int, Problem]]:
    """Return the first line breaks of YAML 1.1 at which git and most viewers do not end a line, with their offsets.

    What follows one looks like a part of the line before it, such as of a comment.
    """
    found = []
    for match in islice(_HIDDEN_BREAK.finditer(text), MOST_BREAKS):
        code = f"{ord(match[0]):04X}"
        message = f"Kubernetes ends the line at this U+{code}, git and most viewers do not"
        hint = f"start a new line here, or remove the character; in double quotes, write it as \\u{code.lower()}"
        found.append((match.start(), Problem("TC005", (), message, hint=hint, fatal=False)))
    return found


_HASH = lazy(r"(?<!\S)#")
"""The begin of a comment, unless it is inside a scalar or another comment."""

_REST = lazy("[^\n\r\u0085\u2028\u2029]*")


def begin_of_text(scalar: Node, text: str) -> int:
    """Return where the text of a scalar begins, with its quote or indicator."""
    before = _BEFORE_TEXT.match(text, scalar.begin, scalar.end)
    return before.end() if before else scalar.begin


def may_have_comment(text: str, word: str) -> bool:
    """Return whether any comment could begin with word: no other text has to be parsed."""
    return word in text and re.search(rf"#\s*{re.escape(word)}", text) is not None


def _content_of(scalar: Node, text: str) -> tuple[int, int]:
    """Return the part of a text in which a scalar has no comment."""
    begin = begin_of_text(scalar, text)
    header = _REST.match(text, begin) if scalar.style in ("|", ">") else None
    return header.end() if header else begin, scalar.end


def yaml_comments(text: str, word: str) -> list[tuple[int, str]]:
    """Return the comments of one document: the code point of each ``#``, and what follows word.

    Blanks before word are skipped and those around the rest are removed.
    """
    if not may_have_comment(text, word):
        return []
    try:
        found_scalars = with_masks(
            text, lambda masked, masks: [_content_of(each, masked) for each in scalars(masked, masks)]
        )
    except Refused:
        return []
    starts = [start for start, _ in found_scalars]
    found, end = [], 0
    for match in _HASH.finditer(text):
        at = match.start()
        before = bisect_right(starts, at) - 1
        if at < end or (before >= 0 and at < found_scalars[before][1]):
            continue
        rest = _REST.match(text, at + 1)
        end = rest.end() if rest else at + 1
        comment = text[at + 1 : end].strip()
        if comment.startswith(word):
            found.append((at, comment.removeprefix(word).strip()))
    return found
