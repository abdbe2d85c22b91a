"""Lists, maps and messages as cel-go makes them: see exact.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from trainc.cel import interpretable as plan
from trainc.cel.cost import LIST, MAP, MESSAGE
from trainc.cel.exactattributes import FAILURES, Run, Steps, attempt
from trainc.cel.gotext import shown
from trainc.cel.interpretable import Id
from trainc.cel.maps import from_entries, key_form
from trainc.cel.trace import Trace
from trainc.cel.values import EvalError, Optional, Value


def make_list(node: plan.MakeList) -> Steps:
    """Walk ``[a, ?b]``."""
    elements = []
    for element in node.elements:
        built = yield element
        elements.append(built)
    id_, consumed = node.id, tuple(element.id for element in node.elements)
    parts = tuple(zip(elements, node.optional, strict=True))

    def make(trace: Trace) -> Value:
        values = []
        for element, optional in parts:
            value = element(trace)
            if isinstance(value, FAILURES):
                return value
            if optional:
                if not isinstance(value, Optional):
                    words = "cannot initialize optional list element from non-optional value"
                    return EvalError(f"{words} {shown(value)}", id_.position)
                if not value.present:
                    continue
                value = value.value
            values.append(value)
        return values

    return _constructor(id_, consumed, LIST, make)


def _constructor(id_: Id, consumed: Sequence[Id], cost: int, make: Run) -> Run:
    def evaluate(trace: Trace) -> Value:
        value = make(trace)
        trace.take(consumed)
        trace.cost += cost
        trace.push(id_, value)
        return value

    return evaluate


def make_map(node: plan.MakeMap) -> Steps:
    """Walk ``{a: b, ?c: d}``."""
    parts = []
    for key, value, optional in zip(node.keys, node.values, node.optional, strict=True):
        one = yield key
        two = yield value
        parts.append((one, two, optional))
    id_ = node.id
    consumed = tuple(part.id for pair in zip(node.keys, node.values, strict=True) for part in pair)

    def make(trace: Trace) -> Value:
        entries: dict[object, tuple[Value, Value]] = {}
        for read_key, read_value, optional in parts:
            key = read_key(trace)
            value = key if isinstance(key, FAILURES) else read_value(trace)
            form = value if isinstance(value, FAILURES) else attempt(id_, key_form, key)
            if isinstance(form, FAILURES):
                return form
            value = _entry(id_, key, value) if optional else value
            if isinstance(value, FAILURES):
                return value
            if value is _ABSENT:
                entries.pop(form, None)
            else:
                entries[form] = (key, value)
        return from_entries(entries)

    return _constructor(id_, consumed, MAP, make)


_ABSENT: Final = object()


def _entry(id_: Id, key: Value, value: Value) -> Value:
    """Return the value of an optional entry, _ABSENT if it has none, or a failure."""
    if isinstance(value, Optional):
        return value.value if value.present else _ABSENT
    words = f"cannot initialize optional entry '{shown(key)}' from non-optional value {shown(value)}"
    return EvalError(words, id_.position)


def make_message(node: plan.MakeMessage) -> Steps:
    """Walk ``name{field: value}``."""
    values = []
    for value in node.values:
        built = yield value
        values.append(built)
    id_, consumed, name = node.id, tuple(value.id for value in node.values), node.type_name
    parts, build_message = tuple(zip(node.fields, values, node.optional, strict=True)), node.make

    def make(trace: Trace) -> Value:
        fields: dict[str, Value] = {}
        for field, read, optional in parts:
            value = read(trace)
            if optional and not isinstance(value, FAILURES):
                value = _entry(id_, field, value)
            if isinstance(value, FAILURES):
                return value
            if value is _ABSENT:
                fields.pop(field, None)
            else:
                fields[field] = value
        return attempt(id_, build_message, name, fields)

    return _constructor(id_, consumed, MESSAGE, make)
