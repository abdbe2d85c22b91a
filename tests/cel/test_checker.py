"""What the checker gives besides types: names, overloads, constants, and that no expression is too much for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainc.cel import types
from trainc.cel.checker import NO_OPTIONAL, TOO_LARGE, check
from trainc.cel.declarations import Checked, base, declared, free
from trainc.cel.issues import CompileError
from trainc.cel.parser import parse
from trainc.cel.types import Type, parse_signature, parse_type, spell
from trainc.cel.unification import Bindings, exact

SIMPLE = (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES, types.DYN, types.ANY, types.NULL)
TYPES = st.recursive(
    st.sampled_from([*SIMPLE, types.TIMESTAMP, types.DURATION, types.struct("a.B"), types.wrapper(types.INT)]),
    lambda inner: (
        st.builds(types.list_of, inner)
        | st.builds(types.map_of, inner, inner)
        | st.builds(types.optional_of, inner)
        | st.builds(types.type_of, inner)
    ),
    max_leaves=6,
)


def checked(text: str, container: str = "", **names: Type) -> Checked:
    environment = free(names, container=container)
    return check(parse(text, environment.macros), environment)


def refused(text: str, **names: Type) -> tuple[str, ...]:
    with pytest.raises(CompileError) as caught:
        checked(text, **names)
    return tuple(issue.message for issue in caught.value.issues)


def test_a_node_that_keeps_its_names_is_kept() -> None:
    environment = free({"x": types.DYN})
    root = parse("[x].all(y, has(y.a) && {'k': y.a + 1}.k in [1])", environment.macros)
    assert check(root, environment).root is root


def test_fields_of_declared_structs() -> None:
    objects = {"self": {"name": types.STRING, "__namespace__": types.STRING}}
    environment = declared({"self": types.struct("self")}, objects)

    def type_of(text: str) -> Type:
        return check(parse(text, environment.macros), environment).type

    assert type_of("self.name") == types.STRING
    assert type_of("self.namespace") == type_of("self.__namespace__") == types.STRING
    assert type_of("duration") == types.type_of(types.DURATION)
    with pytest.raises(CompileError, match="undefined field 'nme'"):
        type_of("self.nme")


def test_errors_are_ignored_on_request() -> None:
    environment = base(False)
    root = parse("no.such + 'name'", environment.macros)
    assert check(root, environment, strict=False).type == types.DYN


def test_new_expressions_know_less() -> None:
    root = parse("[2, 1].sort()", base(False).macros)
    assert check(root, base(False)).type == types.list_of(types.INT)
    with pytest.raises(CompileError, match="undeclared reference to 'sort'"):
        check(root, base(True))
    assert ("sortBy", 2) in base(False).macros - base(True).macros
    assert len(base(True).functions) < len(base(False).functions)


def test_an_optional_element_of_type_dyn_breaks_the_server() -> None:
    assert refused("[?x]", x=types.DYN) == (NO_OPTIONAL,)
    assert refused("{?'a': x}", x=types.DYN) == (NO_OPTIONAL,)
    assert checked("'%s'.format([?x])", x=types.DYN).type == types.STRING


@pytest.mark.parametrize("step", ["{a: a}", "[[[[[[[[a]]]]]]]]"])
def test_types_may_not_grow_without_bound(step: str) -> None:
    assert refused("[1]" + f".map(a, {step})" * 60) == (TOO_LARGE,)


@pytest.mark.parametrize("text", ["[" * 200 + "1" + "]" * 200, "x" + ".a" * 200, "x" + ".map(y, y" * 90 + ")" * 90])
def test_deep_expressions(text: str) -> None:
    assert checked(text, x=types.DYN).types


def test_many_errors_are_all_told() -> None:
    assert refused("[" + ", ".join(["y"] * 500) + "]") == ("undeclared reference to 'y' (in container '')",) * 500


@given(TYPES)
def test_types_are_read_as_they_are_spelt(type_: Type) -> None:
    assert parse_type(spell(type_)) == type_


@pytest.mark.parametrize(
    "text", ["", "list(", "list()", "map(int)", "a b", "list(int", "list(int))", "()", "int(", ")"]
)
def test_no_types(text: str) -> None:
    with pytest.raises(ValueError, match="type"):
        parse_type(text)


def test_signatures() -> None:
    assert parse_signature(".(string, map(<K>, int)) optional_type(<K>)") == (
        True,
        (types.STRING, types.map_of(types.parameter("K"), types.INT)),
        types.optional_of(types.parameter("K")),
    )


@given(TYPES)
def test_a_type_fits_itself_dyn_and_a_variable(type_: Type) -> None:
    bindings = Bindings()
    variable = bindings.fresh()
    assert bindings.assignable(type_, type_)
    assert bindings.assignable(type_, types.DYN)
    assert bindings.assignable(types.DYN, type_)
    assert bindings.assignable(type_, variable)
    assert exact(bindings.substitute(variable), type_)


@given(TYPES, TYPES)
def test_what_does_not_fit_binds_nothing(left: Type, right: Type) -> None:
    bindings = Bindings()
    variable = bindings.fresh()
    pair = types.map_of(variable, types.list_of(types.struct("no.Such")))
    if not bindings.assignable(types.map_of(left, types.list_of(right)), pair):
        assert bindings.substitute(variable) == variable


def test_a_variable_never_holds_itself() -> None:
    bindings = Bindings()
    variable = bindings.fresh()
    assert not bindings.assignable(types.list_of(variable), variable)
