"""Dataclasses as msgspec structs, for modules that do not yet write ``msgspec.Struct`` themselves."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

__all__ = ["NamedTuple", "dataclass", "field", "replace"]

_STRUCT: Final = frozenset(("frozen", "eq", "order"))

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:

    def replace(made, /, **changes):
        """Return a copy with some fields changed."""
        if isinstance(made, msgspec.Struct):
            return msgspec.structs.replace(made, **changes)
        import dataclasses

        return dataclasses.replace(made, **changes)

    def dataclass(cls=None, /, **options):
        """Return a class as ``dataclasses.dataclass`` does: a struct unless it needs what structs do not have."""
        if cls is None:
            return lambda given: dataclass(given, **options)
        own = cls.__dict__
        fields = {name: own.get(name) for name in own.get("__annotations__", {})}
        if cls.__bases__ != (object,) or any(
            isinstance(f, _Field) and not f.about.get("init", True) for f in fields.values()
        ):
            return _library(cls, options)
        body = {k: v for k, v in own.items() if k not in ("__dict__", "__weakref__", "__slots__")}
        compared = [n for n, f in fields.items() if not (isinstance(f, _Field) and f.about.get("compare") is False)]
        hashed = [n for n in compared if not (isinstance(fields[n], _Field) and fields[n].about.get("hash") is False)]
        for name, value in fields.items():
            if isinstance(value, _Field):
                body.pop(name)
                if given := {k: v for k, v in value.about.items() if k in ("default", "default_factory")}:
                    body[name] = msgspec.field(**given)
        chosen = {k: v for k, v in options.items() if k in _STRUCT}
        if chosen.get("order") and len(compared) < len(fields):
            return _library(cls, options)
        if chosen.get("eq", True) and len(hashed) < len(fields):
            chosen["eq"] = False
            _compare(body, compared, hashed)
        if "__post_init__" in body and "__setattr__" in body["__post_init__"].__code__.co_names:
            return _library(cls, options)
        made = type(msgspec.Struct)(cls.__name__, (msgspec.Struct,), body, **chosen)
        made.__qualname__ = cls.__qualname__
        return made

    def field(**about):
        """Return a field with more to it than a default, as ``dataclasses.field`` does."""
        return _Field(about)


class _Field:
    def __init__(self, about: dict[str, Any]) -> None:
        self.about = about


def _compare(body: dict[str, Any], compared: list[str], hashed: list[str]) -> None:
    values = operator.attrgetter(*compared) if compared else lambda _: ()
    keys = operator.attrgetter(*hashed) if hashed else lambda _: ()
    body.setdefault("__eq__", lambda a, b: values(a) == values(b) if a.__class__ is b.__class__ else NotImplemented)
    body.setdefault("__hash__", lambda a: hash(keys(a)))


def _library(cls: type, options: dict[str, bool]) -> type:
    import dataclasses

    for name, value in list(cls.__dict__.items()):
        if isinstance(value, _Field):
            setattr(cls, name, dataclasses.field(**value.about))
    return dataclasses.dataclass(**options)(cls)
