"""Makes output inert: nothing that stands in an input acts on a terminal, or commands the runner of a CI job.

Each function is for one format, and takes a whole output. Control characters, and characters that hide text or change
its direction, become visible escapes. Commands of logs are broken up: GitHub's runner takes a line that begins with
``::`` after any blanks as a command, and ``##[`` at any place of a line; the agent of Azure Pipelines takes ``##vso[``
at any place, TeamCity ``##teamcity[``. A reader of JSON, XML or YAML gets the same values as without this.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from trainc.basics.regex import lazy
from trainc.findings.display import one_line

COMMAND = lazy(r"##(?=\w*\[)")
"""Where a command begins, at any place of a line."""

LINE_COMMAND = lazy(r"^([^\S\n]*)::(?![:\s])", re.MULTILINE)
"""Where a line begins with a command. No command has a name that begins with a colon, as our own ``:::`` do."""

_STRANGE = lazy(r"[^\n\t -~]")
_STRANGE_BUT_COLOURS = lazy(r"\x1b\[[0-9;]*m|[^\n\t -~]")
_OURS = lazy(r"(?:error|warning|notice) (?:file=|title=TC[0-9]{3} )")


def suspicious(text: str) -> bool:
    """Tell whether a text may hold anything to be made inert: most do not, and that takes little time to see."""
    if "##" in text or "::" in text or not text.isascii():
        return True
    return not text.replace("\n", "").replace("\t", "").isprintable()


def for_people(text: str, colour: bool = False) -> str:
    """Return text of a terminal or a log, or Markdown. ``colour``: the escapes that only colour are kept."""
    if not suspicious(text):
        return text
    pattern = _STRANGE_BUT_COLOURS if colour else _STRANGE
    text = pattern.sub(lambda match: match[0] if len(match[0]) > 1 else one_line(match[0]), text)
    return LINE_COMMAND.sub(r"\1\\x3a:", COMMAND.sub(r"#\\x23", text))


def for_github(text: str) -> str:
    """Return annotations: the lines that begin as ours do are the only commands."""
    if not suspicious(text):
        return text
    lines = _STRANGE.sub(lambda match: one_line(match[0]), COMMAND.sub(r"#\\x23", text)).split("\n")
    return "\n".join(line if _OURS.match(line, 2) else LINE_COMMAND.sub(r"\1\\x3a:", line) for line in lines)


def for_json(text: str) -> str:
    """Return JSON. Outside of ASCII, only what is no plain text is escaped."""
    return COMMAND.sub(r"#\\u0023", _STRANGE.sub(_json_escape, text)) if suspicious(text) else text


def _json_escape(match: re.Match[str]) -> str:
    char = match[0]
    if one_line(char) == char:
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def for_xml(text: str) -> str:
    """Return XML."""
    if not suspicious(text):
        return text
    text = _STRANGE.sub(lambda match: f"&#{ord(match[0])};", text)
    return LINE_COMMAND.sub(r"\1&#58;:", COMMAND.sub(r"#&#35;", text))


FORMS: dict[str, Callable[[str], str]] = {
    "text": for_people,
    "markdown": for_people,
    "json": for_json,
    "sarif": for_json,
    "github": for_github,
    "junit": for_xml,
}
"""The function of each value of ``--format`` and ``-o``. YAML is made inert by ``emit.emit_inert``, which knows it."""
