"""Frozen dataclasses that cost little to define: ``dataclass`` here is that of the standard library with other methods.

The library compiles the source of six methods for every class, half a millisecond each time, and a run of a command
defines more than a hundred classes. Here the methods are shared, and making an instance takes no longer. ``fields``,
``replace`` and type checkers see a dataclass.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

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
        methods["__init__"] = _initializer(made)
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


def _initializer(made: Any) -> Callable[..., None]:
    """Return an ``__init__``: it sets the fields in the descriptors of their slots, which nothing else does."""
    found = dataclasses.fields(made)
    given = [_parameter(field) for field in found if field.init]
    setters = [getattr(made, field.name).__set__ for field in found if field.init]
    late = [(getattr(made, field.name).__set__, _parameter(field)) for field in found if not field.init]
    rests, then = _rests(given), getattr(made, "__post_init__", None)

    def __init__(self: Any, *args: Any, **named: Any) -> None:  # noqa: N807 - it is one
        rest = None if named else rests.get(len(args))
        for set_, value in zip(setters, _bound(made, given, args, named) if rest is None else args + rest, strict=True):
            set_(self, value)
        for set_, parameter in late:
            if parameter.optional:
                set_(self, parameter.default if parameter.make is None else parameter.make())
        if then is not None:
            then(self)

    return __init__


class _Parameter(NamedTuple):
    """A field: its name, whether it has a default, and this, or what makes it."""

    name: str
    optional: bool
    default: Any
    make: Callable[[], Any] | None


def _parameter(field: dataclasses.Field[Any]) -> _Parameter:
    if field.default_factory is not dataclasses.MISSING:
        return _Parameter(field.name, True, None, field.default_factory)
    return _Parameter(field.name, field.default is not dataclasses.MISSING, field.default, None)


def _rests(parameters: Sequence[_Parameter]) -> Mapping[int, tuple[Any, ...]]:
    """Return, by the number of arguments given, the defaults of the others, where those are known beforehand."""
    rests: dict[int, tuple[Any, ...]] = {len(parameters): ()}
    for index in range(len(parameters) - 1, -1, -1):
        _, optional, default, make = parameters[index]
        if not optional or make is not None:
            break
        rests[index] = (default, *rests[index + 1])
    return rests


def _bound(made: type, parameters: list[_Parameter], args: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    """Return the values of parameters in their order. Raises TypeError where a function of these would."""
    values, used = list(args), 0
    for name, optional, default, make in parameters[len(values) :]:
        if name in named:
            values.append(named[name])
            used += 1
        elif optional:
            values.append(default if make is None else make())
        else:
            raise TypeError(f"{made.__name__}() misses {name}")
    if used != len(named) or len(values) != len(parameters):
        raise TypeError(f"{made.__name__}() got more than its fields, or one of them twice")
    return values
