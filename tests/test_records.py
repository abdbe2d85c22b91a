"""Records are dataclasses: what the library's own do, they do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc import recordcode, records, recordshapes
from trainc.regex import lazy

TOOLS = Path(__file__).resolve().parents[1] / "compiler" / "tools"


def _classes(decorate: Callable[..., Any], field: Callable[..., Any]) -> tuple[Any, ...]:
    @decorate(frozen=True, slots=True)
    class Pair:
        one: int
        two: str = "b"
        table: dict[str, int] = field(default_factory=dict, hash=False)
        size: int = field(default=3, init=False, compare=False, repr=False)

    @decorate(frozen=True, slots=True, eq=False)
    class Node:
        """Compared by identity."""

        one: int
        two: object = None

    @decorate(frozen=True, slots=True)
    class Counted:
        one: int
        two: int = 2

        def __post_init__(self) -> None:
            object.__setattr__(self, "two", self.one + 1)

    @decorate(frozen=True, slots=True)
    class Made:
        one: int
        double: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "double", self.one * 2)

        def __repr__(self) -> str:
            return "made"

    return Pair, Node, Made, Counted


OURS = _classes(records.dataclass, records.field)
THEIRS = _classes(dataclasses.dataclass, dataclasses.field)
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


@given(st.sampled_from((0, 1, 2, 3)), positional, named)
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


@given(st.sampled_from((0, 1, 2, 3)), st.integers(0, 2), named)
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


def _others(decorate: Callable[..., Any], field: Callable[..., Any]) -> tuple[Any, ...]:
    @decorate(slots=True)
    class Changing:
        one: int
        many: list[int] = field(default_factory=list)
        late: int = field(init=False, default_factory=int)
        never: int = field(init=False, compare=False)

    @decorate(frozen=True, slots=True, order=True)
    class Ordered:
        one: int
        two: int = field(default=0, compare=False)

    @decorate(frozen=True, slots=True, repr=False)
    class Spelled:  # noqa: PLW1641 - the decorator gives it one
        self: int
        made: int = 1

        def __eq__(self, other: object) -> bool:
            return True

    @decorate(frozen=True, slots=True)
    class Nothing:
        pass

    return Changing, Ordered, Spelled, Nothing


OTHERS = (_others(records.dataclass, records.field), _others(dataclasses.dataclass, dataclasses.field))


@given(st.integers(0, 3), st.lists(st.integers(0, 2), max_size=2), st.lists(st.integers(0, 2), max_size=2))
def test_what_changes_or_has_an_order(which: int, first: list[int], second: list[int]) -> None:
    def outcome(cls: Any) -> Any:
        try:
            one, two = cls(*first), cls(*second)
        except TypeError:
            return "refused"
        shown: list[Any] = [one == two, one != two, cls.__match_args__, cls.__hash__ is None]
        if which == 1:
            shown += [one < two, one <= two, one > two, one >= two, one.__lt__(3)]
        if which == 0:
            cls(1).many.append(two.late)
            one.never = 3
            shown += [one.many, one.never, cls(1).many]
        if which != 2:
            shown.append(repr(one))
        if cls.__hash__ is not None:
            shown.append(hash(one) == hash(two))
        fields = [(field.name, field.init, field.default) for field in dataclasses.fields(one)]
        return [*shown, fields, hasattr(one, "__dict__"), cls.__dataclass_params__.frozen]

    assert outcome(OTHERS[0][which]) == outcome(OTHERS[1][which])


def _made(kind: str, **options: bool) -> Callable[[Callable[..., Any]], Any]:
    def make(decorate: Callable[..., Any]) -> Any:
        body: dict[str, Any] = {"__annotations__": {"one": kind, "two": "int"}, "one": 1, "two": 2}
        return decorate(slots=True, **options)(type("Made", (), body))

    return make


@pytest.mark.parametrize("make", [_made("typing.ClassVar[int]"), _made("InitVar[int]"), _made("int", kw_only=True)])
def test_what_is_not_known_here_the_library_makes(make: Callable[[Callable[..., Any]], Any]) -> None:
    ours, theirs = make(records.dataclass), make(dataclasses.dataclass)
    assert [field.name for field in dataclasses.fields(ours)] == [field.name for field in dataclasses.fields(theirs)]
    assert inspect.signature(ours) == inspect.signature(theirs)


def test_fields_of_the_library_are_known() -> None:
    for field in (dataclasses.field, records.field):
        body = {"__annotations__": {"one": "list[int]", "two": "int"}, "one": field(default_factory=list)}
        body["two"] = field(default=2, kw_only=True)
        made = records.dataclass(frozen=True, slots=True)(type("Made", (), dict(body)))
        assert (made().one, made([1], two=3).two) == ([], 3)
        with pytest.raises(TypeError):
            made([1], 3)


def test_what_the_library_refuses_is_refused() -> None:
    for body in ({"one": []}, {"one": 1}, {"one": records.field(default=[])}):
        given = {"__annotations__": {"one": "int", "two": "int"}, "__module__": __name__, **body}
        for decorate in (records.dataclass, dataclasses.dataclass)[: 1 if type(body["one"]) not in (list, int) else 2]:
            with pytest.raises((TypeError, ValueError)):
                decorate(slots=True)(type("Made", (), dict(given)))


def test_fields_are_inherited() -> None:
    base = OURS[2]
    body = {"__annotations__": {"three": "int"}, "three": 3, "double": 1}
    derived = records.dataclass(frozen=True, slots=True)(type("Derived", (base,), body))
    assert [field.name for field in dataclasses.fields(derived)] == ["one", "double", "three"]


def _tuples(base: Any) -> tuple[Any, ...]:
    class Pair(base):  # type: ignore[misc]
        """Two."""

        one: int
        two: str = "b"

        @property
        def both(self) -> str:
            return f"{self.one}{self.two}"

        def __str__(self) -> str:
            return "a pair"

    class Empty(base):  # type: ignore[misc]
        pass

    class Many(base):  # type: ignore[misc]
        class_: int
        self: int
        VALUE0: int
        new: int = 4

    return Pair, Empty, Many


TUPLES = (_tuples(records.NamedTuple), _tuples(typing.NamedTuple))
ABOUT = (
    "_fields",
    "_field_defaults",
    "__match_args__",
    "__doc__",
    "__slots__",
    "__module__",
    "__qualname__",
    "__bases__",
)
names = st.dictionaries(st.sampled_from(("one", "two", "self", "new", "class_", "VALUE0", "other")), st.integers(0, 2))


@given(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=5), names, names)
def test_named_tuples_are_those_of_the_library(
    which: int, args: list[int], named: dict[str, int], changed: dict[str, int]
) -> None:
    def outcome(cls: Any) -> Any:
        shown: list[Any] = [getattr(cls, name) for name in ABOUT]
        try:
            made = cls(*args, **named)
        except TypeError as error:
            return [*shown, str(error).partition(". Did you mean")[0]]  # it would name a parameter
        shown += [tuple(made), repr(made), str(made), made._asdict(), hash(made), made == tuple(made)]
        shown += [[getattr(made, name) for name in cls._fields], getattr(made, "both", None)]
        shown += [copy.copy(made) == made, type(copy.deepcopy(made)) is cls, made.__getnewargs__()]
        for make in (lambda: cls._make(args), lambda: made._replace(**changed)):
            try:
                shown.append((tuple(make()), type(make()) is cls))
            except (TypeError, ValueError) as error:
                shown.append(str(error))
        return shown

    assert outcome(TUPLES[0][which]) == outcome(TUPLES[1][which])


def test_named_tuples_of_many_fields() -> None:
    fields = [f"name{number}" for number in range(40)]
    many = type(records.NamedTuple)("Many", (), {"__annotations__": dict.fromkeys(fields, int)})  # type: ignore[call-overload]
    made = many(*range(40))
    assert [getattr(made, name) for name in fields] == list(range(40))


def test_a_named_tuple_without_sense_is_refused() -> None:
    for body in ({"__annotations__": {"one": int, "two": int}, "one": 1}, {"_make": 1}, {"__new__": 1}):
        given = {"__module__": __name__, **body}
        for base in (records.NamedTuple, typing.NamedTuple):
            with pytest.raises((TypeError, AttributeError)):
                types.new_class("Odd", (base,), exec_body=lambda own, given=given: own.update(given))  # type: ignore[misc]


def test_a_lazy_pattern_is_a_pattern() -> None:
    pattern = lazy("(a+)b", 2)
    for _ in range(2):
        found = pattern.fullmatch("AAb")
        assert found is not None
        assert found[1] == "AA"
        assert pattern.sub("x", "aabab") == "xx"
        assert pattern.pattern == "(a+)b"
    assert pattern.search("c") is None


def test_the_methods_of_usual_sizes_are_those_that_would_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.delitem(sys.modules, "recordshapes", raising=False)
    import recordshapes as tool  # type: ignore[import-not-found, unused-ignore]

    assert tool.text() == Path(recordshapes.__file__).read_text(encoding="utf-8")
    for name, text in tool.shapes():
        written, compiled = getattr(recordshapes, name).__code__, recordcode.compiled(text)
        for part in ("co_code", "co_consts", "co_names", "co_varnames", "co_argcount", "co_kwonlyargcount"):
            assert getattr(written, part) == getattr(compiled, part), (name, part)


def test_usual_sizes_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(text: str) -> None:
        raise AssertionError(text)

    for cached in (recordcode.init_code, recordcode.new_code, recordcode.copy_code):
        cached.cache_clear()
    monkeypatch.setattr(recordcode, "compiled", refuse)
    assert recordcode.init_code("vvv", post=False).co_name == "__init__"
    assert recordcode.new_code(2).co_name == "__new__"
    assert recordcode.copy_code(4).co_name == "copy"
    for unusual in ("", "vvg", "vvd", "v v", "v" * 40):
        with pytest.raises(AssertionError):
            recordcode.init_code(unusual, post=False)
    with pytest.raises(AssertionError, match="__post_init__"):
        recordcode.init_code("vv", post=True)
