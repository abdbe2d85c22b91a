"""Events of one YAML text as go-yaml's parser would make them, from libyaml through ruamel.yaml.clib.

go-yaml is a port of libyaml. Three differences matter and are made up for here: libyaml refuses ``[a:b]``, it
skips byte order marks inside a text, and it does not tell the tag ``!``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from trainc.kube.decode import CONVERTING, Problem, Refused

_BOM = "\ufeff"
_INNER_BOM = re.compile(r"(?<=[\n\r\u0085\u2028\u2029])\ufeff|\A\ufeff")
_BARE_TAG = re.compile(r"(?:&\S+\s+)?!(?:\s|\Z)")

_FLOW_COLON = "found unexpected ':'"
# A colon inside a word; one at a word's start would be an indicator in flow collections.
_WORD_COLON = re.compile(r"(?<=[^\s\"'\[\]{},?:]):(?=\S)")
_MOST_COLONS = 20


@cache
def kinds() -> Any:
    """Return the module that defines the parser and the classes of its events."""
    import _ruamel_yaml  # type: ignore[import-not-found]  # a C extension without types

    return _ruamel_yaml


@cache
def errors() -> tuple[type[Exception], ...]:
    """Return what reading an event may raise; ``syntax_error`` takes it."""
    from ruamel.yaml.error import YAMLError

    return YAMLError, UnicodeEncodeError


def open_events(text: str, mask: str = "") -> Callable[[], Any]:
    """Return a function that gives the next event of text, the stream's start first.

    ``mask`` is a character that stands for colons in text; no event shows it. Raises Refused (TC002) for a
    byte order mark at the start of any line.
    """
    if _BOM in text and (found := _INNER_BOM.search(text)):
        raise Refused(Problem("TC002", (), "a byte order mark inside the text"), found.start())
    read: Callable[[], Any] = kinds().CParser(text).get_event
    return (lambda: _unmask(read(), mask)) if mask else read


def _unmask(event: Any, mask: str) -> Any:
    for name in ("value", "anchor", "tag"):
        if mask in (getattr(event, name, None) or ""):
            setattr(event, name, getattr(event, name).replace(mask, ":"))
    return event


def mask_colons(text: str) -> str:
    """Return the mask for a text: a character of the private use area that it does not hold."""
    return next(mask for mask in map(chr, range(0xE000, 0xF8FF)) if mask not in text)


def with_masks(text: str, parse: Callable[[str, str], Any]) -> Any:
    """Call ``parse(text, mask)``, again with masked colons where libyaml refuses what go-yaml reads.

    Masks are as long as colons, so all positions stay. Raises Refused for every error of the parser.
    """
    mask, offset = "", 0
    for _ in range(_MOST_COLONS):
        try:
            return parse(text, mask)
        except errors() as error:
            if getattr(error, "problem", None) != _FLOW_COLON:
                raise syntax_error(error, text) from None
            offset = error.problem_mark.index  # type: ignore[attr-defined]  # a ScannerError
        if mask:
            text = text[:offset] + mask + text[offset + 1 :]
        else:
            mask = mask_colons(text)
            text = _WORD_COLON.sub(mask, text[:offset] + mask + text[offset + 1 :])
    raise Refused(Problem("TC002", (), _FLOW_COLON, hint='quote a text that holds ":"'), offset)


def is_bare(event: Any, text: str) -> bool:
    """Tell whether the tag ``!`` stands before a scalar: that makes it a string."""
    if event.style:
        return True
    start = event.start_mark.index
    return text[start : start + 1] in ("!", "&") and _BARE_TAG.match(text[start : event.end_mark.index]) is not None


_HINTS = {
    "mapping values are not allowed in this context": 'quote a text that holds ": "',
    "found invalid Unicode character escape code": "YAML has no surrogate pairs: write the character itself",
}


def syntax_error(error: Exception, text: str) -> Refused:
    """Turn an error of libyaml, or of encoding text for it, into a refusal with go-yaml's message."""
    if isinstance(error, UnicodeEncodeError):
        return Refused(Problem("TC001", (), "bytes that are not UTF-8"), error.start)
    marked: Any = error
    problem = getattr(error, "problem", None)
    if problem is None:  # a ReaderError: no mark, but a position in bytes
        offset = len(text.encode()[: marked.position].decode(errors="ignore"))
        upstream = f"{CONVERTING}yaml: {marked.reason}"
        return Refused(Problem("TC002", (), marked.reason, repr(text[offset : offset + 1]), upstream=upstream), offset)
    # go-yaml's own count: the scanner's lines are one short, and line 0 is not told.
    line = marked.problem_mark.line
    if line:
        line += type(error).__name__ == "ScannerError"
    elif marked.context_mark is not None:
        line = marked.context_mark.line
    where = f"line {line}: " if line else ""
    offset = min(marked.problem_mark.index, len(text))
    hint = _HINTS.get(problem)
    character = text[offset : offset + 1]
    if character == "\t":
        hint = "indent with spaces, not with tabs"
    elif character in ("@", "`", "%"):
        hint = f"quote a text that starts with {character}"
    context = f" {marked.context}" if marked.context else ""
    upstream = f"{CONVERTING}yaml: {where}{problem}"
    return Refused(Problem("TC002", (), problem + context, hint=hint, upstream=upstream), offset)
