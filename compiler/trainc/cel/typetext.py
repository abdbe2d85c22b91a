"""Types as cel-go's ``Type.String()`` writes them, and back: ``map(string, <A>)``, ``google.protobuf.Duration``.

Two spellings exist: this one, of answers and of "must evaluate to bool but got dyn", and the checker's own in its
messages, which is ``str(type)``.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache

from trainc.cel import types
from trainc.cel.typenames import type_name
from trainc.cel.types import Kind, Type

_SIMPLE = {
    "dyn": types.DYN,
    "google.protobuf.Any": types.ANY,
    "any": types.ANY,
    "error": types.ERROR,
    "null_type": types.NULL,
    "null": types.NULL,
    "bool": types.BOOL,
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "duration": types.DURATION,
    "type": types.TYPE,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
}


def spell(type_: Type) -> str:
    """Return the type as cel-go's ``String()`` does; type variables stand in angle brackets."""
    if type_.kind is Kind.PARAMETER:
        return f"<{type_.name}>"
    if type_.kind is Kind.WRAPPER:
        return f"wrapper({type_.name})"
    if type_.kind is Kind.ERROR:
        return "error"
    inner = ", ".join(map(spell, type_.parameters))
    return f"{type_name(type_)}({inner})" if inner else type_name(type_)


@cache
def parse(text: str, structs: frozenset[str] | None = None) -> Type:
    """Return the type that a text spells, in either spelling.

    Unknown names are structs; if ``structs`` are given, those only, and the others are opaque. Raises ValueError if the
    text spells no type.
    """
    text = text.strip()
    if text in _SIMPLE:
        return _SIMPLE[text]
    if text.startswith("<") and text.endswith(">"):
        return types.parameter(text[1:-1])
    name, inner = _split(text)
    if inner is None:
        return types.struct(name) if structs is None or name in structs else types.opaque(name)
    return _build(name, tuple(parse(part, structs) for part in inner))


def signature(text: str, structs: Collection[str]) -> tuple[bool, tuple[Type, ...], Type]:
    """Return whether a signature is a member's, its arguments and its result: ``.(string, int) string``.

    Raises ValueError if the text is no signature.
    """
    member = text.startswith(".")
    body = text[1:] if member else text
    end = _closing(body)
    known = frozenset(structs)
    args = tuple(parse(part, known) for part in _commas(body[1:end]))
    return member, args, parse(body[end + 1 :], known)


def _build(name: str, inner: tuple[Type, ...]) -> Type:
    arity = {"list": 1, "map": 2, "type": 1, "wrapper": 1}.get(name, len(inner))
    if len(inner) != arity:
        raise ValueError(f"{name} takes {arity} type(s), not {len(inner)}")
    if name == "list":
        return types.list_of(*inner)
    if name == "map":
        return types.map_of(*inner)
    if name == "type":
        return types.type_of(*inner)
    if name == "wrapper":
        return types.wrapper(*inner)
    return types.opaque(name, *inner)


def _split(text: str) -> tuple[str, list[str] | None]:
    name, bracket, _ = text.partition("(")
    if not name or any(character in name for character in "<>), "):
        raise ValueError(f"{text!r} spells no type")
    if not bracket:
        return name, None
    inner = text[len(name) :]
    if _closing(inner) != len(inner) - 1:
        raise ValueError(f"{text!r} spells no type")
    return name, _commas(inner[1:-1])


def _closing(text: str) -> int:
    """Return where the bracket closes that the text begins with; raises ValueError if there is none."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            if character == ")":
                return index
            break
    raise ValueError(f"{text!r} spells no type")


def _commas(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]] if text.strip() else []
