"""Containers and init containers of a pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.checks.pod.environment import env_from_problems, env_problems
from trainc.checks.pod.mounts import mount_problems
from trainc.checks.pod.ports import host_port_conflicts, port_problems
from trainc.checks.pod.probes import forbidden_in_init, lifecycle_problems, probe_problems
from trainc.checks.pod.resources import device_problems, requirement_problems
from trainc.checks.pod.security import container_security
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import dns_label, text
from trainc.records import dataclass, replace
from trainc.source import JsonObject, as_object, objects

CONTAINER, ENVIRONMENT, MOUNTS, RESOURCES, SECURITY = "TC805", "TC811", "TC806", "TC807", "TC809"
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
RESIZED = ("cpu", "memory")
RESIZE_POLICIES = ("NotRequired", "RestartContainer")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container is checked against: ``volumes`` that can be mounted, and fields of its pod."""

    volumes: Mapping[str, JsonObject]
    claims: tuple[str, ...]
    grace: int | None
    restart_policy: str
    host_users: bool


def container_problems(place: Place, spec: JsonObject, around: Surroundings) -> Iterator[Problem]:
    """Check the containers and init containers of a pod's spec."""
    containers, init_containers = (objects(spec.get(kind)) for kind in ("containers", "initContainers"))
    at = place.coded(CONTAINER).child("containers")
    if not containers:
        yield at.required()
    names: set[str] = set()
    for index, container in enumerate(containers):
        yield from _container(at.index(index), container, around)
        yield from _unique(at.index(index), text(container, "name"), names)
        yield from lifecycle_problems(at.index(index), container, around.grace)
        yield from probe_problems(at.index(index), container)
    yield from host_port_conflicts(at, containers, host_network=False)
    at = place.coded(CONTAINER).child("initContainers")
    for index, container in enumerate(init_containers):
        yield from _container(at.index(index), container, around)
        yield from _init(at.index(index), container, around)
        yield from _unique(at.index(index), text(container, "name"), names, init=True)
        # Init containers run one by one; the server counts the one that it looks at as the first.
        yield from (_renumbered(p, index) for p in host_port_conflicts(at, [container], host_network=False))


def _renumbered(problem: Problem, index: int) -> Problem:
    steps = list(problem.path)
    steps[steps.index("initContainers") + 1] = index
    return replace(problem, path=tuple(steps))


def _unique(place: Place, name: str, names: set[str], *, init: bool = False) -> Iterator[Problem]:
    if name in names:
        yield place.child("name").duplicate(name)
    if name or not init:
        names.add(name)


def _container(place: Place, container: JsonObject, around: Surroundings) -> Iterator[Problem]:
    name = text(container, "name")
    yield from dns_label(place.child("name"), name) if name else (place.child("name").required(),)
    if not text(container, "image"):
        yield place.child("image").required()
    policy = text(container, "terminationMessagePolicy")
    if policy and policy not in MESSAGE_POLICIES:
        yield place.child("terminationMessagePolicy").unsupported(policy, MESSAGE_POLICIES)
    yield from port_problems(place.child("ports"), container.get("ports"))
    yield from env_problems(place.coded(ENVIRONMENT).child("env"), container.get("env"))
    yield from env_from_problems(place.coded(ENVIRONMENT).child("envFrom"), container.get("envFrom"))
    yield from mount_problems(place.coded(MOUNTS), container, around.volumes)
    pull = text(container, "imagePullPolicy")
    if pull and pull not in PULL_POLICIES:
        yield place.child("imagePullPolicy").unsupported(pull, PULL_POLICIES)
    resources, at = as_object(container.get("resources")), place.coded(RESOURCES).child("resources")
    yield from requirement_problems(at, resources)
    yield from device_problems(at.child("claims"), resources, around.claims)
    yield from _resizing(place.coded(RESOURCES).child("resizePolicy"), container, around.restart_policy)
    if isinstance(context := container.get("securityContext"), dict):
        at = place.coded(SECURITY).child("securityContext")
        yield from container_security(at, context, host_users=around.host_users)


def _resizing(place: Place, container: JsonObject, restart_policy: str) -> Iterator[Problem]:
    """Check what happens when resources change; the server's names lack the number of the item."""
    seen: set[str] = set()
    for index, policy in enumerate(objects(container.get("resizePolicy"))):
        name, restart, at = text(policy, "resourceName"), text(policy, "restartPolicy"), place.within(index)
        if name in seen:
            yield place.index(index).duplicate(name)
        seen.add(name)
        for value, supported in ((name, RESIZED), (restart, RESIZE_POLICIES)):
            if not value:
                yield at.required()
            elif value not in supported:
                yield at.unsupported(value, supported)
        if restart_policy == "Never" and restart != "NotRequired":
            yield at.invalid(restart, "must be 'NotRequired' when `restartPolicy` is 'Never'", typed=True)


def _init(place: Place, container: JsonObject, around: Surroundings) -> Iterator[Problem]:
    # Other policies, and any of a container proper, are behind a gate that is off: the server drops them.
    if container.get("restartPolicy") == "Always":
        yield from lifecycle_problems(place, container, around.grace)
        yield from probe_problems(place, container)
    else:
        yield from forbidden_in_init(place, container)
