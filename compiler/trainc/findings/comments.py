"""Comments that silence findings: ``# trainc: ignore TC409, TC015 why`` above a line of YAML, or at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.diagnostics import CODES, Diagnostic, report, suggest
from trainc.findings.severities import immovable
from trainc.load import comments
from trainc.records import dataclass
from trainc.regex import lazy
from trainc.source import Document, Mark, Source

WORD = "trainc:"
"""How such a comment begins, after the ``#``."""

IGNORE = "ignore"
EXAMPLE = "# trainc: ignore TC409 why it is fine here"

ABOUT_COMMENTS = ("TC016", "TC017")
"""The codes of findings about comments, which no comment silences."""

_BOM = "\ufeff"
_CODE = lazy(r"\s*,?\s*([Tt][Cc]\w*\d\w*)")
"""A code, or what was meant to be one."""

_REASON = lazy(r"\w")


@dataclass(frozen=True, slots=True, eq=False)
class Ignore:
    """One comment: ``line`` is where that begins which it covers; each of ``codes`` has a document of its own.

    That document's root is where the comment names the code. ``reason`` is what follows the codes.
    """

    source: Source
    line: int
    codes: Mapping[str, Document]
    reason: str


def read(source: Source) -> tuple[tuple[Ignore, ...], tuple[Diagnostic, ...]]:
    """Return the comments of a source that silence, and a finding (TC016) for each that does not and why."""
    ignores: list[Ignore] = []
    findings: list[Diagnostic] = []
    lines = source.decoded().split("\n")
    for mark, text in comments(source, WORD):
        codes, reason = _codes(text)
        if (spoilt := _spoilt(_place(source, mark), text, codes, reason)) is not None:
            findings.append(spoilt)
            continue
        line = lines[mark.line - 1].removeprefix(_BOM)
        places = {code: _place(source, mark._replace(column=line.index(code, mark.column) + 1)) for code in codes}
        findings += _powerless(places)
        if able := {code: place for code, place in places.items() if code in CODES and refusal(code) is None}:
            ignores.append(Ignore(source, _covered(lines, mark), able, reason.strip()))
    return tuple(ignores), tuple(findings)


def refusal(code: str) -> str | None:
    """Return why no comment can silence a code, or None where one can."""
    return "it is about such comments" if code in ABOUT_COMMENTS else immovable(code)


def _place(source: Source, mark: Mark) -> Document:
    return Document(source, {}, 0, lambda: {(): mark})


def _codes(text: str) -> tuple[list[str], str]:
    """Return the codes of a comment, in order and once, and the reason behind them."""
    rest = text.removeprefix(IGNORE)
    codes: dict[str, None] = {}
    while match := _CODE.match(rest):
        codes[match[1]] = None
        rest = rest[match.end() :]
    return list(codes), rest


def _spoilt(place: Document, text: str, codes: list[str], reason: str) -> Diagnostic | None:
    """Return what is wrong with a comment as a whole, if it is."""
    verb = text.split(None, 1)[0] if text else ""
    if verb != IGNORE:
        message = f"unknown comment {WORD} {verb}".rstrip()
        return report("TC016", place, (), message, expected=EXAMPLE, hint=suggest(verb, (IGNORE,)))
    if not codes:
        return report("TC016", place, (), "the comment names no code", expected=EXAMPLE)
    if not _REASON.search(reason):
        return report("TC016", place, (), f"no reason to ignore {', '.join(codes)}", expected=EXAMPLE)
    return None


def _powerless(places: Mapping[str, Document]) -> Iterator[Diagnostic]:
    for code, place in places.items():
        if code not in CODES:
            yield report("TC016", place, (), f"unknown code {code!r}", hint=suggest(code, CODES))
        elif (why := refusal(code)) is not None:
            yield report("TC016", place, (), f"{code} cannot be silenced: {why}")


def _covered(lines: list[str], mark: Mark) -> int:
    """Return the line that a comment speaks of: its own if it ends one, else the next with more than a comment."""
    before = lines[mark.line - 1].removeprefix(_BOM)[: mark.column - 1]
    if before.strip():
        return mark.line
    line = mark.line
    while line < len(lines) and (not (text := lines[line].strip()) or text.startswith("#")):
        line += 1
    return line + 1
