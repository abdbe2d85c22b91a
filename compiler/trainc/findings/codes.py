"""The codes of findings, from the table in data/codes.md."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from trainc.basics.regex import lazy
from trainc.data import load_text
from trainc.findings.finding import Severity

WIDTH: Final = 80
"""The width of a page in the terminal."""

_RANGE = lazy(r"^## (TC[0-9])xx: (.+)$", re.M)
_ENTRY = re.compile(
    r"^### (?P<code>TC[0-9]{3}): (?P<title>.+)\n\n"
    r"Severity: (?P<severity>error|warning|note)\.\n\n"
    r"(?P<text>.+(?:\n.+)*)\n"
    r"(?:\nHint: (?P<hint>.+(?:\n.+)*)\.\n)?",
    re.M,
)


class Code(Struct, frozen=True):
    """A kind of finding: ``title`` in a few words, ``text`` for ``trainc explain``, ``hint`` shown with each."""

    severity: Severity
    title: str
    text: str
    hint: str | None = None


def _read(table: str) -> Iterator[tuple[str, Code]]:
    for entry in _ENTRY.finditer(table):
        text, hint = (part and part.replace("\n", " ") for part in entry.group("text", "hint"))
        yield entry["code"], Code(Severity(entry["severity"]), entry["title"], text, hint)


CODES: Final[Mapping[str, Code]] = dict(sorted(_read(load_text("codes.md"))))


def ranges() -> list[tuple[str, str]]:
    """Return the first characters of codes, and the subject of the codes that begin with them."""
    return _RANGE.findall(load_text("codes.md"))


def page(code: str) -> str:
    """Return the page of a code: title, severity, text and hint. KeyError for a code that is not in the table."""
    entry = CODES[code]
    paragraphs = [f"{code}: {entry.title}", f"Severity: {entry.severity}", _fill(entry.text)]
    if entry.hint is not None:
        paragraphs.append(_fill(f"Hint: {entry.hint}"))
    return "\n\n".join(paragraphs) + "\n"


def _fill(text: str) -> str:
    # Names such as volume-source-replaced are not broken, so that they can be found and copied.
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def _by_range(codes: Mapping[str, Code]) -> Iterator[tuple[str, str, Mapping[str, Code]]]:
    for prefix, about in ranges():
        if found := {code: codes[code] for code in sorted(codes) if code.startswith(prefix)}:
            yield prefix, about, found


def listing(codes: Mapping[str, Code] = CODES) -> str:
    """Return all codes in order, by range, each on a line with severity and title."""
    return "\n".join(
        f"{prefix}xx: {about}\n"
        + "".join(f"  {code}  {entry.severity:<7}  {entry.title}\n" for code, entry in found.items())
        for prefix, about, found in _by_range(codes)
    )


def markdown(codes: Mapping[str, Code] = CODES) -> str:
    """Return docs/codes.md: every code, by range, in order."""
    parts = ["# Codes\n\n`trainc explain CODE` explains the code of a finding. A code never changes its meaning.\n"]
    for prefix, about, found in _by_range(codes):
        parts.append(f"\n## {prefix}xx: {about}\n")
        for code, entry in found.items():
            hint = f"\nHint: {entry.hint}.\n" if entry.hint is not None else ""
            parts.append(f"\n### {code}: {entry.title}\n\nSeverity: {entry.severity}.\n\n{entry.text}\n{hint}")
    return "".join(parts)


def anchor(code: str) -> str:
    """Return the anchor that GitHub and GitLab give to a code's section in docs/codes.md."""
    heading = f"{code}: {CODES[code].title}".lower()
    return "".join(char for char in heading.replace(" ", "-") if char.isalnum() or char in "-_")
