"""What a code means: a page and a list for the terminal, and the whole table for docs/codes.md."""

from __future__ import annotations

from collections.abc import Mapping

from trainc.findings.codes import CODES, Code

WIDTH = 80

RANGES = (
    ("TC0", "Input and YAML"),
    ("TC1", "Schema"),
    ("TC2", "CEL rules"),
    ("TC3", "Runtimes"),
    ("TC4", "Plugins"),
    ("TC5", "Policies"),
    ("TC6", "GitOps"),
    ("TC7", "Images"),
    ("TC8", "JobSet, Job and Pod"),
    ("TC9", "Output and internal"),
)
"""The first characters of a code, and what the codes that begin so are about."""


def page(code: str) -> str:
    """Return the page of a code: title, severity, text and hint. KeyError for a code that is not in the table."""
    entry = CODES[code]
    paragraphs = [f"{code}: {entry.title}", f"Severity: {entry.severity}", _fill(entry.text)]
    if entry.hint is not None:
        paragraphs.append(_fill(f"Hint: {entry.hint}"))
    return "\n\n".join(paragraphs) + "\n"


def listing(codes: Mapping[str, Code] = CODES) -> str:
    """Return all codes in order, by range, each on a line with severity and title."""
    parts = []
    for prefix, about in RANGES:
        lines = [
            f"  {code}  {codes[code].severity:<7}  {codes[code].title}\n"
            for code in sorted(codes)
            if code.startswith(prefix)
        ]
        if lines:
            parts.append(f"{prefix}xx: {about}\n{''.join(lines)}")
    return "\n".join(parts)


def _fill(text: str) -> str:
    # Names such as volume-source-replaced stay whole, to be found and copied.
    import textwrap  # used by few runs, and 1 ms to import

    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def markdown(codes: Mapping[str, Code] = CODES) -> str:
    """Return docs/codes.md: every code, by range, in order."""
    parts = ["# Codes\n\nEvery finding has one. `trainc explain CODE` prints its entry. A number keeps its meaning.\n"]
    for prefix, about in RANGES:
        entries = {code: codes[code] for code in sorted(codes) if code.startswith(prefix)}
        if entries:
            parts.append(f"\n## {prefix}xx: {about}\n")
        parts += [_section(code, entry) for code, entry in entries.items()]
    return "".join(parts)


def anchor(code: str) -> str:
    """Return the anchor of a code's section in docs/codes.md, as GitHub and GitLab make it of the heading."""
    heading = f"{code}: {CODES[code].title}".lower()
    return "".join(char for char in heading.replace(" ", "-") if char.isalnum() or char in "-_")


def _section(code: str, entry: Code) -> str:
    hint = f"\nHint: {entry.hint}.\n" if entry.hint is not None else ""
    return f"\n### {code}: {entry.title}\n\nSeverity: {entry.severity}.\n\n{entry.text}\n{hint}"
