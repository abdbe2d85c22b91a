"""The code of methods with a parameter for each field (records.py): compiled once for all classes of as many fields,
or known already (recordshapes.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any, Final, cast

from trainc import recordshapes

_OWN: Final = {"SELF": " self", "CLS": " class", "COPY": " copy"}

_WAYS: Final = {
    "v": "VALUE{0}",
    "g": "make{0}() if VALUE{0} is MISSING else VALUE{0}",
    "m": "make{0}()",
    "d": "default{0}",
}


@cache
def init_code(ways: str, post: bool) -> CodeType:
    """Return the code of an ``__init__`` for fields that come by their values in these ways, a character each.

    v: given; g: given, or else made; m: made; d: by default; a space: not at all.
    """
    known = None if post or ways.strip("v") else _known("__init__", f"init{len(ways)}")
    return known or compiled(init_text(ways, post))


@cache
def new_code(count: int) -> CodeType:
    """Return the code of a ``__new__`` of so many fields."""
    return _known("__new__", f"new{count}") or compiled(new_text(count))


@cache
def copy_code(count: int) -> CodeType:
    """Return the code of what copies slots. No field has the names of its own variables."""
    return _known("copy", f"copy{count}") or compiled(copy_text(count))


def _known(name: str, shape: str) -> CodeType | None:
    known: FunctionType | None = getattr(recordshapes, shape, None)
    return None if known is None else known.__code__.replace(co_name=name)


def init_text(ways: str, post: bool) -> str:
    """Return the text of what ``init_code`` is for."""
    parameters = [f", VALUE{place}" for place, way in enumerate(ways) if way in "vg"]
    lines = [f" set{place}(SELF, {_WAYS[way].format(place)})" for place, way in enumerate(ways) if way in _WAYS]
    lines += [" SELF.__post_init__()"] if post else []
    return f"def __init__(SELF{''.join(parameters)}):\n" + "\n".join(lines or [" pass"])


def new_text(count: int) -> str:
    """Return the text of what ``new_code`` is for."""
    values = ", ".join(f"VALUE{place}" for place in range(count))
    return f"def __new__(CLS, {values}):\n return new(CLS, ({values}{',' if count else ''}))"


def copy_text(count: int) -> str:
    """Return the text of what ``copy_code`` is for."""
    parameters, lines = ["SELF", "/"], []
    for place in range(count):
        value = f"VALUE{place}"
        parameters += [value] if place else ["*", value]
        lines.append(f" set{place}(COPY, SELF.{value} if {value} is KEPT else {value})")
    return "\n".join([f"def copy({', '.join(parameters)}):", " COPY = new(made)", *lines, " return COPY"])


def compiled(text: str) -> CodeType:
    """Return the code of the one function in a text."""
    names: dict[str, Any] = {}
    exec(text, names)
    (function,) = (value for name, value in names.items() if name != "__builtins__")
    return cast("CodeType", function.__code__)


def function(
    code: CodeType, names: Sequence[str], known: dict[str, Any], name: str, defaults: Iterable[Any] = ()
) -> FunctionType:
    """Return a function in whose code ``VALUE0``, ``VALUE1``, ... are called by these names, and its own by none."""
    given = {f"VALUE{place}": name for place, name in enumerate(names)} | _OWN
    variables, attributes = ([given.get(name, name) for name in used] for used in (code.co_varnames, code.co_names))
    code = code.replace(co_varnames=tuple(variables), co_names=tuple(attributes))
    made = FunctionType(code, known, code.co_name, tuple(defaults))
    made.__qualname__ = name
    return made
