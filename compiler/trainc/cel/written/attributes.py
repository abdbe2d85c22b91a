"""Attributes as Python: see program.py, and fastattributes.py for what they mean and cost.

A chain of fields that begins as another one did is read from there on; in a loop, one from a variable of the whole
expression is read in the first round only. What is read twice is there twice: nothing is changed while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from trainc.cel import interpretable as plan
from trainc.cel.cost import QUALIFIER
from trainc.cel.fastattributes import fields
from trainc.cel.written.writer import Term, Writer, leading


def name_of(slot: int) -> str:
    """Return the name of a slot."""
    return f"v{slot}"


def chain(writer: Writer, slot: int, keys: tuple[str, ...]) -> str:
    """Write the reading of fields of a variable; the name returned holds the last."""
    if not keys:
        return name_of(slot)
    known = writer.known.get((slot, keys))
    if known is not None:
        return known
    if writer.in_loop and slot in writer.facts.given:
        return _outer(writer, slot, keys)
    return _inner(writer, slot, keys)


def _inner(writer: Writer, slot: int, keys: tuple[str, ...]) -> str:
    start = next((end for end in range(len(keys), 0, -1) if (slot, keys[:end]) in writer.known), 0)
    base = writer.known[slot, keys[:start]] if start else name_of(slot)
    for end in range(start + 1, len(keys) + 1):
        count = writer.facts.prefixes[slot, keys[:end]]
        if end < len(keys) and count <= writer.facts.prefixes[slot, keys[: end + 1]]:
            continue  # nothing else goes on from here
        fields_ = "".join(f"[{writer.constant(key)}]" for key in keys[start:end])
        name = writer.temporary()
        writer.put(f"{name} = {base}{fields_}")
        if slot in writer.facts.fixed:
            writer.known[slot, keys[:end]] = name
        base, start = name, end
    return base


def _outer(writer: Writer, slot: int, keys: tuple[str, ...]) -> str:
    """Read what may have been read in an earlier round."""
    name = writer.outer.get((slot, keys))
    if name is None:
        name = writer.outer[slot, keys] = f"g{len(writer.outer)}"
    with writer.block(f"if {name} is UNSET:"):
        writer.put(f"{name} = {_inner(writer, slot, keys)}")
    writer.known[slot, keys] = name
    return name


def read(writer: Writer, attribute: Any) -> Term:
    """Write an attribute; its own name's cost is left to the caller. Raises NotImplementedError."""
    return _READERS[attribute.__class__](writer, attribute)


def _absolute(writer: Writer, attribute: plan.AbsoluteAttribute) -> Term:
    slot = attribute.names[0].slot
    qualifiers = attribute.qualifiers
    if not qualifiers:
        return _bare(writer, attribute, slot)
    if attribute.optional:
        raise NotImplementedError
    keys = fields(qualifiers)
    if keys is None:
        keys = leading(qualifiers)
        writer.charge(QUALIFIER * len(keys))
        return _qualified(writer, chain(writer, slot, keys), qualifiers[len(keys) :])
    writer.charge(QUALIFIER * len(keys))
    if qualifiers[-1].test_only:  # type: ignore[union-attr]  # they are all constant
        base, name = chain(writer, slot, keys[:-1]), writer.temporary()
        writer.put(f"{name} = {base}.get({writer.constant(keys[-1])}, MISSING) is not MISSING")
        return Term(name, bool)
    return Term(chain(writer, slot, keys))


def _bare(writer: Writer, attribute: plan.AbsoluteAttribute, slot: int) -> Term:
    name = name_of(slot)
    if slot in writer.filled:
        return Term(name, writer.filled[slot])
    if attribute.optional or attribute.dynamic:
        rule_out_optional(writer, name)
    return Term(name)


def rule_out_optional(writer: Writer, name: str) -> None:
    """Leave optionals to the closures, where they would be taken apart."""
    writer.put(f"if {name}.__class__ is Optional: raise UNUSUAL")


def _qualified(writer: Writer, base: str, qualifiers: tuple[plan.Qualifier, ...]) -> Term:
    """Write the qualifiers of a value that is no optional; from the first question mark on, the rest is one."""
    for at, qualifier in enumerate(qualifiers):
        if qualifier.optional:
            return _questioned(writer, base, qualifiers[at:])
        name = writer.temporary()
        _step(writer, name, base, qualifier)
        writer.charge(QUALIFIER)
        if isinstance(qualifier, plan.ConstantQualifier) and qualifier.test_only and at == len(qualifiers) - 1:
            writer.put(f"{name} = {name} is not MISSING")
            return Term(name, bool)
        writer.put(f"if {name} is MISSING: raise UNUSUAL")
        base = name
    return Term(base)


def _questioned(writer: Writer, base: str, qualifiers: tuple[plan.Qualifier, ...]) -> Term:
    """Write qualifiers of which the first is behind a question mark: what one names costs only if it is there."""
    if any(isinstance(qualifier, plan.ConstantQualifier) and qualifier.test_only for qualifier in qualifiers):
        raise NotImplementedError
    result = writer.temporary()
    for qualifier in qualifiers:
        _step(writer, result, base, qualifier)
        writer.open(f"if {result} is not MISSING:")
        writer.charge(QUALIFIER)
        base = result
    for _ in qualifiers:
        writer.close()
    return Term(result, maybe=True)


def _step(writer: Writer, name: str, base: str, qualifier: plan.Qualifier) -> None:
    """Write what a qualifier finds: name then holds it, or MISSING."""
    if isinstance(qualifier, plan.ComputedQualifier):
        key = read(writer, qualifier.attribute)
        if key.maybe:
            raise NotImplementedError
        simple = f"{base}.__class__ is dict and {key.text}.__class__ is str"
        writer.put(f"if {simple}: {name} = {base}.get({key.text}, MISSING)")
        writer.put(f"else: {name} = look_up({base}, check_key({key.text}))")
        return
    value, constant = qualifier.value, writer.constant(qualifier.value)
    if value.__class__ is str:
        writer.put(f"{name} = {base}.get({constant}, MISSING)")
    elif value.__class__ is int and value >= 0:
        element = f"{base}[{constant}] if {constant} < len({base}) else MISSING"
        writer.put(f"{name} = ({element}) if {base}.__class__ is list else look_up({base}, {constant})")
    else:
        writer.put(f"{name} = look_up({base}, {constant})")


def _relative(writer: Writer, attribute: plan.RelativeAttribute) -> Term:
    operand = writer.walk(attribute.operand)
    if operand.maybe:
        raise NotImplementedError
    if attribute.qualifiers:
        return _qualified(writer, operand.text, attribute.qualifiers)
    if operand.kind is None:
        rule_out_optional(writer, operand.text)
    return operand


def _conditional(writer: Writer, attribute: plan.ConditionalAttribute) -> Term:
    condition = writer.walk(attribute.condition)
    if condition.maybe:
        raise NotImplementedError
    text, certain = condition.text, condition.kind is bool
    ends: list[tuple[int, Term]] = []
    headers = (f"if {text}:", "else:") if certain else (f"if {text} is True:", f"elif {text} is False:")
    for header, branch in zip(headers, (attribute.truthy, attribute.falsy), strict=True):
        with writer.block(header):
            found = read(writer, branch)
            ends.append((writer.reserve(), found))
    if not certain:
        writer.put("else: raise UNUSUAL")
    return _joined(writer, ends)


def _joined(writer: Writer, ends: list[tuple[int, Term]]) -> Term:
    """Return the value of two branches that have just been written; each ends with a reserved line."""
    (_, one), (_, two) = ends
    if one == two:
        return one
    if one.maybe is not two.maybe:
        raise NotImplementedError
    name = writer.temporary()
    for number, term in ends:
        writer.fill(number, f"{name} = {term.text}", deeper=1)
    return Term(name, one.kind if one.kind is two.kind else None, one.maybe)


def _maybe(*_: Any) -> Term:
    raise NotImplementedError


_READERS: Final[Mapping[type, Callable[..., Term]]] = {
    plan.AbsoluteAttribute: _absolute,
    plan.RelativeAttribute: _relative,
    plan.ConditionalAttribute: _conditional,
    plan.MaybeAttribute: _maybe,
}
