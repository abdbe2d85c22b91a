"""Objects of which only a part is known offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.cel import types
from trainc.cel.types import Type
from trainc.cel.values import Container, EvalError, Undecided, Value
from trainc.cel.work import Meter
from trainc.source import Json, Path

_NOTHING = object()


def hiding(name: str, data: Json, paths: tuple[Path, ...]) -> Value:
    """Return data of which what lies at some paths is not known; where it is copied, dicts and lists stay such."""
    if not paths:
        return data
    below: dict[str | int, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).extend([tuple(rest)] if rest else [])
    if isinstance(data, list):
        return [hiding(f"{name}[{index}]", item, tuple(below.get(index, ()))) for index, item in enumerate(data)]
    if not isinstance(data, dict):
        return data
    hidden = frozenset(str(path[0]) for path in paths if len(path) == 1)
    shown = data.items() if not hidden else [(key, value) for key, value in data.items() if key not in hidden]
    known = {key: hiding(f"{name}.{key}", value, tuple(below.get(key, ()))) for key, value in shown}
    return Partial(name, known, hidden) if hidden else known


class Partial(Container):
    """A map with fields known and others not: reading one of those, or the map as a whole, is undecided.

    ``hidden`` names the fields that are not known; None: all that are not known. Others are known to be absent.
    ``name`` is what the reason calls the map.
    """

    __slots__ = ("_hidden", "_known", "_name")

    def __init__(self, name: str, known: Mapping[str, Value], hidden: frozenset[str] | None) -> None:
        self._name = name
        self._known = known
        self._hidden = hidden

    def is_list(self) -> bool:
        """Tell that it is none."""
        return False

    def get(self, key: Value, default: Value) -> Value:
        """Return a field. Raises Undecided."""
        if not isinstance(key, str):
            return default
        found = self._known.get(key, _NOTHING)
        if found is not _NOTHING:
            return found
        if self._hidden is None or key in self._hidden:
            raise Undecided(f"{self._name}.{key}: not known offline")
        return default

    def __len__(self) -> int:
        raise self._undecided()

    def size(self) -> int:
        """Return the size that run-time cost counts, as far as it is known."""
        return len(self._known)

    def __iter__(self) -> Iterator[Value]:
        raise self._undecided()

    def equals(self, other: Value, meter: Meter | None = None) -> bool:
        """Tell whether it is the same object. Raises Undecided for any other map."""
        if other is self:
            return True
        if isinstance(other, dict | Container):
            raise self._undecided()
        return False

    def add(self, other: Value) -> Value:
        """Refuse: maps have no sum."""
        raise EvalError("no such overload")

    def celtype(self) -> Type:
        """Return the type of maps."""
        return types.map_of(types.STRING, types.DYN)

    def _undecided(self) -> Undecided:
        return Undecided(f"{self._name}: not known offline as a whole")
