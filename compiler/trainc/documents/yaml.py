"""One YAML text to plain JSON, as kubectl decodes it: go.yaml.in/yaml v2, then sigs.k8s.io/yaml.

libyaml (through ruamel.yaml.clib) makes the events, since go-yaml is a port of it; scalars, keys, merges, tags
and aliases are decided here. The rules are those of go-yaml v2.4.3 and were run against it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, NoReturn

from trainc.documents import scalars
from trainc.documents.libyaml import errors, is_bare, kinds, open_events, syntax_error, with_masks
from trainc.documents.problems import (
    CONVERTING,
    MAX_ALIASED,
    MAX_DEPTH,
    Problem,
    Refused,
    ambiguous,
    go_syntax,
    measure,
)
from trainc.documents.yamlread import YamlText
from trainc.records import NamedTuple
from trainc.source import Json, JsonObject, Path, copied

_SCALAR_TAGS = {scalars.TAG_PREFIX + name: name for name in ("str", "int", "float", "bool", "null")}
_COLLECTION_TAGS = frozenset((None, scalars.TAG_PREFIX + "map", scalars.TAG_PREFIX + "seq"))
_MERGE_TAG = scalars.TAG_PREFIX + "merge"
_WANT_MAP = "map merge requires map or sequence of maps as the value"
_HINTS = scalars.HINTS
_KEY_HINTS = scalars.HINTS | {"<"}


class _Anchor(NamedTuple):
    value: Json
    nodes: int
    weight: int
    height: int


_OPEN = _Anchor(None, 0, 0, 0)


def read_events(text: str) -> YamlText:
    """Read a text as read_yaml does, whatever it is: the events of libyaml's parser are made of all of it."""
    result: YamlText = with_masks(text, _read)
    return result


def _read(text: str, masks: str) -> YamlText:
    reader = _Reader(text, masks, None)
    return YamlText(reader.document(), reader.problems)


def yaml_offsets(text: str) -> dict[Path, int]:
    """Map each path in text to the code point where its key, or list item, starts; as far as text can be read."""
    offsets: dict[Path, int] = {}
    with suppress(Refused):
        with_masks(text, lambda masked, masks: _Reader(masked, masks, offsets).document())
    return offsets


class _Reader:
    """Reads one document; ``path`` is where it stands."""

    __slots__ = ("aliased", "anchors", "kinds", "next", "nodes", "offsets", "path", "problems", "text", "weight")

    def __init__(self, text: str, masks: str, offsets: dict[Path, int] | None) -> None:
        self.text = text
        self.kinds = kinds()
        self.next = open_events(text, masks)
        self.path: list[str | int] = []
        self.problems: list[Problem] = []
        self.anchors: dict[str, _Anchor] = {}
        self.nodes = 1  # decode calls, as go-yaml counts them for its alias rule
        self.aliased = 0  # those of them that aliases repeat
        self.weight = 0  # characters that aliases repeat
        self.offsets = offsets

    def document(self) -> Json:
        self.next()
        if type(self.next()) is self.kinds.StreamEndEvent:
            return None
        event = self.next()
        if self.offsets is not None:
            self.offsets[()] = event.start_mark.index
        try:
            value = self.value(event)
        except Refused as refusal:
            # go-yaml parses to the end before it decodes, so an error of syntax comes first.
            if refusal.problem.code != "TC012" and not refusal.problem.message.startswith("unknown anchor"):
                self.drain()
            raise
        self.next()
        self.end()
        return value

    def drain(self) -> None:
        anchors: set[str | None] = set(self.anchors)
        while type(event := self.next()) is not self.kinds.DocumentEndEvent:
            anchor = getattr(event, "anchor", None)
            if type(event) is not self.kinds.AliasEvent:
                anchors.add(anchor)
            elif anchor not in anchors:
                self.unknown_anchor(event)

    def end(self) -> None:
        """Make sure that nothing follows: kubectl would drop it without a word."""
        message = "kubectl reads only what stands before this line"
        hint = "put a line --- between documents"
        try:
            event = self.next()
        except errors() as error:
            offset = syntax_error(error, self.text).offset
            raise Refused(Problem("TC002", (), message, hint=hint), offset) from None
        if type(event) is not self.kinds.StreamEndEvent:
            self.refuse(event, "TC002", message, hint=hint)

    def refuse(
        self, event: Any, code: str, message: str, upstream: str | None = None, hint: str | None = None
    ) -> NoReturn:
        full = None if upstream is None else CONVERTING + upstream
        raise Refused(Problem(code, tuple(self.path), message, hint=hint, upstream=full), event.start_mark.index)

    def problem(self, code: str, message: str, *, upstream: str | None = None, fatal: bool = True) -> None:
        full = None if upstream is None else CONVERTING + upstream
        self.problems.append(Problem(code, tuple(self.path), message, upstream=full, fatal=fatal))

    def value(self, event: Any) -> Json:
        kinds = self.kinds
        kind = type(event)
        self.nodes += 1
        if kind is kinds.ScalarEvent:
            value = self.scalar(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = _Anchor(value, 1, *measure(value))
            return value
        if kind is kinds.AliasEvent:
            return self.alias(event)
        if len(self.path) >= MAX_DEPTH:
            self.refuse(event, "TC012", f"more than {MAX_DEPTH} collections inside each other")
        if event.tag not in _COLLECTION_TAGS:
            self.tag(event.tag)
        if event.anchor is None:
            return self.mapping() if kind is kinds.MappingStartEvent else self.sequence()
        return self.anchored(event.anchor, kind is kinds.MappingStartEvent)

    def anchored(self, name: str, is_mapping: bool) -> Json:
        # A marker of its own: an anchor of the same name inside wins over this one, as it stands later.
        marker = self.anchors[name] = _Anchor(*_OPEN)
        before = self.nodes
        value = self.mapping() if is_mapping else self.sequence()
        if self.anchors[name] is marker:
            self.anchors[name] = _Anchor(value, 1 + self.nodes - before, *measure(value))
        return value

    def scalar(self, event: Any) -> Json:
        text: str = event.value
        if event.implicit[0]:
            if (text and text[0] not in _HINTS) or is_bare(event, self.text):
                return text
            reading = scalars.kubernetes(text)
            if not reading.finite:
                name = "NaN" if text.lower() == ".nan" else "-Inf" if text[0] == "-" else "+Inf"
                self.problem("TC004", f"JSON has no number {text}", upstream=f"json: unsupported value: {name}")
                return None
            if reading.other is not None:
                self.problems.append(ambiguous(tuple(self.path), text, reading))
            return reading.value
        if event.tag is None:
            return text
        return scalars.to_json(self.tagged(event))

    def tagged(self, event: Any) -> scalars.Scalar:
        name = _SCALAR_TAGS.get(event.tag)
        if name is None:
            self.tag(event.tag)
            return str(event.value)
        try:
            value = scalars.resolve_tagged(name, event.value)
        except ValueError as error:
            self.refuse(event, "TC004", f"the text does not fit its tag !!{name}", f"yaml: {error}")
        if isinstance(value, float) and not math.isfinite(value):
            self.problem("TC004", f"JSON has no number {event.value}")
            return None
        return value

    def tag(self, tag: str) -> None:
        shown = tag.replace(scalars.TAG_PREFIX, "!!", 1)
        self.problem("TC004", f"JSON has nothing for the tag {shown}, so it would be lost on the way to the cluster")

    def unknown_anchor(self, event: Any) -> NoReturn:
        text = f"unknown anchor '{event.anchor}' referenced"
        self.refuse(event, "TC002", text, f"yaml: {text}", "quote a text that starts with *")

    def alias(self, event: Any) -> Json:
        anchor = self.anchors.get(event.anchor)
        if anchor is None:
            self.unknown_anchor(event)
        if anchor.nodes == 0:
            text = f"anchor '{event.anchor}' value contains itself"
            self.refuse(event, "TC004", text, f"yaml: {text}")
        self.nodes += anchor.nodes
        self.aliased += anchor.nodes
        self.weight += anchor.weight
        if self.aliased > 100 and self.nodes > 1000 and self.aliased / self.nodes > _allowed_ratio(self.nodes):
            text = "document contains excessive aliasing"
            self.refuse(event, "TC012", text, f"yaml: {text}")
        if self.weight > MAX_ALIASED:
            self.refuse(event, "TC012", f"aliases repeat more than {MAX_ALIASED} characters")
        if len(self.path) + anchor.height > MAX_DEPTH:
            self.refuse(event, "TC012", f"more than {MAX_DEPTH} collections inside each other")
        return copied(anchor.value)

    def sequence(self) -> Json:
        out: list[Json] = []
        path, offsets = self.path, self.offsets
        read, end = self.next, self.kinds.SequenceEndEvent
        path.append(0)
        while type(event := read()) is not end:
            path[-1] = len(out)
            if offsets is not None:
                offsets[tuple(path)] = event.start_mark.index
            out.append(self.value(event))
        path.pop()
        return out

    def mapping(self) -> JsonObject:
        out: JsonObject = {}
        merged: set[str] = set()
        raw_keys: dict[str, scalars.Scalar] = {}
        path, offsets = self.path, self.offsets
        read, end, scalar = self.next, self.kinds.MappingEndEvent, self.kinds.ScalarEvent
        path.append("")
        while type(event := read()) is not end:
            if type(event) is scalar and event.implicit[0] and (text := event.value) and text[0] not in _KEY_HINTS:
                key = raw = text
                if event.anchor is not None:
                    self.anchors[event.anchor] = _Anchor(text, 1, *measure(text))
            else:
                if type(event) is scalar and _is_merge(event):
                    self.merge(out, merged, event)
                    continue
                key, raw = self.key(event)
            self.nodes += 1
            path[-1] = key
            if offsets is not None:
                offsets[tuple(path)] = event.start_mark.index
            event = read()
            if key in out:
                self.again(key, raw_keys.get(key, key), raw, merged, event)
            value = out[key] = self.value(event)
            if raw is not key:
                raw_keys[key] = raw
                self.check_key(raw, value)
        path.pop()
        return out

    def again(self, key: str, first: scalars.Scalar, raw: scalars.Scalar, merged: set[str], event: Any) -> None:
        """Key stands in the mapping already: an override of a merged one is fine, anything else is not."""
        if key in merged:
            merged.discard(key)
            return
        upstream = None
        if type(first) is type(raw) and first == raw:
            shown = f"{raw:g}" if isinstance(raw, float) else go_syntax(raw)
            upstream = f"yaml: unmarshal errors:\n  line {event.start_mark.line + 1}: key {shown} already set in map"
        self.problem("TC003", f'the key "{key}" stands here twice', upstream=upstream, fatal=False)

    def key(self, event: Any) -> tuple[str, scalars.Scalar]:
        """Read any key but the simplest: the key in JSON, and its value in YAML."""
        kinds = self.kinds
        if type(event) is kinds.AliasEvent:
            value = self.alias(event)
            if isinstance(value, dict | list):
                self.bad_key(event, value)
            raw: scalars.Scalar = value
        elif type(event) is not kinds.ScalarEvent:
            self.bad_key(event, self.value(event))
        else:
            text = event.value
            if event.implicit[0]:
                raw = text if is_bare(event, self.text) else scalars.kubernetes(text).raw
            else:
                raw = text if event.tag is None else self.tagged(event)
            if event.anchor is not None:
                self.anchors[event.anchor] = _Anchor(scalars.to_json(raw), 1, *measure(text))
        try:
            key = scalars.key_text(raw)
        except ValueError:
            key = str(raw)  # check_key tells
        if type(event) is kinds.ScalarEvent and event.implicit[0] and not is_bare(event, self.text):
            self.key_ambiguity(event.value, key)
        return key, raw

    def check_key(self, raw: scalars.Scalar, value: Json) -> None:
        try:
            scalars.key_text(raw)
        except ValueError as error:
            message = "null is no key in JSON" if raw is None else f"Kubernetes cannot take the number {raw} as a key"
            spelling = "<nil>" if raw is None else f"{raw:#x}"
            found = "<nil>" if value is None else go_syntax(value)
            upstream = f"unsupported map key of type: {error}, key: {spelling}, value: {found}"
            self.problem("TC004", message, upstream=None if found is None else upstream)

    def key_ambiguity(self, text: str, key: str) -> None:
        try:
            other = scalars.key_text(scalars.core(text))
        except ValueError:
            return
        if other != key:
            path = (*self.path[:-1], key)
            self.problems.append(ambiguous(path, text, scalars.kubernetes(text), key=key))

    def bad_key(self, event: Any, value: Json) -> NoReturn:
        found = go_syntax(value)
        self.refuse(
            event,
            "TC004",
            "a list or a mapping is no key in JSON",
            None if found is None else f"yaml: invalid map key: {found}",
            "quote a text that starts with { or [, such as a template's {{ }}",
        )

    def merge(self, out: JsonObject, merged: set[str], event: Any) -> None:
        """Read the value of ``<<``. Go lets a merged key win over one that stands before ``<<``; others do not."""
        kinds = self.kinds
        self.path.pop()  # the keys belong to the mapping around
        start = self.next()
        if type(start) is kinds.SequenceStartEvent:
            self.nodes += 1
            parts: list[JsonObject] = []
            while type(item := self.next()) is not kinds.SequenceEndEvent:
                parts.append(self.merge_part(item))
            parts.reverse()  # earlier ones take precedence
        else:
            parts = [self.merge_part(start)]
        self.path.append("<<")
        for part in parts:
            for key, value in part.items():
                if key in out and key not in merged and out[key] != value:
                    self.path[-1] = key
                    self.problem(
                        "TC005",
                        f'Kubernetes lets the merged "{key}" win over the one before <<, YAML 1.2 readers do not',
                        fatal=False,
                    )
                out[key] = value
                merged.add(key)
                if self.offsets is not None:
                    self.offsets[(*self.path[:-1], key)] = event.start_mark.index

    def merge_part(self, event: Any) -> JsonObject:
        kinds = self.kinds
        value = self.value(event) if type(event) in (kinds.MappingStartEvent, kinds.AliasEvent) else None
        if not isinstance(value, dict):
            self.refuse(event, "TC002", "<< merges mappings only", f"yaml: {_WANT_MAP}")
        return value


def _is_merge(event: Any) -> bool:
    return bool(event.value == "<<" and (event.implicit[0] or event.tag == _MERGE_TAG))


def _allowed_ratio(nodes: int) -> float:
    """Return the share of decode calls that go-yaml lets aliases cause."""
    low, high = 400_000, 4_000_000
    return 0.99 - 0.89 * min(max(nodes - low, 0) / (high - low), 1.0)
