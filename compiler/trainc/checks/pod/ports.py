"""Ports of containers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainc.checks.problem import Place, Problem
from trainc.checks.rules import MAX_PORT, between, number, text
from trainc.kube.names import is_valid_port_name
from trainc.source import Json, JsonObject, objects

PROTOCOLS = ("SCTP", "TCP", "UDP")


def port_problems(place: Place, ports: Json) -> Iterator[Problem]:
    """Check the ports of one container: names and numbers."""
    names: set[str] = set()
    for index, port in enumerate(objects(ports)):
        at = place.index(index)
        yield from _name(at.child("name"), text(port, "name"), names)
        container_port = number(port, "containerPort") or 0
        if container_port == 0:
            yield at.child("containerPort").required()
        else:
            yield from in_range(at.child("containerPort"), container_port)
        if host_port := number(port, "hostPort"):
            yield from in_range(at.child("hostPort"), host_port)
        protocol = text(port, "protocol") or "TCP"
        if protocol not in PROTOCOLS:
            yield at.child("protocol").unsupported(protocol, PROTOCOLS)


def _name(place: Place, name: str, names: set[str]) -> Iterator[Problem]:
    if not name:
        return
    if details := is_valid_port_name(name):
        yield from place.each_invalid(name, details)
    elif name in names:
        yield place.duplicate(name)
    names.add(name)


def in_range(place: Place, port: int) -> Iterator[Problem]:
    """Check the number of a port."""
    if not 1 <= port <= MAX_PORT:
        yield place.invalid(port, between(1, MAX_PORT))


def port_or_name(place: Place, value: Json) -> Iterator[Problem]:
    """Check a reference to a port, a number or a name."""
    if isinstance(value, str):
        yield from place.each_invalid(value, is_valid_port_name(value))
    else:
        yield from in_range(place, value if isinstance(value, int) else 0)


def host_port_conflicts(place: Place, containers: Iterable[JsonObject], *, host_network: bool) -> Iterator[Problem]:
    """Report host ports that two ports of a pod want; with ``host_network`` every port is one of the host."""
    taken: dict[str, None] = {}
    for index, container in enumerate(containers):
        for i, port in enumerate(objects(container.get("ports"))):
            host_port = number(port, "hostPort") or (number(port, "containerPort") if host_network else 0)
            if not host_port:
                continue
            key = f"{text(port, 'protocol') or 'TCP'}/{text(port, 'hostIP')}/{host_port}"
            if key in taken:
                yield place.index(index).child("ports").index(i).child("hostPort").duplicate(key)
            taken[key] = None


def host_network_ports(place: Place, containers: Iterable[JsonObject]) -> Iterator[Problem]:
    """Report host ports that differ from the container's where the pod is in the host's network."""
    for index, container in enumerate(containers):
        for i, port in enumerate(objects(container.get("ports"))):
            host_port = number(port, "hostPort") or 0
            if host_port not in (0, number(port, "containerPort")):
                at = place.index(index).child("ports").index(i).child("hostPort")
                yield at.invalid(host_port, "must match `containerPort` when `hostNetwork` is true")
