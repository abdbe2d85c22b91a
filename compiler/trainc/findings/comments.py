"""Comments that silence findings: ``# trainc: ignore TC409, TC015 why`` above a line of YAML, or at its end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from trainc.documents.comments import comments
from trainc.findings import CODES, Diagnostic, report, suggest
from trainc.findings.severities import immovable
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
_CODE = lazy(r"\s*+(?:,\s*+)?([Tt][Cc]\w*\d\w*)")
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
    covered = _next_with_content(lines)
    for mark, text in comments(source, WORD):
        line = lines[mark.line - 1].removeprefix(_BOM)
        codes, reason = _codes(text, line, mark.column)
        if (spoilt := _spoilt(_place(source, mark), text, codes, reason)) is not None:
            findings.append(spoilt)
            continue
        places = {code: _place(source, mark._replace(column=at + 1)) for code, at in codes.items()}
        findings += _powerless(places)
        if able := {code: place for code, place in places.items() if code in CODES and refusal(code) is None}:
            own = line[: mark.column - 1].strip() != ""
            place = mark.line if own else covered[mark.line - 1]
            ignores.append(Ignore(source, place, able, reason.strip()))
    return tuple(ignores), tuple(findings)


def refusal(code: str) -> str | None:
    """Return why no comment can silence a code, or None where one can."""
    return "it is about such comments" if code in ABOUT_COMMENTS else immovable(code)


def _place(source: Source, mark: Mark) -> Document:
    return Document(source, {}, 0, lambda: {(): mark})


def _codes(text: str, line: str, column: int) -> tuple[dict[str, int], str]:
    """Return the codes of a comment, in order and once, with where they are in its line, and the reason behind them."""
    shift = line.index(text, column)
    at = len(IGNORE) if text.startswith(IGNORE) else 0
    codes: dict[str, int] = {}
    while match := _CODE.match(text, at):
        codes.setdefault(match[1], shift + match.start(1))
        at = match.end()
    return codes, text[at:]


def _spoilt(place: Document, text: str, codes: Collection[str], reason: str) -> Diagnostic | None:
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


def _next_with_content(lines: list[str]) -> list[int]:
    """Return, per line, the number of the next line below it with more than a comment, or one past the last."""
    found = [len(lines) + 1] * len(lines)
    for index in range(len(lines) - 1, 0, -1):
        text = lines[index].strip()
        found[index - 1] = found[index] if not text or text.startswith("#") else index + 1
    return found
