"""Frozen dataclasses that cost little to define: ``dataclass`` here is that of the standard library with other methods.

The library compiles the source of six methods for every class, half a millisecond each time, and a run of a command
defines more than a hundred classes. Here the methods are shared, and ``__init__`` is compiled for the first instance.
``fields``, the library's ``replace`` and type checkers see a dataclass. ``replace`` here does the same in a fifth of
the time: it copies slots, and asks the class for nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def replace(made, /, **changes):
        """Return a copy with some fields changed, as ``dataclasses.replace`` does, for any dataclass."""
        return _replacer(made.__class__)(made, **changes)

    def dataclass(cls=None, /, **options):
        """Return a class as ``dataclasses.dataclass`` does; what is not ``frozen=True, slots=True`` is made there."""
        if cls is None:
            return lambda given: dataclass(given, **options)
        if not (options.get("frozen") and options.get("slots")) or options.keys() - _KNOWN:
            return dataclasses.dataclass(**options)(cls)
        return _define(cls, options)


_KNOWN: Final = frozenset(("frozen", "slots", "eq", "repr"))


def _define(cls: type, options: dict[str, bool]) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # the library would look for a signature
    own = cls.__dict__
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    methods: dict[str, Any] = {"__setattr__": _refuse, "__delattr__": _refuse}
    methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    if "__init__" not in own:
        methods["__init__"] = _first_init(made)
    if options.get("repr", True) and "__repr__" not in own:
        methods["__repr__"] = _repr
    if options.get("eq", True):
        if "__eq__" not in own:
            methods["__eq__"] = _equality(made)
        if own.get("__hash__") is None:
            methods["__hash__"] = _hashing(made)
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _refuse(self: Any, name: str, *_: object) -> None:
    raise dataclasses.FrozenInstanceError(f"{type(self).__name__} is frozen: {name}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _equality(made: Any) -> Callable[[Any, object], Any]:
    values = _reader([field.name for field in dataclasses.fields(made) if field.compare])

    def equal(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return equal


def _hashing(made: Any) -> Callable[[Any], int]:
    found = dataclasses.fields(made)
    values = _reader([field.name for field in found if (field.compare if field.hash is None else field.hash)])

    def __hash__(self: Any) -> int:  # noqa: N807 - it is one
        return hash(values(self))

    return __hash__


def _reader(names: list[str]) -> Callable[[Any], Any]:
    """Return what gives the values of some fields: a tuple, or the only one's."""
    return attrgetter(*names) if names else lambda _: ()


def _first_init(made: Any) -> Callable[..., None]:
    """Return an ``__init__`` that puts the real one in its place: half of the classes never have an instance."""

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807 - it is one
        made.__init__ = _init(made)
        made.__init__(self, *args, **named)

    return __init__


def _init(made: Any) -> Any:
    """Return what sets the fields in the descriptors of their slots, which nothing else does.

    It is compiled from their names, as the library does it: any other way is slower with every instance.
    """
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING}
    parameters, lines = ["self"], []
    for field in dataclasses.fields(made):
        name = value = field.name
        names[f"set_{name}"] = getattr(made, name).__set__
        default = late = ""
        if field.default is not dataclasses.MISSING:
            names[f"default_{name}"] = field.default
            default = late = f"default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = field.default_factory
            default, late = "MISSING", f"make_{name}()"
            value = f"{late} if {name} is MISSING else {name}"
        if field.init:
            parameters.append(f"{name}={default}" if default else name)
            lines.append(f" set_{name}(self, {value})")
        elif late:
            lines.append(f" set_{name}(self, {late})")
    if hasattr(made, "__post_init__"):
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), names)
    return names["__init__"]


@cache
def _replacer(cls: Any) -> Callable[..., Any]:
    """Return what copies instances: slots of our classes, and for others what the library does."""
    plain = getattr(cls, "__setattr__", None) is _refuse and not hasattr(cls, "__post_init__")
    if plain and all(field.init for field in dataclasses.fields(cls)):
        return _copier(cls, [field.name for field in dataclasses.fields(cls)])
    return dataclasses.replace


def _copier(made: Any, fields: list[str]) -> Callable[..., Any]:
    names: dict[str, Any] = {"_KEPT": dataclasses.MISSING, "_new": object.__new__, "_made": made}
    parameters, lines = ["_self", "/", "*"], []
    for name in fields:
        names[f"_set_{name}"] = getattr(made, name).__set__
        parameters.append(f"{name}=_KEPT")
        lines.append(f" _set_{name}(_copy, _self.{name} if {name} is _KEPT else {name})")
    signature = ", ".join(parameters if fields else parameters[:2])
    exec(f"def copy({signature}):\n _copy = _new(_made)\n" + "\n".join([*lines, " return _copy"]), names)
    made_copy: Callable[..., Any] = names["copy"]
    return made_copy
