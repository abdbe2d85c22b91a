"""The text format: a line that editors can follow, then the source line and the details."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field

from trainc.basics.jsonvalues import Path, dotted
from trainc.findings.display import ELLIPSIS, HINT_WIDTH, PATH_WIDTH, VALUE_WIDTH, counted, one_line, shown_name, window
from trainc.findings.finding import Finding, Severity, sort_key
from trainc.findings.redaction import lines_of, masked_line, masked_path
from trainc.inputs.source import Document, Mark, Source

_RESET = "\x1b[0m"
_BOLD = "\x1b[1m"
_GUTTER = "\x1b[34m"
_POLICIES = "TC5"
"""The beginning of the codes of policies. Their messages begin with the policy's name and a colon."""

_COLOURS = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;36m",
}


def render(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return the findings in order of position, a blank line between two; the empty string for none.

    Each begins ``file:line:column: severity[code]: message``, both counted from
    1. ``colour`` adds ANSI escapes, and nothing else.
    """
    return "\n".join(each(sorted(findings, key=sort_key), colour))


def render_brief(findings: Iterable[Finding], colour: bool = False) -> str:
    """Return the findings as ``render`` does, but of the warnings and notes of one code only the first.

    A count of the others follows it. Every error is shown, and each policy that warns counts as a separate code.
    """
    repeats: dict[tuple[str, ...], list[Finding]] = {}
    for finding in sorted(findings, key=sort_key):
        policy = finding.message.partition(":")[0] if finding.code.startswith(_POLICIES) else ""
        key: tuple[str, ...] = (finding.severity, finding.code, policy)
        if finding.severity is Severity.ERROR:
            key = (finding.code, finding.file, str(finding.document.index), str(finding.path), finding.message)
        repeats.setdefault(key, []).append(finding)
    renderer = _Renderer(colour)
    return "\n".join(renderer.finding(found[0]) + renderer.more(found) for found in repeats.values())


def each(findings: Iterable[Finding], colour: bool = False) -> Iterator[str]:
    """Yield the text of every finding, in their order."""
    renderer = _Renderer(colour)
    return map(renderer.finding, findings)


def summary(findings: Iterable[Finding]) -> str:
    """Count the findings: ``2 errors, 1 warning``, or ``no findings``."""
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.severity] += 1
    parts = [counted(count, severity) for severity, count in counts.items() if count]
    return ", ".join(parts) or "no findings"


class _Renderer(Struct):
    """Writes findings, and keeps the lines of their sources: findings of many files may lead to the same few others."""

    colour: bool
    lines: dict[Source, Sequence[str]] = field(default_factory=dict)

    def paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if self.colour else text

    def source(self, document: Document) -> Sequence[str]:
        source = document.source
        if source not in self.lines:
            self.lines[source] = lines_of(source)
        return self.lines[source]

    def finding(self, finding: Finding) -> str:
        mark = finding.document.locate(finding.path)
        style = _COLOURS[finding.severity]
        label = self.paint(style, f"{finding.severity}[{finding.code}]")
        others = [(other, other.document.locate(other.path)) for other in finding.related]
        # One gutter for all lines of a finding.
        size = len(str(max(mark.line, *(other_mark.line for _, other_mark in others), 0)))
        where = one_line(dotted(masked_path(finding.path)))
        # The end of a long path says more than its beginning.
        where = where if len(where) <= PATH_WIDTH else ELLIPSIS + where[len(ELLIPSIS) - PATH_WIDTH :]
        parts = [
            f"{position(finding.document, finding.path)}: {label}: {self.paint(_BOLD, one_line(finding.message))}\n"
        ]
        parts += self.excerpt(finding.document, mark, size, style=style, sign="^", text=where)
        parts += self.notes(finding, size)
        for other, other_mark in others:
            text = one_line(other.message)
            excerpt = list(self.excerpt(other.document, other_mark, size, style=_GUTTER, sign="-", text=text))
            message = "" if excerpt else f": {text}"
            colons = self.paint(_GUTTER, f"{' ' * (size + 1)}:::")
            parts += [f"{colons} {position(other.document, other.path)}{message}\n", *excerpt]
        return "".join(parts)

    def more(self, found: Sequence[Finding]) -> str:
        """Return the line that counts findings of which only the first is shown."""
        if len(found) < 2:
            return ""
        files = len({finding.file for finding in found})
        where = f"in {files} files" if files > 1 else "in this file"
        first = found[0]
        return f"  {self.paint(_GUTTER, '=')} {len(found)} {first.severity}s of {first.code} {where}: -v shows all\n"

    def excerpt(self, document: Document, mark: Mark, size: int, *, style: str, sign: str, text: str) -> Iterator[str]:
        """Yield the gutter, the line of a mark and ``text`` below it after signs; nothing for an empty line."""
        line, column = masked_line(document, self.source(document), mark)
        if not line.strip():
            return
        shown, indent, length = window(line, column)
        blank = self.paint(_GUTTER, " " * (size + 2) + "|")
        below = self.paint(style, f"{sign * length} {text}".rstrip())
        yield f"{blank}\n"
        yield f"{self.paint(_GUTTER, f' {mark.line:>{size}} |')} {shown.rstrip()}\n"
        yield f"{blank} {' ' * indent}{below}\n"

    def notes(self, finding: Finding, size: int) -> Iterator[str]:
        sign = self.paint(_GUTTER, " " * (size + 2) + "=")
        for name, value in details(finding).items():
            yield f"{sign} {self.paint(_BOLD, name)}: {value}\n"


def details(finding: Finding) -> dict[str, str]:
    """Return what a finding has besides its message, by name, each on one line."""
    values = {"found": (finding.found, VALUE_WIDTH), "expected": (finding.expected, VALUE_WIDTH)}
    values |= {"hint": (finding.hint, HINT_WIDTH), "note": (_note(finding), HINT_WIDTH)}
    return {name: one_line(value, limit) for name, (value, limit) in values.items() if value is not None}


def _note(finding: Finding) -> str | None:
    """Return how to print the built-in runtimes that a finding points to, or None."""
    documents = (finding.document, *(other.document for other in finding.related))
    names = dict.fromkeys(name for document in documents if (name := document.source.built_in) is not None)
    commands = " and ".join(f"'trainc runtimes {name}'" for name in names)
    return f"{commands} {'print' if len(names) > 1 else 'prints'} the text" if names else None


def position(document: Document, path: Path) -> str:
    """Return ``file:line:column`` of a value."""
    mark = document.locate(path)
    return f"{shown_name(document.source)}:{mark.line}:{mark.column}"
