"""E-mail addresses as Go reads them: what the format ``email`` means to an API server.

Source of the rules: net/mail (ParseAddress) of Go's standard library, which follows RFC 5322 and is more permissive in
places. Encoded words of a display name are taken as they stand.
"""

from __future__ import annotations

import re

from trainc.schema.formats import is_ip

_ATOM_CHAR = r'[^\x00-\x20\x7f()<>\[\]:;@\\,"]'
_ATOM = re.compile(f"{_ATOM_CHAR}+")
_VISIBLE = r"[^\x00-\x08\x0a-\x1f\x7f]"
_QUOTED = re.compile(rf'"((?:(?![\\"]){_VISIBLE}|\\{_VISIBLE})*)"')
_LITERAL = re.compile(r"\[([^\x00-\x20\x7f\[\]\\]*)\]")
_SPACE = re.compile(r"[ \t]*")


class _Refused(ValueError):
    """The text is no address."""


def is_email(text: str) -> bool:
    """Tell whether text is one address, alone or as ``name <address>``, or a group of one."""
    try:
        found, at = _address(text, 0, group=True)
        return found == 1 and _comments(text, at) == len(text)
    except _Refused:
        return False


def _address(text: str, at: int, *, group: bool) -> tuple[int, int]:
    """Read an address from ``at``; return how many there were, more or less than one in a group, and where they end."""
    at = _blank(text, at)
    if at == len(text):
        raise _Refused
    try:
        end = _blank(text, _specification(text, at))
    except _Refused:
        return _named(text, at, group=group)
    return 1, (_comment(text, end) if text.startswith("(", end) else end)


def _named(text: str, at: int, *, group: bool) -> tuple[int, int]:
    if not text.startswith("<", at):
        at = _phrase(text, at)
    at = _blank(text, at)
    if group and text.startswith(":", at):
        return _group(text, at + 1)
    if not text.startswith("<", at):
        raise _Refused
    end = _specification(text, at + 1)
    if not text.startswith(">", end):
        raise _Refused
    return 1, end + 1


def _group(text: str, at: int) -> tuple[int, int]:
    at, count = _blank(text, at), 0
    if text.startswith(";", at):
        return 0, _comments(text, at + 1)
    while True:
        found, at = _address(text, at, group=False)
        count += found
        at = _comments(text, at)
        if text.startswith(";", at):
            return count, _comments(text, at + 1)
        if not text.startswith(",", at):
            raise _Refused
        at += 1


def _specification(text: str, at: int) -> int:
    """Return where ``local@domain`` ends, which begins at ``at``."""
    at = _blank(text, at)
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        if not quoted[1]:
            raise _Refused
        at = quoted.end()
    else:
        at = _dot_atom(text, at)
    if not text.startswith("@", at):
        raise _Refused
    at = _blank(text, at + 1)
    if not text.startswith("[", at):
        return _dot_atom(text, at)
    literal = _LITERAL.match(text, at)
    if literal is None or not is_ip(literal[1]):
        raise _Refused
    return literal.end()


def _dot_atom(text: str, at: int) -> int:
    atom = _ATOM.match(text, at)
    if atom is None or atom[0].startswith(".") or atom[0].endswith(".") or ".." in atom[0]:
        raise _Refused
    return atom.end()


def _phrase(text: str, at: int) -> int:
    count = 0
    while True:
        at = _blank(text, _comments(text, at) if count else at)
        word = _QUOTED.match(text, at) or _ATOM.match(text, at)
        if word is None:
            break
        at, count = word.end(), count + 1
    if not count and at < len(text):
        raise _Refused
    return at


def _comments(text: str, at: int) -> int:
    at = _blank(text, at)
    while text.startswith("(", at):
        at = _blank(text, _comment(text, at))
    return at


def _comment(text: str, at: int) -> int:
    """Return where the comment that begins at ``at`` ends; comments may stand in comments."""
    depth = 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        at += 1
        if not depth:
            return at
    raise _Refused


def _blank(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None, "it matches nothing, too"
    return found.end()
