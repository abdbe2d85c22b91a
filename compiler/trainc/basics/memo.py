"""Caches of pure functions: by argument, or by the identity of values that many jobs share.

They are filled without locks, so only one thread compiles at a time: see ``exclusive``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, Final, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
P = ParamSpec("P")

_LOCK: Final = RLock()
if hasattr(os, "register_at_fork"):  # not on Windows
    # A process that is forked while another thread has the lock would wait for ever, or have half-filled caches.
    os.register_at_fork(before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release)


def exclusive(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that waits while another thread is in any of these functions.

    Functions that programs call need this. It costs no time: Python runs one thread at a time anyway.
    """

    @wraps(function)
    def locked(*args: P.args, **kwargs: P.kwargs) -> T:
        with _LOCK:
            return function(*args, **kwargs)

    return locked


class Once(Generic[T]):
    """A function without arguments that is called once; after an exception it is called again.

    ``functools.cache`` does the same, but cannot be pickled, as an error of trainc.sdk with its documents is.
    """

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], T]) -> None:
        self._make: Callable[[], T] | None = make

    def __call__(self) -> T:
        """Return the result of the function."""
        make = self._make  # once: another thread may have called it meanwhile
        if make is not None:
            self._made = make()
            self._make = None
        return self._made


K = TypeVar("K")


class Remembered(dict[K, T]):
    """The results of a pure function by argument: ``found[argument]`` calls it once.

    It costs a third of ``functools.lru_cache``, which records every use in a list. The table is cleared when it is
    full, so ``size`` should be much larger than the number of frequent arguments.
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
    """The cached results for shared values, by id: for each value, the results by function.

    Each entry holds the value itself, so that no other object can have its id. All entries are cleared at once, so an
    entry may contain the id of another one.
    """

    def note(self, value: Any) -> None:
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if id(value) in self:
                continue  # and so are all values in it
            if len(self) >= _MOST:
                self.clear()
            self[id(value)] = {_ITSELF: value}
            inside = value.values() if isinstance(value, dict) else value
            waiting += [each for each in inside if isinstance(each, dict | list)]


_ITSELF: Final = "itself"
_MOST: Final = 1 << 15
"""The most values: a few hundred templates with all of their parts."""

LASTING: Final = _Lasting()


def known(value: Any) -> dict[Any, Any] | None:
    """Return the cached results for a value, which callers read and extend; None for a value that is not shared.

    A result must equal a newly computed one and must never be changed, since it is shared.
    """
    return LASTING.get(id(value))


def last(value: T) -> T:
    """Register a JSON value, or a tuple of some, and all values in it as shared, and return it.

    The value must never change in place. Results for unregistered values are computed each time: only speed depends on
    it.
    """
    if id(value) not in LASTING:
        LASTING.note(value)
    return value


def while_alive(make: Callable[[K], T]) -> Callable[[K], T]:
    """Return a function of one argument that keeps each result as long as its argument exists.

    Arguments are compared by identity. A result must not refer to its argument, which would then exist for ever.
    """
    kept: WeakKeyDictionary[K, T] = WeakKeyDictionary()

    def found(value: K) -> T:
        if value not in kept:
            kept[value] = make(value)
        return kept[value]

    return found


def keeping(make: Callable[[Any], T], size: int = 64) -> Callable[[Any], T]:
    """Return a function of one argument that keeps its results for the latest arguments, by their identity.

    It keeps the arguments, too, so that no other one has the same id. They must never change in place.
    """
    kept: dict[int, tuple[Any, T]] = {}

    def found(value: Any) -> T:
        result = kept.pop(id(value), None)
        if result is None:
            if len(kept) >= size:
                del kept[next(iter(kept))]
            result = value, make(value)
        kept[id(value)] = result  # the latest comes last
        return result[1]

    return found
