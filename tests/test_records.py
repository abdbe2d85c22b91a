"""Records are dataclasses: what the library's own do, they do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc import records
from trainc.regex import lazy


def _classes(decorate: Callable[..., Any]) -> tuple[Any, Any, Any]:
    @decorate(frozen=True, slots=True)
    class Pair:
        one: int
        two: str = "b"
        table: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)
        size: int = dataclasses.field(default=3, init=False, compare=False, repr=False)

    @decorate(frozen=True, slots=True, eq=False)
    class Node:
        """Compared by identity."""

        one: int
        two: object = None

    @decorate(frozen=True, slots=True)
    class Made:
        one: int
        double: int = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "double", self.one * 2)

        def __repr__(self) -> str:
            return "made"

    return Pair, Node, Made


OURS, THEIRS = _classes(records.dataclass), _classes(dataclasses.dataclass)
Module = records.dataclass(frozen=True, slots=True)(type("Module", (), {"__annotations__": {"one": int}}))
Module.__module__ = __name__

positional = st.lists(st.integers(0, 2) | st.sampled_from(("b", "c")), max_size=4)
named = st.dictionaries(st.sampled_from(("one", "two", "table", "size", "double", "other")), st.integers(0, 2))


def _outcome(cls: Any, args: list[Any], names: dict[str, Any]) -> tuple[Any, ...] | type[Exception]:
    try:
        made = cls(*args, **names)
    except TypeError as error:
        return type(error)
    values = [getattr(made, field.name) for field in dataclasses.fields(made)]
    return values, repr(made), made == cls(*args, **names), made == values, made.__match_args__


@given(st.sampled_from((0, 1, 2)), positional, named)
def test_instances_are_those_of_the_library(which: int, args: list[Any], names: dict[str, Any]) -> None:
    assert _outcome(OURS[which], args, names) == _outcome(THEIRS[which], args, names)


@given(st.integers(), st.text(), st.integers(), st.text())
def test_equality_and_hashes(one: int, two: str, three: int, four: str) -> None:
    for cls in (OURS[0], THEIRS[0]):
        first, second = cls(one, two), cls(three, four)
        assert (first == second) is ((one, two) == (three, four))
        assert first != (one, two, {})
        assert hash(first) == hash(cls(one, two, {"a": 1}))
    assert hash(OURS[0](one, two)) == hash(THEIRS[0](one, two))


def test_identity_where_equality_is_not_asked_for() -> None:
    node = OURS[1](1)
    assert node in [node]
    assert node not in [OURS[1](1)]
    assert len({node, OURS[1](1)}) == 2


def test_nothing_is_changed_afterwards() -> None:
    pair = OURS[0](1)
    for change in (lambda: setattr(pair, "one", 2), lambda: delattr(pair, "one"), lambda: setattr(pair, "new", 2)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert pair.one == 1
    assert dataclasses.replace(pair, two="c") == OURS[0](1, "c")
    assert not hasattr(pair, "__dict__")
    assert OURS[0](1).table is not OURS[0](1).table


def test_copies() -> None:
    made = Module(7)
    assert copy.copy(made) == copy.deepcopy(made) == made
    assert pickle.loads(pickle.dumps(made)) == made


@given(st.sampled_from((0, 1, 2)), st.integers(0, 2), named)
def test_replace_is_the_library_s(which: int, one: int, names: dict[str, Any]) -> None:
    def outcome(replace: Callable[..., Any], cls: Any) -> Any:
        before = cls(one)
        try:
            after = replace(before, **names)
        except (TypeError, ValueError) as error:
            return "refused" if which == 1 else type(error)
        read = [getattr(after, field.name) for field in dataclasses.fields(after)]
        return read, after is before, type(after) is cls, [getattr(before, f.name) for f in dataclasses.fields(before)]

    assert outcome(records.replace, OURS[which]) == outcome(dataclasses.replace, THEIRS[which])


def test_replace_takes_any_field_name() -> None:
    fields = {"copy": int, "self": int, "made": int}
    own = records.dataclass(frozen=True, slots=True)(type("Own", (), {"__annotations__": fields, "__module__": "x"}))
    made = own.__new__(own)
    for name in fields:
        getattr(own, name).__set__(made, 1)
    assert [getattr(records.replace(made, made=2), name) for name in fields] == [1, 1, 2]


def test_other_dataclasses_are_the_library_s() -> None:
    changing = records.dataclass(slots=True)(type("Changing", (), {"__annotations__": {"one": int}}))
    made = changing(1)
    made.one = 2
    assert made.one == 2
    ordered = records.dataclass(frozen=True, slots=True, order=True)(
        type("Ordered", (), {"__annotations__": {"one": int}})
    )
    assert ordered(1) < ordered(2)


def test_a_lazy_pattern_is_a_pattern() -> None:
    pattern = lazy("(a+)b", 2)
    for _ in range(2):
        found = pattern.fullmatch("AAb")
        assert found is not None
        assert found[1] == "AA"
        assert pattern.sub("x", "aabab") == "xx"
        assert pattern.pattern == "(a+)b"
    assert pattern.search("c") is None
