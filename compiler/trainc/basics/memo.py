"""What is remembered: by argument, or by identity, for values that many jobs have in common."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """A function without arguments that is called when first asked, and never again unless it raises.

    ``functools.cache`` does the same, and takes ten times as long to be made.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make

    def __call__(self) -> T:
        """Return what the function returns."""
        if self._make is not None:
            self._made = self._make()
            self._make = None
        return self._made


K = TypeVar("K")


class Remembered(dict[K, T]):
    """What a pure function makes of its arguments, by argument: ``found[argument]`` calls it once.

    A third of the price of ``functools.lru_cache``, which notes every use in a list. Here the table is emptied when it
    is full, so ``size`` is to be far more than what comes again and again.
    """

    __slots__ = ("_make", "_size")

    def __init__(self, make: Callable[[K], T], size: int) -> None:
        super().__init__()
        self._make = make
        self._size = size

    def __missing__(self, key: K) -> T:
        made = self._make(key)
        if len(self) >= self._size:
            self.clear()
        self[key] = made
        return made


class _Lasting(dict[int, dict[Any, Any]]):
    """What is remembered of values that last, by their ids: of each, by whom it is for, what he has found.

    The value itself is in what is remembered of it, so as long as an id is here nothing else has it. They are forgotten
    all at once, so an id of one may be kept in what is remembered of another.
    """

    def note(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if id(value) in self:
                continue  # with all that is in it
            if len(self) >= _MOST:
                self.clear()
            self[id(value)] = {_ITSELF: value}
            inside = value.values() if isinstance(value, dict) else value
            waiting += [each for each in inside if isinstance(each, dict | list)]


_ITSELF: Final = "itself"
_MOST: Final = 1 << 15
"""So many values last at once: a few hundred templates with all of their parts."""

LASTING: Final = _Lasting()


def known(value: Any) -> dict[Any, Any] | None:
    """Return what is remembered of a value, to be read and added to by whom it is for; None for one that does not last.

    What is added must be all the same as if it were made anew, and is shared: nothing changes it.
    """
    return LASTING.get(id(value))


def last(value: T) -> T:
    """Return a JSON value, or a tuple of some, having noted that it and all in it will be met again, the same objects.

    Only for what nothing changes in place any more. What is not noted, or forgotten since there is too much, is worked
    out anew each time: nothing but time depends on it.
    """
    if id(value) not in LASTING:
        LASTING.note(value)
    return value


def shared(value: Any) -> Any:
    """Return an equal JSON value whose parts are, where earlier values have equal ones, the same objects, which last.

    Plugins build most of a JobSet anew for each job, with the same content for many jobs. The walk, the rules and the
    YAML of such a part are computed once: 1,000 jobs like for like take 1.2 times as long without it.
    """
    changed, is_common = value, True
    for key, part in value.items() if value.__class__ is dict else enumerate(value):
        if (part.__class__ is dict or part.__class__ is list) and id(part) not in LASTING:
            other = shared(part)
            is_common = is_common and id(other) in LASTING
            if other is not part:
                changed = changed.copy() if changed is value else changed
                changed[key] = other
    if not is_common:
        return changed
    content = marshal.dumps(changed, _PLAIN)
    first = _FIRST.get(content)
    if first is not None:
        return last(first)
    if len(_FIRST) >= _MOST:
        _FIRST.clear()
    _FIRST[content] = changed
    return changed


_PLAIN: Final = 2
"""The version of marshal's format in which equal values have equal bytes, however they are shared."""

_FIRST: Final[dict[bytes, Any]] = {}
"""By content, the first value that has it."""


def remembering(make: Callable[[Any], T], *, lasts: bool = False) -> Callable[[Any], T]:
    """Return a function of one argument that remembers what it has made of values that last.

    ``make`` goes by the content of its argument alone. ``lasts``: what it makes, a list or mapping, lasts as well.
    """

    def remembered(value: Any) -> T:
        mine = LASTING.get(id(value))
        if mine is None:
            return make(value)
        try:
            found: T = mine[remembered]
        except KeyError:
            found = mine[remembered] = make(value)
            if lasts:
                last(found)
        return found

    return remembered
