"""Masks secrets in the messages, source lines and values of findings."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from msgspec import Struct

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, get, mapped
from trainc.basics.memo import keeping
from trainc.basics.regex import lazy
from trainc.findings.display import ELLIPSIS
from trainc.findings.secrets import (
    Hidden,
    by_path,
    hidden,
    is_secret,
    looks_secret,
    may_hold,
    secrets,
    shaped,
)
from trainc.findings.unread import AROUND, KIND_SECRET, Span, unread_parts
from trainc.inputs.source import NOTEBOOK, Document, Mark, Source

MASK = "***"
"""Replaces a hidden value."""

_NUMBER = lazy(r"(?<![\w.])[-+.]?[0-9][\w.+-]{2,}")
_MASKS = (MASK, f'"{MASK}"', f"'{MASK}'")
_WORD_CHAR = lazy(r"\w")
LEAST = 4
"""The fewest characters of a value that is searched for in texts; shorter ones would match by chance."""

_HEAD = 12
"""The number of first characters that identify a value, since messages truncate long ones."""

_UNSEEN = 100
"""More first characters than identify a secret, by its value or by its shape."""

_LONG = 40
"""The longest occurrence within which another one is searched for."""

_FEW = 64
"""The number of beginnings up to which a search for each is faster than a walk through the text."""

_ORDER = 1000
"""The most characters compared to find the nearest of several values."""

NEAR = 2000
"""The code points searched on each side of a mark: more than are shown, and than most secrets have."""

TEXT_WIDTH = 2 * NEAR
"""The most code points of a text of trainc that a finding has: a long text may be in many findings."""

_BELOW = 20
"""The lines below a mark of which a message may quote a part."""

_END = Mark(2**63, 1)
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"?|'(?:[^']|'')*'?"
_VALUE = rf"({_QUOTED}|[^\s,\]}}]+)"
_PAIR = lazy(rf"(?<![\w.-])([\"']?)([\w.-]+)\1\s*(?::\s+|(?<=[\"'])\s*:\s*|=)(?![\[{{|>&*!]){_VALUE}")
_NAME_VALUE = lazy(rf"[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)[\"']?\s*,\s*[\"']?value[\"']?\s*:\s*{_VALUE}")
_VALUE_NAME = lazy(
    rf"(?<![^\s,{{\[])[\"']?value[\"']?\s*:\s*({_QUOTED}|(?:[^\s,\]}}{{\[]|[{{\[](?![\"']?value))+)"
    r"(?<!\s)\s*+,\s*[\"']?name[\"']?\s*:\s*[\"']?([\w.-]+)"
)
"""In a flow mapping. A quote may not be closed: the value then ends before any comma that a name follows."""

_QUOTES = lazy(r"(['\"`])((?:(?!\1).){2,})\1")
_SECRET_DATA = lazy(r"[\"']?(?:data|stringData)[\"']?\s*:\s*\{([^}]*)")
_BEFORE_VALUE = lazy(r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')\s*:\s*|.*?:(?:\s+|\Z)")
_CLOSERS = frozenset(" \t\r,}]")
_INDICATORS = f"{AROUND}*&!%@`"
_LITERALS = frozenset(("true", "false", "null", "~"))


class Index(Struct, frozen=True):
    """The spellings of values to hide, sorted, by their first _HEAD characters.

    ``sizes`` are the lengths of these beginnings, the longest first, ``starts`` their first LEAST characters.
    """

    forms: Mapping[str, tuple[str, ...]]
    sizes: tuple[int, ...]
    starts: frozenset[str]


def known(document: Document) -> Index:
    """Return the spellings of a document's ``hidden`` values, without those that are too short."""
    return _index_of(hidden(document))


_index_of: Final = keeping(lambda values: index(value.text for found in values.values() for value in found))


def index(texts: Iterable[str]) -> Index:
    """Return the spellings of texts by their beginnings."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for form in _spellings(text):
            if len(form) >= LEAST:
                found.setdefault(form[:_HEAD], set()).add(form)
    forms = {head: tuple(sorted(spellings)) for head, spellings in found.items()}
    sizes = tuple(sorted({len(head) for head in forms}, reverse=True))
    return Index(forms, sizes, frozenset(head[:LEAST] for head in forms))


def redact(text: str, indexes: Iterable[Index]) -> str:
    """Return text with MASK instead of the values in indexes, also if they are truncated."""
    return _masked(text, _spans(text, indexes))


def _spans(text: str, indexes: Iterable[Index]) -> list[Span]:
    return merged((*shaped(text), *(span for spelt in indexes for span in occurrences(text, spelt))))


def _masked(text: str, spans: Iterable[Span]) -> str:
    """Return text with MASK instead of spans, which are in order and do not touch."""
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    return MASK.join((*parts, text[at:]))


def occurrences(text: str, spelt: Index) -> Iterator[tuple[int, int]]:
    """Yield the spans of values, or of the beginnings of long ones, in a text."""
    after = 0
    for at in _beginnings(text, spelt):
        if at < after:
            continue
        end = at
        for size in spelt.sizes:  # the longest first
            if (forms := spelt.forms.get(text[at : at + size])) and (end := _end(text, at, forms)) > at:
                break
        if end > at:
            yield at, end
        # Values may overlap; for long ones the search would take too long.
        after = end if end - at > _LONG else at + 1


def _beginnings(text: str, spelt: Index) -> Iterable[int]:
    """Return, in order, at least the offsets where values begin in a text."""
    if len(spelt.forms) > _FEW:
        return [at for at in range(len(text) - LEAST + 1) if text[at : at + LEAST] in spelt.starts]
    return sorted({at for head in spelt.forms for at in _all_of(head, text)})


def _all_of(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _end(text: str, at: int, forms: tuple[str, ...]) -> int:
    """Return the end of the longest occurrence at ``at`` of one of the forms, all of which begin as the text does."""
    # The form with the longest common prefix is one of the neighbours in sorted order.
    nearest = bisect_left(forms, text[at : at + _ORDER])
    form_end = max(_shared(text, at, form) for form in forms[max(nearest - 1, 0) : nearest + 1])
    short = form_end - at < 2 * LEAST
    alone = not (text[max(at - 1, 0) : at].isalnum() or text[form_end : form_end + 1].isalnum())
    return form_end if alone or not short else at


def _shared(text: str, at: int, form: str) -> int:
    if text.startswith(form, at):
        return at + len(form)
    end = at + min(len(form), _HEAD)
    while end < len(text) and text[end] == form[end - at]:
        end += 1
    return end


def _spellings(value: str) -> set[str]:
    """Return the spellings of a value in messages: plain, as JSON, as Python, in YAML's single quotes, by line."""
    forms = {value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], repr(value)[1:-1]}
    forms.add(value.replace("'", "''"))
    forms |= {json.dumps(form, ensure_ascii=False)[1:-1] for form in forms}  # JSON within JSON
    return forms | {line.strip() for line in value.split("\n") if len(line.strip()) >= LEAST}


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in order, with those joined that touch."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


@lru_cache(maxsize=64)
def _spans_in(text: str, documents: tuple[Document, ...]) -> tuple[Span, ...]:
    """Return the spans of secrets of documents, remembered: each finding on an object may quote all of it."""
    return (*_spans(text, map(known, documents)),)


@lru_cache(maxsize=16)
def _whole(text: str, documents: tuple[Document, ...], without_numbers: bool) -> str:
    """Return a long text without secrets of documents, remembered: each refused field may have the same one."""
    text = _masked(text, merged(_spans_in(text, documents)))
    return _NUMBER.sub(MASK, text) if without_numbers else text


def _beginning(text: str) -> str:
    """Return the beginning of a long text, without a word that may be a secret whose shape cannot be seen."""
    head = text[:TEXT_WIDTH]
    last = head.rpartition(" ")[2]
    return head.removesuffix(last) if may_hold(last.lower()) else head


# One string may have thousands of secrets, and as many findings.
_is_whole: Final = keeping(lambda values: any(value.whole for value in values))
_short_words: Final = keeping(lambda values: frozenset(each.text for each in values if len(each.text) < LEAST))


def _words_of(text: str, words: Set[str]) -> Iterator[Span]:
    """Yield the spans of short words in a text, where neither letters nor digits touch them."""
    for size in range(1, LEAST) if words else ():
        for at in range(len(text) - size + 1):
            word = text[at : at + size]
            if word in words and not (_WORD_CHAR.match(text, at - 1, at) or _WORD_CHAR.match(text, at + size)):
                yield at, at + size


class Redactor:
    """Hides the secrets of documents in the texts of a finding."""

    __slots__ = ("documents", "exact", "key", "own", "quotable", "short")

    def __init__(self, document: Document, path: Path, found: str | None, others: Iterable[Document]) -> None:
        values = hidden(document)
        above = (values.get(path[:end], ()) for end in range(len(path) + 1 if values else 0))
        own = values.get(path, ())
        self.documents = (document, *others)
        self.exact = is_secret(document.data, path) or any(map(_is_whole, above))
        self.key = str(path[-1]) if path else None
        self.own: Index | None = None
        self.short = _short_words(own)
        # Most values found are known to the documents, or masked already, perhaps in quotes.
        if (
            self.exact
            and found
            and found != self.key
            and _masked(found, _spans_in(found, self.documents)) not in _MASKS
        ):
            self.own = index((*(value.text for value in own), found))
            self.short |= {found}
        self.quotable: Sequence[str] = ()
        if not document.data:  # a message may quote what cannot be read
            mark = document.locate(path)
            self.quotable, self.own = _quotable(document.source, mark.line, (mark.column - 1) // NEAR)

    def text(self, text: str | None, *, whole: bool = False) -> str | None:
        """Return a text without secrets; at a secret also without long numbers, which may be its value in YAML.

        A long text is cut unless ``whole``.
        """
        if text is None:
            return text
        if len(text) > TEXT_WIDTH and not (whole or self.quotable):
            # The last characters may be the first of a secret, too few to find it by.
            shown = self.text(_beginning(text)) or ""
            return (shown if shown.endswith(MASK) else shown[:-_UNSEEN]) + ELLIPSIS
        if self.exact and text in _MASKS:
            return MASK
        if len(text) > TEXT_WIDTH and not (self.own or self.quotable):
            return _whole(text, self.documents, self.exact)  # short words of one field are words of others, too
        own = [*occurrences(text, self.own)] if self.own else []
        own += _words_of(text, self.short)
        quotes = _QUOTES.finditer(text) if self.quotable else ()
        words = (quote for quote in quotes if quote[2].strip(_INDICATORS))
        own += (word.span(2) for word in words if any(word[2] in each for each in self.quotable))
        text = _masked(text, merged((*_spans_in(text, self.documents), *own)))
        return _NUMBER.sub(MASK, text) if self.exact else text

    def value(self, found: str | None) -> str | None:
        """Return the found value without secrets."""
        return MASK if self.exact and found is not None and found != self.key else self.text(found)


def masked_path(path: Path) -> Path:
    """Return a path with MASK instead of secrets in its keys."""
    return tuple(redact(step, ()) if isinstance(step, str) else step for step in path)


def masked_value(data: JsonObject, path: Path) -> Json:
    """Return the value at path in data with MASK instead of strings and numbers that look secret."""

    def mask(at: Path, value: Json) -> Json:
        return MASK if value is not None and not isinstance(value, bool) and is_secret(data, at) else value

    return mapped(get(data, *path), mask, path)


def masked_object(data: JsonObject) -> JsonObject:
    """Return data with MASK instead of all secrets, also within texts; data itself if there are none."""
    values = by_path(secrets(data))

    def mask(at: Path, value: Json) -> Json:
        return masked_at(values[at], value) if at in values else value

    return as_object(mapped(data, mask)) if values else data


def masked_at(found: Sequence[Hidden], value: Json) -> Json:
    """Return the value at a path with MASK instead of the secrets that were found there."""
    if any(each.whole for each in found):
        return MASK
    return masking(frozenset(each.text for each in found))(value) if isinstance(value, str) else value


_LONGEST: Final = 1000
"""The most characters of a text that is looked up at each position; longer ones are replaced one by one."""


@lru_cache(maxsize=4)
def masking(texts: frozenset[str]) -> Callable[[str], str]:
    """Return a function that masks any of the texts, none of which is empty, in a value.

    RE2 would be faster, but may take hours for texts that begin alike, in a call that Python cannot interrupt.
    """
    # Longest first: one secret may begin as another does.
    forms = sorted(texts, key=lambda form: (-len(form), form))
    long = [form for form in forms if len(form) > _LONGEST]
    least = len(forms[-1]) if forms else 0
    sizes: dict[str, list[int]] = {}
    for form in forms[len(long) :]:
        known = sizes.setdefault(form[:least], [])
        if known[-1:] != [len(form)]:
            known.append(len(form))

    def without(value: str) -> str:
        for form in long:
            value = value.replace(form, MASK)
        parts, begin, at = [], 0, 0
        while sizes and at < len(value):
            for size in sizes.get(value[at : at + least], ()):
                if value[at : at + size] in texts:
                    parts.append(value[begin:at])
                    begin = at = at + size
                    break
            else:
                at += 1
        return MASK.join((*parts, value[begin:]))

    return without


def masked_line(document: Document, lines: Sequence[str], mark: Mark) -> tuple[str, int]:
    """Return the line of a mark with MASK instead of secrets, and the column of the mark in it.

    Of a very long line it is the part near the mark: the rest is not searched, and would be shown behind a long secret.
    """
    line = lines[mark.line - 1] if 0 < mark.line <= len(lines) else ""
    at = max(mark.column - 1, 0)
    first, last = max(at - NEAR, 0), at + NEAR
    near = line[first:last]
    unread = () if document.data else _unread_in(document.source)
    spelt, regions = known(document), _regions(document)
    spans = _in_part(line, mark.line, (first, last), spelt=spelt, regions=regions, unread=unread)
    at -= first
    column = at
    for start, end in reversed(spans):
        near = near[:start] + MASK + near[end:]
        if end <= at:
            column += len(MASK) - (end - start)
        elif start < at:
            column = start
    before, after = (ELLIPSIS * is_cut for is_cut in (first > 0, last < len(line)))
    return before + near + after, len(before) + column + 1


def masked_lines(documents: Iterable[Document], lines: Sequence[str]) -> list[str]:
    """Return the lines of the source of some documents with MASK instead of secrets."""
    found = []
    each = tuple(documents)
    spelt = index(value.text for document in each for values in hidden(document).values() for value in values)
    regions = _regions_of(each)
    breaks = [number for number, line in enumerate(lines, 1) if line.startswith("---")]
    parts = [(bisect_right(breaks, one.locate(()).line), bool(one.data)) for one in each]
    readable = {part for part, is_read in parts if is_read} - {part for part, is_read in parts if not is_read}
    unread = unread_parts(lines)
    for number, line in enumerate(lines, 1):
        is_unread = bisect_right(breaks, number) not in readable
        spans = _in_part(line, number, (0, len(line)), spelt=spelt, regions=regions, unread=unread if is_unread else ())
        found.append(_masked(line, spans))
    return found


def _in_part(
    line: str, number: int, part: Span, *, spelt: Index, regions: _Regions, unread: Sequence[Span | None]
) -> list[Span]:
    """Return the spans of secrets in a part of a line, relative to the part.

    ``spelt``, ``regions`` and ``unread`` are those of the line's documents.
    """
    first, last = part
    near = line[first:last]
    spans = [*_secret_by_itself(near), *occurrences(near, spelt)]
    for start, end in (*_by_regions(regions, line, number, part), *_in_unread(unread, line, number, part)):
        if start < last and end > first:
            spans.append((max(start - first, 0), min(end, last) - first))
    return merged(spans)


@lru_cache(maxsize=16)  # a line may have many findings
def _quotable(source: Source, number: int, part: int) -> tuple[Sequence[str], Index]:
    """Return what is hidden near a part of a line, and on the lines below, of which messages may quote a part.

    The parts of a line have NEAR code points each.
    """
    lines, unread = lines_of(source), _unread_in(source)
    near = max(part - 1, 0) * NEAR, (part + 2) * NEAR
    on_line = ((line, near, _in_unread(unread, line, number, near)) for line in lines[number - 1 : number])
    spans = zip(lines[number : number + _BELOW], unread[number : number + _BELOW], strict=True)
    below = ((line, (0, NEAR), [span]) for line, span in spans if span is not None)
    texts = [
        line[max(start, first) : min(end, last)].strip(_INDICATORS)
        for line, (first, last), spans in (*on_line, *below)
        for start, end in spans
    ]
    return texts, index(texts)


@lru_cache(maxsize=4)
def lines_of(source: Source) -> Sequence[str]:
    """Return the lines of a source, as marks count them."""
    return [line.removesuffix("\r") for line in source.decoded().removeprefix("\ufeff").split("\n")]


_Regions = Sequence[tuple[Mark, Mark, bool]]
"""Begin and end of each, in order, and whether it begins at a key."""


def _regions_of(documents: Iterable[Document]) -> _Regions:
    """Return the regions of the documents of a source; the last one of each ends where the next document begins."""
    regions: list[tuple[Mark, Mark, bool]] = []
    after = _END
    for document in sorted(documents, key=lambda each: each.locate(()), reverse=True):
        regions += _regions(document, after)
        after = document.locate(())
    return sorted(regions)


def _between(lines: Sequence[str], start: Mark, end: Mark) -> str:
    """Return the text between two marks; the second may be below the last line."""
    part = lines[start.line - 1 : end.line]
    text = "\n".join(part)
    behind = len(part[-1]) - end.column + 1 if end.line <= len(lines) else 0
    return text[start.column - 1 : len(text) - behind]


@lru_cache(maxsize=64)
def _regions(document: Document, after: Mark = _END) -> _Regions:
    """Return, in order, the regions of secrets that are whole values, or that the source has folded or with escapes.

    A region begins at the key of a secret, or at the item of a list, and ends at the next key or item, or where the
    next document begins: ``after``.
    """
    found = hidden(document)
    if not found:
        return ()
    lines = lines_of(document.source)
    ordered = sorted(((mark, path) for path, mark in document.marks().items() if path), key=itemgetter(0))
    regions = []
    for mark, group in groupby(ordered, key=itemgetter(0)):  # all that << merges has its mark
        paths = [path for _, path in group if path in found]
        if paths:
            behind = range(bisect_right(ordered, mark, key=itemgetter(0)), len(ordered))
            end = max(
                next((to for to, at in map(ordered.__getitem__, behind) if at[: len(path)] != path), _END)
                for path in paths
            )
            end = min(end, after) if mark < after else end
            values = [each for path in paths for each in found[path]]
            # A value that is not verbatim there is folded, or has escapes.
            is_hidden = any(each.whole for each in values)
            if is_hidden or not _has_all(_between(lines, mark, end), (each.text for each in values)):
                regions.append((mark, end, isinstance(paths[0][-1], str)))
    return tuple(regions)


def _has_all(part: str, texts: Iterable[str]) -> bool:
    """Return whether a text has each line of other texts, most of which follow each other in it."""
    at = 0
    for line in (line.strip() for text in texts for line in text.split("\n")):
        if (at := part.find(line, at)) < 0 and (at := part.find(line)) < 0:
            return False
    return True


def _by_regions(regions: _Regions, line: str, number: int, near: Span) -> Iterator[Span]:
    """Yield the spans of secrets on a part of a line, by the regions of its documents."""
    at = bisect_right(regions, Mark(number, near[1] + 1), key=itemgetter(0)) - 1
    while at >= 0 and regions[at][1] > Mark(number, near[0] + 1):
        begin, end, keyed = regions[at]
        at -= 1
        first = begin.column - 1 if begin.line == number else 0
        last = end.column - 1 if end.line == number else len(line)
        if begin.line == number and keyed and (key := _BEFORE_VALUE.match(line, first, last)):
            first = key.end()
        while last > first and line[last - 1] in _CLOSERS:
            last -= 1
        if line[first:last].strip(" \t-"):  # else the dash of the next item
            yield first, last


def _secret_by_itself(line: str) -> Iterator[Span]:
    """Yield the spans of secrets in a line, independent of its document, which may be unreadable."""
    yield from shaped(line)
    for match in _PAIR.finditer(line):
        if looks_secret(match[2]) and match[3].lower() not in _LITERALS:
            yield match.span(3)
    for match in _NAME_VALUE.finditer(line):
        if looks_secret(match[1]):
            yield match.span(2)
    for match in _VALUE_NAME.finditer(line):
        if looks_secret(match[2]):
            yield match.span(1)
    if KIND_SECRET.search(line):
        yield from (match.span(1) for match in _SECRET_DATA.finditer(line) if match[1].strip())


def _in_unread(unread: Sequence[Span | None], line: str, number: int, near: Span) -> Sequence[Span]:
    """Return the spans that touch a part of a line: what ``unread`` hides, and the secrets in the line's text."""
    if not 0 < number <= len(unread):
        return ()
    spans = _in_unread_line(line, unread[number - 1])
    return spans[bisect_left(spans, near[0], key=itemgetter(1)) : bisect_right(spans, near[1], key=itemgetter(0))]


@lru_cache(maxsize=16)  # a line may have many findings
def _in_unread_line(line: str, behind_name: Span | None) -> Sequence[Span]:
    in_text = occurrences(line, index(value.text for value in secrets({"text": line}, shaped=False)))
    return merged((*in_text, *filter(None, [behind_name])))


@lru_cache(maxsize=4)
def _unread_in(source: Source) -> Sequence[Span | None]:
    has_names = not source.name.endswith(".lock")  # packages of an image, such as passwd, with their versions
    is_yaml = not source.name.endswith((".py", NOTEBOOK))
    return unread_parts(lines_of(source), is_yaml=is_yaml, has_names=has_names)
