"""Container ports with others put in: which ports are the same for Trainer, and which for Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush

from trainc.basics.jsonvalues import JsonObject

Keys = Callable[[JsonObject], tuple[object, ...]]
"""What tells a port from others: two that have any key in common are the same."""


def upsert_ports(
    items: Iterable[JsonObject], new: Iterable[JsonObject], *, by_number: bool = False
) -> tuple[JsonObject, ...]:
    """Return ports with each new one in place of the first that Trainer takes for the same, or appended (C1, C2).

    ``by_number``: the same are those of one number and protocol, and the old one keeps what the new one does not say.
    """
    keys = _number_and_protocol if by_number else _number_or_name
    out: list[JsonObject] = []
    places: dict[object, list[int]] = {}  # of each key a heap, in which the place of a replaced port may remain

    def put(index: int, item: JsonObject) -> None:
        if index == len(out):
            out.append(item)
        else:
            out[index] = item
        for key in keys(item):
            heappush(places.setdefault(key, []), index)

    for item in items:
        put(len(out), item)
    for item in new:
        index = min(_first(key, places.get(key, []), out, keys) for key in keys(item))
        put(index, {**out[index], **item} if by_number and index < len(out) else item)
    return tuple(out)


upsert_ports_by_number = partial(upsert_ports, by_number=True)


def _first(key: object, places: list[int], ports: list[JsonObject], keys: Keys) -> int:
    """Return the place of the first port that has the key, or that after the last port."""
    while places and key not in keys(ports[places[0]]):
        heappop(places)
    return places[0] if places else len(ports)


def _number_and_protocol(port: JsonObject) -> tuple[object, ...]:
    """Return what tells ports apart for Kubernetes."""
    return ((port.get("containerPort"), port.get("protocol", "TCP")),)


def _number_or_name(port: JsonObject) -> tuple[object, ...]:
    """Return what tells ports apart for Trainer: two that both lack a name are the same."""
    return ("containerPort", port.get("containerPort")), ("name", port.get("name"))
