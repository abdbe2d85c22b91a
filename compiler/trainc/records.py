"""Dataclasses and named tuples that cost little to define.

The library compiles the source of six methods for every dataclass, half a millisecond each time, and that of one for
every named tuple, whose annotations it reads, too; a run of a command defines two hundred. Here methods are shared, and
those with a parameter for each field are copies of one for as many, under other names. ``fields``, the library's
``replace`` and type checkers see a dataclass, and a named tuple has the methods of ``typing.NamedTuple``. ``replace``
here does what the library's does in a fifth of the time: it copies slots, and asks the class for nothing. The library,
which loads inspect, is loaded for what is not provided for here.
"""

from __future__ import annotations

import operator
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct, structs

from trainc.recordcode import copy_code, function, init_code, new_code

__all__ = ["NamedTuple", "dataclass", "field", "replace"]

_MISSING: Final = object()
_KNOWN: Final = frozenset(("frozen", "slots", "eq", "repr", "order"))
_ABOUT: Final = frozenset(("compare", "default", "default_factory", "hash", "init", "repr"))
_NOT_FIELDS: Final = ("ClassVar", "InitVar", "KW_ONLY")
_FIELDS: Final = "__dataclass_fields__"
_PARAMETERS: Final = "__dataclass_params__"
_ORDER: Final = ("__lt__", "__le__", "__gt__", "__ge__")


class _Tuples(type):
    """The class of ``NamedTuple``: what is derived from that becomes a tuple with names, and has nothing of this."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
        """Return a subclass of tuple.

        Raises TypeError where there are other base classes, or a field without a default after one that has it, and
        AttributeError where the class has methods of its own for what all named tuples do.
        """
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in fields if field in body}
        if not _FIXED.isdisjoint(body):
            raise AttributeError(f"{name} replaces what a named tuple has")
        if len(bases) > 1 or tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"{name} is no named tuple: other bases, or a field without a default after one with it")
        for place, field in enumerate(fields):
            body[field] = _place(place)
        if "__doc__" not in body:
            body["__doc__"] = f"{name}({', '.join(fields)})"
        body |= {"__slots__": (), "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
        new = _LateNew()
        new.owner = made = type(name, (tuple,), {"__repr__": _repr_tuple, **_TUPLE_METHODS, **body, "__new__": new})
        return made


class _LateNew:
    """The ``__new__`` of a named tuple until the first is made: of many a short run makes none."""

    __slots__ = ("owner",)
    owner: Any

    def __get__(self, _: object, __: type) -> Any:
        """Return the function, and put it in this one's place."""
        cls: Any = self.owner
        fields, defaults = cls._fields, cls._field_defaults.values()
        new = function(new_code(len(fields)), fields, {"new": tuple.__new__}, f"{cls.__name__}.__new__", defaults)
        cls.__new__ = staticmethod(new)
        return new


def _make(cls: Any, values: Iterable[Any], /) -> Any:
    made = tuple.__new__(cls, values)
    if len(made) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
    return made


def _replace(self: Any, /, **changes: Any) -> Any:
    made = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise TypeError(f"Got unexpected field names: {list(changes)!r}")
    return made


def _repr_tuple(self: Any) -> str:
    shown = (f"{name}={value!r}" for name, value in _as_dict(self).items())
    return f"{type(self).__name__}({', '.join(shown)})"


def _as_dict(self: Any) -> dict[str, Any]:
    return dict(zip(self._fields, self, strict=True))


_TUPLE_METHODS: Final = {
    "__getnewargs__": lambda self: (*self,),
    "_asdict": _as_dict,
    "_make": classmethod(_make),
    "_replace": _replace,
}
_FIXED: Final = frozenset(("__new__", "__init__", "__slots__", "_fields", "_field_defaults", *_TUPLE_METHODS))


@cache
def _place(place: int) -> Any:
    """Return the descriptor of what stands at a place of a tuple: the library's, which is written in C."""
    return getattr(_places(16 * (place // 16 + 1)), f"value{place}")


@cache
def _places(count: int) -> Any:
    return namedtuple("Places", [f"value{place}" for place in range(count)])


if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
    from typing import NamedTuple
else:
    NamedTuple = type.__new__(_Tuples, "NamedTuple", (), {})

    def replace(made, /, **changes):
        """Return a copy with some fields changed, as ``dataclasses.replace`` does, for any dataclass or Struct."""
        if isinstance(made, Struct):
            return structs.replace(made, **changes)
        return _replacer(made.__class__)(made, **changes)

    def dataclass(cls=None, /, **options):
        """Return a class as ``dataclasses.dataclass`` does, which makes what nothing is known of here."""
        if cls is None:
            return lambda given: dataclass(given, **options)
        fields = _declared(cls) if options.get("slots") and not options.keys() - _KNOWN else None
        return _library(cls, options) if fields is None else _define(cls, fields, options)

    def field(**about):
        """Return what stands for a field with more to it than a default, as ``dataclasses.field`` does."""
        return _Field(about.get("default", _MISSING), about)


class _Field:
    """A field as it is declared; ``about`` is what was said of it, if more than a default was."""

    __slots__ = ("about", "compare", "default", "default_factory", "hash", "init", "name", "repr")

    def __init__(self, default: Any, about: Mapping[str, Any] | None = None) -> None:
        self.name, self.default, self.about = "", default, about
        self.default_factory, self.hash = _MISSING, None
        self.init = self.repr = self.compare = True
        if about is not None:
            self.default_factory, self.hash = about.get("default_factory", _MISSING), about.get("hash")
            self.init, self.repr = about.get("init", True), about.get("repr", True)
            self.compare = about.get("compare", True)

    def is_plain(self) -> bool:
        """Tell whether it is provided for: of mutable defaults the library complains."""
        return (self.about is None or self.about.keys() <= _ABOUT) and self.default.__class__.__hash__ is not None


def _library(cls: type, options: dict[str, bool]) -> type:
    import dataclasses

    for name, value in list(cls.__dict__.items()):
        if isinstance(value, _Field) and value.about is not None:
            setattr(cls, name, dataclasses.field(**value.about))
    return dataclasses.dataclass(**options)(cls)


def _declared(cls: type) -> list[_Field] | None:
    """Return the fields that a class declares, as the library has them; None where it has to see to them itself."""
    if any(_FIELDS in base.__dict__ for base in cls.__mro__[1:]):
        return None
    fields, defaults, own = [], False, cls.__dict__
    kinds = own.get("__annotations__", {})
    if not all(kind.__class__ is str for kind in kinds.values()):
        return None
    text = "\n".join(kinds.values())
    if any(word in text for word in _NOT_FIELDS):
        return None
    for name in kinds:
        given = own.get(name, _MISSING)
        field = given if given.__class__ is _Field else _Field(given)
        default = field.default is not _MISSING or field.default_factory is not _MISSING
        if not field.is_plain():
            return None
        if given.__class__.__module__ == "dataclasses" or (field.init and defaults and not default):
            return None
        field.name = name
        defaults |= field.init and default
        fields.append(field)
    return fields


def _define(cls: type, fields: Sequence[_Field], options: dict[str, bool]) -> type:
    """Return a class with slots in the place of one without, as the library does."""
    own, names = cls.__dict__, tuple(field.name for field in fields)
    body = {name: value for name, value in own.items() if name not in ("__dict__", "__weakref__", *names)}
    frozen, values = options.get("frozen", False), _reader([field.name for field in fields if field.compare])
    if frozen:
        body |= {"__setattr__": _refuse, "__delattr__": _refuse, "__getstate__": _get_state, "__setstate__": _set_state}
    if options.get("repr", True):
        body.setdefault("__repr__", _repr)
    if options.get("eq", True):
        body.setdefault("__eq__", _comparison(operator.eq, values))
        if own.get("__hash__") is None:
            body["__hash__"] = _hashing(fields) if frozen else None
    if options.get("order"):
        body |= {name: _comparison(getattr(operator, name), values) for name in _ORDER}
    body["__doc__"] = cls.__doc__ or cls.__name__  # the library would look for a signature
    body["__slots__"], body["__match_args__"] = names, tuple(field.name for field in fields if field.init)
    body |= {name: _Late(name, cls, options) for name in (_FIELDS, _PARAMETERS)}
    init = _LateInit(fields) if "__init__" not in own else None
    if init is not None:
        body["__init__"] = init
    made: Any = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    if init is not None:
        init.owner = made
    return cast("type", made)


class _Late:
    """An attribute that the library gives its dataclasses: hardly anything asks for it, and only then it makes one."""

    __slots__ = ("_cls", "_name", "_options")

    def __init__(self, name: str, cls: type, options: dict[str, bool]) -> None:
        self._name, self._cls, self._options = name, cls, {**options, "slots": False}

    def __get__(self, _: object, owner: type) -> Any:
        """Return the attribute's value."""
        if _FIELDS not in self._cls.__dict__:
            _library(self._cls, self._options)
        return self._cls.__dict__[self._name]


class _LateInit:
    """The ``__init__`` of a class until its first instance is made: of most classes a short run makes none."""

    __slots__ = ("_fields", "owner")

    def __init__(self, fields: Sequence[_Field]) -> None:
        self._fields, self.owner = fields, cast("Any", None)

    def __get__(self, made: object, owner: type) -> Any:
        """Return the method, and put it in this one's place."""
        init = self.owner.__init__ = _init(self.owner, self._fields)
        return init.__get__(made, owner)


def _refuse(self: Any, name: str, *_: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__} is frozen: {name}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in _fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


def _fields(self: Any) -> Sequence[Any]:
    from dataclasses import fields

    return fields(self)


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in _fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _comparison(compare: Callable[[Any, Any], Any], values: Callable[[Any], Any]) -> Callable[[Any, object], Any]:
    def compared(self: Any, other: object) -> Any:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return compared


def _hashing(fields: Sequence[_Field]) -> Callable[[Any], int]:
    values = _reader([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def __hash__(self: Any) -> int:  # noqa: N807 - it is one
        return hash(values(self))

    return __hash__


def _reader(names: list[str]) -> Callable[[Any], Any]:
    return operator.attrgetter(*names) if names else lambda _: ()


def _init(made: Any, fields: Sequence[_Field]) -> Any:
    """Return what sets the fields in the descriptors of their slots, which nothing else does."""
    known: dict[str, Any] = {"MISSING": _MISSING}
    defaults: list[Any] = []
    for place, field in enumerate(fields):
        known[f"set{place}"] = getattr(made, field.name).__set__
        known[f"default{place}"], known[f"make{place}"] = field.default, field.default_factory
        if field.init and (field.default is not _MISSING or field.default_factory is not _MISSING):
            defaults.append(field.default)  # which is MISSING where it has to be made
    code = init_code("".join(map(_way, fields)), hasattr(made, "__post_init__"))
    return function(code, [field.name for field in fields], known, f"{made.__qualname__}.__init__", defaults)


def _way(field: _Field) -> str:
    """Return how a field comes by its value: given, or else made; made; or by default. A space: not at all."""
    if field.default_factory is not _MISSING:
        return "g" if field.init else "m"
    return "v" if field.init else " " if field.default is _MISSING else "d"


@cache
def _replacer(cls: Any) -> Callable[..., Any]:
    """Return what copies instances: slots of our classes, and for others what the library does."""
    if not isinstance(cls.__dict__.get(_FIELDS), _Late) or cls.__setattr__ is not _refuse:
        return _by_library
    if hasattr(cls, "__post_init__"):
        return _made_again
    return _copier(cls, cls.__slots__) if cls.__match_args__ == cls.__slots__ else _by_library


def _by_library(self: Any, /, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(self, **changes)


def _made_again(self: Any, /, **changes: Any) -> Any:
    given = {name: getattr(self, name) for name in self.__match_args__}
    return type(self)(**given | changes) if changes.keys() <= given.keys() else _by_library(self, **changes)


def _copier(made: Any, fields: Sequence[str]) -> Callable[..., Any]:
    known = {"KEPT": _MISSING, "new": object.__new__, "made": made}
    known |= {f"set{place}": getattr(made, name).__set__ for place, name in enumerate(fields)}
    copy = function(copy_code(len(fields)), fields, known, f"{made.__qualname__}.replace")
    copy.__kwdefaults__ = dict.fromkeys(fields, _MISSING)
    return copy
