"""Ports are inserted as by a search through all of them, which is what Trainer and Kubernetes do."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trainc.basics.jsonvalues import JsonObject
from trainc.plugins.ports import upsert_ports

PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.integers(1, 4)},
        optional={"name": st.sampled_from("abc"), "protocol": st.sampled_from(("TCP", "UDP")), "hostPort": st.just(9)},
    ),
    max_size=5,
)


def same(one: JsonObject, two: JsonObject, by_number: bool) -> bool:
    numbers = one["containerPort"] == two["containerPort"]
    if by_number:
        return numbers and one.get("protocol", "TCP") == two.get("protocol", "TCP")
    return numbers or one.get("name") == two.get("name")


@pytest.mark.parametrize("by_number", [True, False])
@given(old=PORTS, new=PORTS)
@example(old=[{"containerPort": 1, "name": "a"}, {"containerPort": 1, "name": "b"}], new=[{"containerPort": 1}])
def test_a_new_port_replaces_the_first_that_is_the_same(
    by_number: bool, old: list[JsonObject], new: list[JsonObject]
) -> None:
    expected = list(old)
    for port in new:
        at = next((at for at, other in enumerate(expected) if same(other, port, by_number)), len(expected))
        before = expected[at] if by_number and at < len(expected) else {}
        expected[at : at + 1] = [{**before, **port}]
    assert upsert_ports(old, new, by_number=by_number) == tuple(expected)
