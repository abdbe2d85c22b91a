"""Items put into a list of a template: where plugins only add to it, the short way gives what the long one does."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainc.basics.memo import LASTING, last
from trainc.plugins.jobset import _with
from trainc.plugins.model import upsert_mounts, upsert_named, upsert_ports, upsert_ports_by_number

KEYS = {upsert_named: "name", upsert_mounts: "mountPath", upsert_ports: "name", upsert_ports_by_number: "containerPort"}
ITEMS: list[dict[str, Any]] = [
    {"name": name, "mountPath": path, "containerPort": port}
    for name, path, port in (("a", "a", 1), ("a", "b", 2), ("b", "a", 1), ("c", "c", 3))
] + [{"value": "x"}, {"name": "a"}]
PICKED = st.lists(st.sampled_from(ITEMS), max_size=4)


@given(
    st.sampled_from(list(KEYS)),
    PICKED | st.none(),
    PICKED,
    st.booleans(),
    st.lists(st.sampled_from(("own", "new")), max_size=2),
)
def test_items_are_put_in_as_one_by_one(
    upsert: Any, own: list[Any] | None, more: list[Any], continues: bool, lasting: list[str]
) -> None:
    LASTING.clear()
    new = tuple([*(own or []), *more] if continues else more)
    wanted = [*upsert(own or [], new)]
    if "own" in lasting and own is not None:
        last(own)
    if "new" in lasting:
        last(new)
    for _ in range(2):
        assert _with(own, new, upsert) == wanted
    assert _with([{"name": "z"}], new, upsert) == [*upsert([{"name": "z"}], new)]
    assert _with(own, new, upsert) == wanted
