"""Creates findings, with secrets masked, from texts or from faults; hints for misspelled names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.basics.jsonvalues import Path, existing, get
from trainc.basics.regex import lazy
from trainc.findings.codes import CODES
from trainc.findings.display import ELLIPSIS, VALUE_WIDTH, invisible
from trainc.findings.finding import Finding, Related, Severity
from trainc.findings.redaction import Redactor
from trainc.findings.secrets import Hidden, hidden, private_keys, tokens
from trainc.inputs.source import Document

_NEAR = 0.65
"""The least similarity of two names, from 0 to 1."""

_RELATED, _ALIKE = 0.7, 0.75
"""The least similarity if a word of the name is like none of the other: with and without another word in common."""

MOST_NAMES: Final = 400
"""The most names with which a wrong name in a document is compared: there may be as many wrong ones as right ones."""

_PAIRS: Final = 25
"""The pairs of letters that a hint may compare per name, about 4 microseconds."""

_COMPARED: Final = 8
"""The candidates that are compared letter by letter."""

_BETWEEN_WORDS = lazy(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")

PLAIN_TEXT, PRIVATE_KEY = "TC411", "TC414"


def report(
    code: str,
    document: Document,
    path: Path,
    message: str,
    *,
    severity: Severity | None = None,
    found: str | None = None,
    expected: str | None = None,
    hint: str | None = None,
    related: tuple[Related, ...] = (),
    stage: str | None = None,
    upstream: str | None = None,
) -> Finding:
    """Return a finding; severity and hint default to those of its code in the table.

    Secrets of the documents are masked in every text, and found and expected are cut to VALUE_WIDTH characters. Raises
    KeyError for a code that is not in the table.
    """
    entry = CODES[code]
    shown = Redactor(document, path, found, (other.document for other in related))
    return Finding(
        code,
        severity or entry.severity,
        shown.text(message) or "",
        document,
        path,
        _short(shown.value(found)),
        _short(shown.text(expected)),
        shown.text(hint if hint is not None else entry.hint),
        tuple(replace(other, message=shown.text(other.message) or "") for other in related),
        stage,
        shown.text(upstream, whole=True),
    )


def rewritten(finding: Finding, whole: Callable[[Document], Document]) -> Finding:
    """Return a finding with whole documents, whose secrets are masked as well.

    Each of its documents may have had only a part of its data.
    """
    return report(
        finding.code,
        whole(finding.document),
        finding.path,
        finding.message,
        severity=finding.severity,
        found=finding.found,
        expected=finding.expected,
        hint=finding.hint,
        related=tuple(replace(other, document=whole(other.document)) for other in finding.related),
        stage=finding.stage,
        upstream=finding.upstream,
    )


def _short(value: str | None) -> str | None:
    return value if value is None or len(value) <= VALUE_WIDTH else value[: VALUE_WIDTH - len(ELLIPSIS)] + ELLIPSIS


class Fault(Struct, frozen=True):
    """An error at ``path`` of an object, in whatever document; ``upstream`` is the cluster's full message.

    ``other`` is the path of a second field involved. ``position`` is an offset in the expression at ``path``.
    Subclasses add fields.
    """

    code: str
    path: Path
    message: str
    upstream: str | None = None
    found: str | None = None
    expected: str | None = None
    hint: str | None = None
    stage: str | None = None
    other: Path | None = None
    position: int | None = None


def report_fault(
    fault: Fault,
    document: Document,
    path: Path | None = None,
    *,
    severity: Severity | None = None,
    related: tuple[Related, ...] = (),
) -> Finding:
    """Return the finding of a fault in a document.

    ``path`` defaults to the fault's own, or the part of it that the document has.
    """
    return report(
        fault.code,
        document,
        existing(document.data, fault.path) if path is None else path,
        fault.message,
        severity=severity,
        found=fault.found,
        expected=fault.expected,
        hint=fault.hint,
        related=related,
        stage=fault.stage,
        upstream=fault.upstream or None,
    )


def suggest(name: str, candidates: Iterable[str], most: int = MOST_NAMES, *, by_words: bool = False) -> str | None:
    """Return ``did you mean '...'?`` with the most similar candidate, or None if none is similar.

    For a name with an invisible character, the hint is to delete that. More candidates than ``most`` are not compared:
    where there are so many, as many names may be wrong. Names that differ in a word must be more similar: maxNodes may
    be numNodes, but schedulerName is not schedulingGates. ``by_words`` excludes them, for names that end alike but mean
    different things, such as mlx-distributed and flux-distributed. Only the candidates with the fewest other letters
    and pairs of neighbours are compared: a document may have tens of thousands of wrong names.
    """
    from difflib import SequenceMatcher
    from heapq import nsmallest

    names = sorted(islice(candidates, most + 1))
    if found := invisible(name):
        return f"delete the {found[0]} in the name"
    if len(names) > most or len(name) > 3 * max(map(len, names), default=0):
        return None  # too many, or none is similar, and long names are slow to compare
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    matcher = SequenceMatcher(b=name.lower())
    near, best, pairs, words = "", _NEAR, _PAIRS * max(most, MOST_NAMES), {*_words(name)}
    parts = _parts(name.lower())
    for text in nsmallest(_COMPARED, folded, key=lambda text: (parts ^ _parts(text)).bit_count()):
        candidate = folded[text]
        matcher.set_seq1(text)
        if matcher.real_quick_ratio() < best or matcher.quick_ratio() < best:
            continue
        pairs -= len(text) * len(name)
        if pairs < 0:
            break
        ratio = matcher.ratio()
        is_alike = not by_words and ratio >= (_ALIKE if words.isdisjoint(_words(candidate)) else _RELATED)
        if ratio >= best and (is_alike or has_similar_words(name, candidate)):
            near, best = max((best, near), (ratio, text))[1], ratio
    return f"did you mean '{folded[near]}'?" if near else None


def has_similar_words(name: str, other: str) -> bool:
    """Return whether each word of a name is similar to one of another name: of numNods to numNodes, not of maxNodes.

    Words with a digit, such as versions and sizes, may differ.
    """
    from difflib import get_close_matches

    others = _words(other)
    return all(get_close_matches(word, others, 1, _NEAR) for word in _words(name) if word.isalpha())


@lru_cache(maxsize=1024)
def _parts(text: str) -> int:
    """Return the letters of a text, and its pairs of neighbours, as bits of a number, which are quicker than sets."""
    parts, before = 0, 0
    for letter in map(ord, text):
        parts |= 1 << letter % 1021 | 1 << (31 * before + letter) % 1021
        before = letter
    return parts


def _words(name: str) -> list[str]:
    return [word.lower() for word in _BETWEEN_WORDS.split(name) if word]


def secrets_in_plain_text(
    document: Document, by_name: Callable[[Hidden], bool] = lambda _value: False, *, faithful: bool = False
) -> Iterator[Finding]:
    """Yield a finding for each value of a document that contains a secret; the secret is never shown.

    A value that is secret only by its name is included if ``by_name`` returns True. Documents of kind Secret are
    objects in the cluster and not checked.
    """
    if document.data.get("kind") == "Secret":
        return
    for path, values in hidden(document).items():
        name = get(document.data, *path[:-1], "name") if path[-1] == "value" else None
        step = path[-1] if isinstance(path[-1], str) or len(path) == 1 else path[-2]
        what = f"variable {name}" if isinstance(name, str) else str(step)
        text = f"{path[-1]}: {get(document.data, *path)}"
        if any(private_keys(text)):
            severity = Severity.WARNING if faithful else None
            yield report(PRIVATE_KEY, document, path, f"{what} contains a private key in plain text", severity=severity)
        elif any(tokens(text)) or any(map(by_name, values)):
            yield report(PLAIN_TEXT, document, path, f"{what} seems to contain a secret in plain text")
