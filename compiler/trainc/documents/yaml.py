"""One YAML text to plain JSON, as kubectl decodes it: go.yaml.in/yaml v2, then sigs.k8s.io/yaml.

libyaml produces the events, since go-yaml is a port of it; scalars, keys, merges, tags and aliases are decided here.
The rules are those of go-yaml v2.4.3 and were run against it. The same reader finds the positions of keys and items, in
a second run when a finding needs them: keeping them for 10,000 files would cost memory.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Final, NoReturn

import msgspec
from _ruamel_yaml import (  # type: ignore[import-not-found]  # a C extension without types
    AliasEvent,
    DocumentEndEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from trainc.basics.jsonvalues import Json, JsonObject, Path, copied
from trainc.basics.memo import Remembered
from trainc.basics.regex import lazy
from trainc.documents import scalars
from trainc.documents.libyaml import ERRORS, conflict, is_bare, open_events, syntax_error, with_masks
from trainc.documents.problems import (
    CONVERTING,
    FEWER_ALIASES,
    MAX_ALIASED,
    MAX_DEPTH,
    MAX_REPEATED,
    REPEATED,
    TOO_DEEP,
    Problem,
    Refused,
    duplicate_key,
    measure,
    repeats_too_much,
    too_many_aliases,
)
from trainc.findings.display import ODD_EDGE
from trainc.kube.fielderror import quote
from trainc.kube.fieldorder import DATA_MAPS
from trainc.kube.gojson import go_number

_SCALAR_TAGS = {scalars.TAG_PREFIX + name: name for name in ("str", "int", "float", "bool", "null")}
_COLLECTION_TAGS = frozenset((None, scalars.TAG_PREFIX + "map", scalars.TAG_PREFIX + "seq"))
_MERGE_TAG = scalars.TAG_PREFIX + "merge"
_COLON = lazy(r"\s*:")
"""What ends a key that has a value, even an empty one."""
_WANT_MAP = "map merge requires map or sequence of maps as the value"


def _plain(text: str) -> Json:
    reading = scalars.kubernetes(text)
    return reading.value if reading.finite and reading.agrees else _UNUSUAL


MORE: Final = "kubectl ignores everything from this line on"
"""The message of a problem for text after the end of a document."""
_UNUSUAL: Final[Any] = object()
_PLAIN: Final = Remembered(_plain, 4096)
"""The values of plain scalars, _UNUSUAL for those that are a problem."""

_KEY: Final[Remembered[str, str]] = Remembered(lambda text: text if text != "<<" and _PLAIN[text] == text else "", 4096)
"""The key that a plain scalar is for every reader of YAML, one object for equal keys; empty for other scalars."""


class _Anchor(msgspec.Struct, frozen=True, eq=False):
    value: Json
    nodes: int


def read_yaml(text: str) -> tuple[Json, list[Problem]]:
    """Read the one document of a text, and return its value and problems. A text without a document is null.

    Raises Refused (TC001, TC002, TC004, TC012) if the document cannot be read at all.
    """

    def read(masked: str, masks: str) -> tuple[Json, list[Problem]]:
        reader = _Reader(masked, masks, None)
        return reader.document(), reader.problems

    result = with_masks(text, read)
    if refused := conflict(text):
        raise refused
    return result


def offsets(text: str) -> dict[Path, int]:
    """Map each path in text to the code point where its key, or list item, starts; as far as text can be read."""
    found: dict[Path, int] = {}
    with suppress(Refused):
        with_masks(text, lambda masked, masks: _Reader(masked, masks, found).document())
    return found


class _Reader:
    """Reads one document; ``path`` leads to the value that is being read."""

    __slots__ = (
        "aliased",
        "anchors",
        "has_tags",
        "next",
        "nodes",
        "offsets",
        "path",
        "problems",
        "text",
        "unusable",
        "weight",
    )

    def __init__(self, text: str, masks: str, found: dict[Path, int] | None) -> None:
        self.text = text
        self.has_tags = "!" in text
        self.next = open_events(text, masks)
        self.path: list[str | int] = []
        self.problems: list[Problem] = []
        self.anchors: dict[str, _Anchor] = {}
        self.nodes = 1  # decode calls, as go-yaml counts them for its alias rule
        self.aliased = 0  # those that aliases repeat
        self.weight = 0  # characters that aliases repeat
        self.unusable = 0  # the keys around that JSON cannot have
        self.offsets = found

    def document(self) -> Json:
        self.next()
        if type(self.next()) is StreamEndEvent:
            return None
        event = self.next()
        if self.offsets is not None:
            self.offsets[()] = event.start_mark.index
        try:
            value = self.value(event)
        except Refused as refusal:
            # go-yaml parses to the end before it decodes, so a syntax error comes first.
            if refusal.problem.code != "TC012" and not refusal.problem.message.startswith("unknown anchor"):
                self.drain()
            raise
        self.next()
        self.end()
        if repeats_too_much(self.aliased, self.nodes):
            message = f"aliases repeat more than {MAX_REPEATED:,} keys and items, and {REPEATED} times the others"
            self.refuse(event, "TC012", message, hint=FEWER_ALIASES)
        return value

    def drain(self) -> None:
        anchors: set[str | None] = set(self.anchors)
        depth = 0
        while type(event := self.next()) is not DocumentEndEvent:
            kind = type(event)
            depth += (kind in (MappingStartEvent, SequenceStartEvent)) - (kind in (MappingEndEvent, SequenceEndEvent))
            if depth > MAX_DEPTH:
                self.refuse(event, "TC012", TOO_DEEP)
            anchor = getattr(event, "anchor", None)
            if kind is not AliasEvent:
                anchors.add(anchor)
            elif anchor not in anchors:
                self.unknown_anchor(event)

    def end(self) -> None:
        """Make sure that nothing follows: kubectl would drop it silently."""
        hint = "put a line --- between documents"
        try:
            event = self.next()
        except ERRORS as error:
            offset = syntax_error(error, self.text).offset
            raise Refused(Problem("TC002", (), MORE, hint=hint), offset) from None
        if type(event) is not StreamEndEvent:
            self.refuse(event, "TC002", MORE, hint=hint)

    def value(self, event: Any) -> Json:
        self.nodes += 1
        kind = type(event)
        if kind is ScalarEvent:
            text = event.value
            is_plain = event.anchor is None and event.implicit[0] and text and text[0] not in scalars.HINTS
            if is_plain and text.isascii():
                return text  # type: ignore[no-any-return]
            value = self.scalar(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = _Anchor(value, 1)
            return value
        if kind is AliasEvent:
            return self.finite(self.alias(event))  # an anchor of a key may be infinite
        if len(self.path) >= MAX_DEPTH:
            self.refuse(event, "TC012", TOO_DEEP)
        if event.tag not in _COLLECTION_TAGS:
            self.tag(event.tag)
        if event.anchor is None:
            return self.mapping() if kind is MappingStartEvent else self.sequence()
        # Compared by identity: a later anchor of the same name inside takes precedence.
        marker = self.anchors[event.anchor] = _Anchor(None, 0)
        before = self.nodes
        value = self.mapping() if kind is MappingStartEvent else self.sequence()
        if self.anchors[event.anchor] is marker:
            self.anchors[event.anchor] = _Anchor(value, 1 + self.nodes - before)
        return value

    def scalar(self, event: Any) -> Json:
        text: str = event.value
        if not event.implicit[0]:
            return text if event.tag is None else self.finite(scalars.to_json(self.tagged(event)))
        if not text.isascii() and (odd := ODD_EDGE.search(text)):
            message = f"this U+{ord(odd[0]):04X} is a part of the text, and a # after it starts no comment"
            hint = "replace the character with a space, or write the text in double quotes"
            self.problems.append(Problem("TC005", tuple(self.path), message, found=text, hint=hint, fatal=False))
        if (text and text[0] not in scalars.HINTS) or (self.has_tags and is_bare(event, self.text)):
            return text
        value = _PLAIN[text]
        return value if value is not _UNUSUAL else self.unusual(text)

    def unusual(self, text: str) -> Json:
        """Return the value of a plain scalar that JSON lacks, or that YAML readers interpret differently."""
        reading = scalars.kubernetes(text)
        if not reading.finite:
            return self.finite(reading.raw)
        self.problems.append(scalars.ambiguous(tuple(self.path), text, reading))
        return reading.value

    def finite(self, value: Json) -> Json:
        """Return a value; for an infinite number or NaN, which only keys may be, report a problem and return null."""
        if not isinstance(value, float) or math.isfinite(value):
            return value
        upstream = f"json: unsupported value: {go_number(value)}"
        self.problem("TC004", f"JSON cannot represent {scalars.key_text(value)}", upstream)
        return None

    def tagged(self, event: Any) -> scalars.Scalar:
        name = _SCALAR_TAGS.get(event.tag)
        if name is None:
            self.tag(event.tag)
            return str(event.value)
        try:
            return scalars.resolve_tagged(name, event.value)
        except ValueError as error:
            self.refuse(event, "TC004", f"the text does not fit its tag !!{name}", f"yaml: {error}")

    def tag(self, tag: str) -> None:
        shown = tag.replace(scalars.TAG_PREFIX, "!!", 1)
        self.problem("TC004", f"JSON cannot represent the tag {shown}: it would be lost")

    def alias(self, event: Any) -> Json:
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            self.unknown_anchor(event)
        if anchor.nodes == 0:
            text = f"anchor '{event.anchor}' value contains itself"
            self.refuse(event, "TC004", f"the value of anchor '{event.anchor}' contains itself", f"yaml: {text}")
        weight, height = measure(anchor.value)  # not at the anchor, of which others may be inside
        self.nodes += anchor.nodes
        self.aliased += anchor.nodes
        self.weight += weight
        if too_many_aliases(self.aliased, self.nodes):
            text = "yaml: document contains excessive aliasing"
            self.refuse(event, "TC012", "aliases expand to too large a document", text, FEWER_ALIASES)
        if self.weight > MAX_ALIASED:
            message = f"aliases repeat more than {MAX_ALIASED} characters"
            self.refuse(event, "TC012", message, hint=FEWER_ALIASES)
        if len(self.path) + height > MAX_DEPTH:
            self.refuse(event, "TC012", TOO_DEEP)
        return copied(anchor.value)

    def unknown_anchor(self, event: Any) -> NoReturn:
        text = f"unknown anchor '{event.anchor}' referenced"
        self.refuse(event, "TC002", text, f"yaml: {text}", "quote a text that starts with *")

    def sequence(self) -> list[Json]:
        out: list[Json] = []
        path, found, read = self.path, self.offsets, self.next
        path.append(0)
        while type(event := read()) is not SequenceEndEvent:
            path[-1] = len(out)
            if found is not None:
                found[tuple(path)] = event.start_mark.index
            out.append(self.value(event))
        path.pop()
        return out

    def mapping(self) -> JsonObject:
        out: JsonObject = {}
        merged: set[str] = set()
        raw_keys: dict[str, scalars.Scalar] = {}
        path, found, read = self.path, self.offsets, self.next
        raw: scalars.Scalar
        path.append("")
        while type(event := read()) is not MappingEndEvent:
            if type(event) is ScalarEvent and event.implicit[0] and (plain := _KEY[event.value]):
                key = raw = plain
                if event.anchor is not None:
                    self.anchors[event.anchor] = _Anchor(key, 1)
            elif type(event) is ScalarEvent and _is_merge(event):
                self.merge(out, merged, event)
                continue
            else:
                key, raw = self.key(event)
            self.nodes += 1
            path[-1] = key
            if found is not None:
                found[tuple(path)] = event.start_mark.index
            of_key, event = event, read()
            if key in out:
                self.repeated(key, raw_keys.get(key, key), raw, merged, event)
            value = out[key] = self.value(event)
            if value is None:
                self.check_empty(key, of_key, event)
            if raw is not key:
                raw_keys[key] = raw
                self.check_key(raw, value)
        path.pop()
        return out

    def check_empty(self, key: str, of_key: Any, event: Any) -> None:
        """Report a key without a value that a cluster drops, such as one of a nodeSelector, or ``cpu:2`` in braces.

        A cluster drops it from the spec of a TrainJob or runtime. In metadata and ConfigMaps, it is an empty text, and
        in a patch of trainc.yaml, it removes the key.
        """
        message = "this key has no value, so a cluster may drop it"
        in_spec = self.path[0] == "spec" and not DATA_MAPS.isdisjoint(self.path[-2:-1])
        is_data = not {"data", "stringData"}.isdisjoint(self.path[:3])  # the key may hold a secret, also in a List
        if ":" in key and not is_data and not _COLON.match(self.text, of_key.end_mark.index):
            message += ": a colon needs a space after it"
            hint = "write a space after the colon, or null after the key if it has no value"
        elif in_spec and type(event) is ScalarEvent and not event.value:
            hint = 'write its value ("" for an empty text), or null to leave the key out'
        else:
            return
        self.problems.append(Problem("TC005", tuple(self.path), message, hint=hint, fatal=False))

    def repeated(self, key: str, first: scalars.Scalar, raw: scalars.Scalar, merged: set[str], event: Any) -> None:
        """Report a duplicate key, unless it overrides a merged one."""
        if key in merged:
            merged.discard(key)
            return
        upstream = None
        if type(first) is type(raw) and first == raw:
            shown = go_number(raw) if isinstance(raw, float) else _go_syntax(raw)
            line = event.start_mark.line + 1
            upstream = f"{CONVERTING}yaml: unmarshal errors:\n  line {line}: key {shown} already set in map"
        self.problems.append(duplicate_key(tuple(self.path), upstream))

    def key(self, event: Any) -> tuple[str, scalars.Scalar]:
        """Read a key that is not a plain word: return the key in JSON, and its value in YAML."""
        if type(event) is AliasEvent:
            value = self.alias(event)
            if isinstance(value, dict | list):
                self.refuse_key(event, value)
            raw: scalars.Scalar = value
        elif type(event) is not ScalarEvent:
            self.refuse_key(event, self.value(event))
        else:
            text = event.value
            if event.implicit[0]:
                raw = text if is_bare(event, self.text) else scalars.kubernetes(text).raw
            else:
                raw = text if event.tag is None else self.tagged(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = _Anchor(scalars.to_json(raw), 1)
        try:
            key = scalars.key_text(raw)
        except ValueError:
            key = str(raw)  # check_key reports it
            self.unusable += 1
        if type(event) is ScalarEvent and event.implicit[0] and not is_bare(event, self.text):
            self.check_ambiguity(event.value, key)
        return key, raw

    def check_key(self, raw: scalars.Scalar, value: Json) -> None:
        try:
            scalars.key_text(raw)
        except ValueError as error:
            message = (
                "JSON does not allow null as a key"
                if raw is None
                else f"Kubernetes does not accept the number {raw} as a key"
            )
            spelling = "<nil>" if raw is None else f"{raw:#x}"
            self.unusable -= 1
            shown = None if self.unusable else "<nil>" if value is None else _go_syntax(value)  # Go names the outer
            upstream = f"unsupported map key of type: {error}, key: {spelling}, value: {shown}"
            self.problem("TC004", message, None if shown is None else upstream)

    def check_ambiguity(self, text: str, key: str) -> None:
        try:
            other = scalars.key_text(scalars.core(text))
        except ValueError:
            return
        if other != key:
            path = (*self.path[:-1], key)
            self.problems.append(scalars.ambiguous(path, text, scalars.kubernetes(text), key=key))

    def refuse_key(self, event: Any, value: Json) -> NoReturn:
        shown = _go_syntax(value)
        upstream = None if shown is None else f"yaml: invalid map key: {shown}"
        hint = "quote a text that starts with { or [, such as a template's {{ }}"
        self.refuse(event, "TC004", "JSON does not allow a list or mapping as a key", upstream, hint)

    def merge(self, out: JsonObject, merged: set[str], event: Any) -> None:
        """Read the value of ``<<``. In Go, unlike other readers, a merged key replaces one before ``<<``."""
        self.path.pop()  # the keys belong to the mapping around
        start = self.next()
        if type(start) is SequenceStartEvent:
            self.nodes += 1
            parts: list[JsonObject] = []
            while type(item := self.next()) is not SequenceEndEvent:
                parts.append(self.merge_part(item))
            parts.reverse()  # earlier ones take precedence
        else:
            parts = [self.merge_part(start)]
        self.path.append("<<")
        for part in parts:
            for key, value in part.items():
                if key in out and key not in merged and out[key] != value:
                    self.path[-1] = key
                    message = f'in Kubernetes, the merged "{key}" replaces the one before <<; in YAML 1.2 it does not'
                    hint = f'remove "{key}" here, or write << before it'
                    self.problems.append(Problem("TC005", tuple(self.path), message, hint=hint, fatal=False))
                out[key] = value
                merged.add(key)
                if self.offsets is not None:
                    self.offsets[(*self.path[:-1], key)] = event.start_mark.index

    def merge_part(self, event: Any) -> JsonObject:
        value = self.value(event) if type(event) in (MappingStartEvent, AliasEvent) else None
        if not isinstance(value, dict):
            self.refuse(event, "TC002", "<< merges mappings only", f"yaml: {_WANT_MAP}")
        return value

    def refuse(
        self, event: Any, code: str, message: str, upstream: str | None = None, hint: str | None = None
    ) -> NoReturn:
        full = None if upstream is None else CONVERTING + upstream
        raise Refused(Problem(code, tuple(self.path), message, hint=hint, upstream=full), event.start_mark.index)

    def problem(self, code: str, message: str, upstream: str | None = None) -> None:
        full = None if upstream is None else CONVERTING + upstream
        self.problems.append(Problem(code, tuple(self.path), message, upstream=full))


def _is_merge(event: Any) -> bool:
    return bool(event.value == "<<" and (event.implicit[0] or event.tag == _MERGE_TAG))


def _go_syntax(value: Json) -> str | None:
    """Return a value as Go's ``%#v`` prints what go-yaml decodes; None if that is unknown."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        items = [_go_syntax(item) for item in value]
        return None if None in items else f"[]interface {{}}{{{', '.join(map(str, items))}}}"
    if isinstance(value, dict) and all(scalars.resolve(key)[0] == scalars.STR for key in value):
        fields = [(_go_syntax(key), _go_syntax(value[key])) for key in sorted(value)]
        if all(None not in field for field in fields):
            return f"map[interface {{}}]interface {{}}{{{', '.join(f'{key}:{item}' for key, item in fields)}}}"
    return None
