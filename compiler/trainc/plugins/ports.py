"""Inserts container ports, with the identity of ports in Trainer or in Kubernetes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from trainc.basics.jsonvalues import JsonObject

Keys = Callable[[JsonObject], tuple[object, ...]]
"""Returns the keys of a port. Two ports with a common key are the same."""


def upsert_ports(
    items: Iterable[JsonObject], new: Iterable[JsonObject], *, by_number: bool = False
) -> tuple[JsonObject, ...]:
    """Return ports with each new one replacing the first that Trainer treats as the same, or appended (C1, C2).

    ``by_number``: ports are the same if number and protocol are equal, and keep fields that the new one does not set.
    """
    keys = _number_and_protocol if by_number else _number_or_name
    out: list[JsonObject] = []
    indexes: dict[object, list[int]] = {}  # a heap per key, which may still have the index of a replaced port

    def put(index: int, item: JsonObject) -> None:
        if index == len(out):
            out.append(item)
        else:
            out[index] = item
        for key in keys(item):
            heappush(indexes.setdefault(key, []), index)

    for item in items:
        put(len(out), item)
    for item in new:
        index = min(_first(key, indexes.get(key, []), out, keys) for key in keys(item))
        put(index, {**out[index], **item} if by_number and index < len(out) else item)
    return tuple(out)


def _first(key: object, indexes: list[int], ports: list[JsonObject], keys: Keys) -> int:
    """Return the index of the first port with the key, or the number of ports."""
    while indexes and key not in keys(ports[indexes[0]]):
        heappop(indexes)
    return indexes[0] if indexes else len(ports)


def _number_and_protocol(port: JsonObject) -> tuple[object, ...]:
    """Return the key of a port for Kubernetes."""
    return ((port.get("containerPort"), port.get("protocol", "TCP")),)


def _number_or_name(port: JsonObject) -> tuple[object, ...]:
    """Return the keys of a port for Trainer, for which ports without a name are the same."""
    return ("containerPort", port.get("containerPort")), ("name", port.get("name"))
