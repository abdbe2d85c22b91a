"""Containers and init containers of a pod."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get, objects
from trainc.checks.fields import MAX_PORT, Field, between, descending, dns_label, id_in_range, number, text
from trainc.checks.pod_environment import env_from_problems, env_problems
from trainc.checks.pod_resources import device_problems, requirement_problems
from trainc.checks.pod_volumes import mount_problems
from trainc.findings.fault import Fault
from trainc.kube.names import is_valid_port_name

CONTAINER, ENVIRONMENT, MOUNTS, RESOURCES, SECURITY = "TC805", "TC811", "TC806", "TC807", "TC809"
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
RESIZED = ("cpu", "memory")
RESIZE_POLICIES = ("NotRequired", "RestartContainer")


class Surroundings(msgspec.Struct, frozen=True):
    """What a container is checked against: ``volumes`` that can be mounted, and fields of its pod."""

    volumes: Mapping[str, JsonObject]
    claims: tuple[str, ...]
    grace: int | None
    restart_policy: str
    host_users: bool


def container_problems(field: Field, spec: JsonObject, around: Surroundings) -> Iterator[Fault]:
    """Check the containers and init containers of a pod's spec."""
    containers, init_containers = (objects(spec.get(kind)) for kind in ("containers", "initContainers"))
    at = field.coded(CONTAINER).child("containers")
    if not containers:
        yield at.required()
    names: set[str] = set()
    for index, container in enumerate(containers):
        yield from _container(at.index(index), container, around)
        yield from _unique(at.index(index), text(container, "name"), names)
        yield from lifecycle_problems(at.index(index), container, around.grace)
        yield from probe_problems(at.index(index), container)
    yield from host_port_conflicts(at, containers, host_network=False)
    at = field.coded(CONTAINER).child("initContainers")
    for index, container in enumerate(init_containers):
        yield from _container(at.index(index), container, around)
        yield from _init(at.index(index), container, around)
        yield from _unique(at.index(index), text(container, "name"), names, init=True)
        # Init containers run one by one; the server counts the one that it looks at as the first.
        yield from (_renumbered(p, index) for p in host_port_conflicts(at, [container], host_network=False))


def _renumbered(problem: Fault, index: int) -> Fault:
    steps = list(problem.path)
    steps[steps.index("initContainers") + 1] = index
    return replace(problem, path=tuple(steps))


def _unique(field: Field, name: str, names: set[str], *, init: bool = False) -> Iterator[Fault]:
    if name in names:
        yield field.child("name").duplicate(name)
    if name or not init:
        names.add(name)


def _container(field: Field, container: JsonObject, around: Surroundings) -> Iterator[Fault]:
    name = text(container, "name")
    yield from dns_label(field.child("name"), name) if name else (field.child("name").required(),)
    if not text(container, "image"):
        yield field.child("image").required()
    yield from field.one_of(container, "terminationMessagePolicy", MESSAGE_POLICIES)
    yield from port_problems(field, container)
    yield from env_problems(field.coded(ENVIRONMENT), container)
    yield from env_from_problems(field.coded(ENVIRONMENT).child("envFrom"), container.get("envFrom"))
    yield from mount_problems(field.coded(MOUNTS), container, around.volumes)
    yield from field.one_of(container, "imagePullPolicy", PULL_POLICIES)
    resources, at = as_object(container.get("resources")), field.coded(RESOURCES).child("resources")
    yield from requirement_problems(at, resources)
    yield from device_problems(at.child("claims"), resources, around.claims)
    yield from _resizing(field.coded(RESOURCES).child("resizePolicy"), container, around.restart_policy)
    if isinstance(context := container.get("securityContext"), dict):
        at = field.coded(SECURITY).child("securityContext")
        yield from container_security(at, context, host_users=around.host_users)


def _resizing(field: Field, container: JsonObject, restart_policy: str) -> Iterator[Fault]:
    """Check what happens when resources change; the server's names lack the number of the item."""
    seen: set[str] = set()
    for index, policy in enumerate(objects(container.get("resizePolicy"))):
        name, restart, at = text(policy, "resourceName"), text(policy, "restartPolicy"), field.within(index)
        if name in seen:
            yield field.index(index).duplicate(name)
        seen.add(name)
        for value, supported in ((name, RESIZED), (restart, RESIZE_POLICIES)):
            if not value:
                yield at.required()
            elif value not in supported:
                yield at.unsupported(value, supported)
        if restart_policy == "Never" and restart != "NotRequired":
            yield at.invalid(restart, "must be 'NotRequired' when `restartPolicy` is 'Never'", typed=True)


def _init(field: Field, container: JsonObject, around: Surroundings) -> Iterator[Fault]:
    # Other policies, and any of a container proper, are behind a gate that is off: the server drops them.
    if container.get("restartPolicy") == "Always":
        yield from lifecycle_problems(field, container, around.grace)
        yield from probe_problems(field, container)
    else:
        yield from forbidden_in_init(field, container)


# Probes and lifecycle hooks of containers.


PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
SCHEMES = ("HTTP", "HTTPS")
NOT_FOR_INIT = "may not be set for init containers without restartPolicy=Always"
_HEADER = "[-A-Za-z0-9]+"
_HEADER_TEXT = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
    f" validation is '{_HEADER}')"
)


def probe_problems(field: Field, container: JsonObject) -> Iterator[Fault]:
    """Check the three probes of a container."""
    for kind in PROBES:
        if isinstance(probe := container.get(kind), dict):
            yield from _probe(field.child(kind), probe, kind)


def _probe(field: Field, probe: JsonObject, kind: str) -> Iterator[Fault]:
    yield from handler_problems(field, probe, ("exec", "httpGet", "tcpSocket", "grpc"))
    yield from field.not_negatives(probe, COUNTS)
    grace, at = number(probe, "terminationGracePeriodSeconds"), field.child("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield at.invalid(grace, "must be greater than 0")
    if kind == "readinessProbe":
        if grace is not None:
            yield at.invalid(grace, "must not be set for readinessProbes")
    elif (threshold := number(probe, "successThreshold") or 1) != 1:
        yield field.child("successThreshold").invalid(threshold, "must be 1")


def lifecycle_problems(field: Field, container: JsonObject, grace: int | None) -> Iterator[Fault]:
    """Check the hooks of a container; ``grace`` is the pod's terminationGracePeriodSeconds."""
    for hook in ("postStart", "preStop"):
        if isinstance(handler := get(container, "lifecycle", hook), dict):
            at = field.child("lifecycle", hook)
            yield from handler_problems(at, handler, ("exec", "httpGet", "tcpSocket", "sleep"), grace)


def forbidden_in_init(field: Field, container: JsonObject) -> Iterator[Fault]:
    """Report probes and hooks of an init container that runs to its end."""
    for key in ("lifecycle", *PROBES):
        if container.get(key) is not None:
            yield field.child(key).forbidden(NOT_FOR_INIT)


def handler_problems(
    field: Field, handler: JsonObject, kinds: tuple[str, ...], grace: int | None = None
) -> Iterator[Fault]:
    """Check that a probe or hook does one thing, which is whole."""
    given = [kind for kind in kinds if isinstance(handler.get(kind), dict)]
    if not given:
        yield field.required("must specify a handler type")
    for position, kind in enumerate(given):
        at = field.child(kind)
        if position:
            yield at.forbidden("may not specify more than 1 handler type")
        elif kind == "sleep":
            yield from _sleep(at, number(handler, kind, "seconds") or 0, grace)
        else:
            yield from _HANDLERS[kind](at, as_object(handler[kind]))


def _exec(field: Field, action: JsonObject) -> Iterator[Fault]:
    if not action.get("command"):
        yield field.child("command").required()


def _http_get(field: Field, action: JsonObject) -> Iterator[Fault]:
    yield from port_or_name(field.child("port"), action.get("port"))
    yield from field.one_of(action, "scheme", SCHEMES)
    for index, header in enumerate(objects(action.get("httpHeaders"))):
        if not re.fullmatch(_HEADER, name := text(header, "name")):
            yield field.child("httpHeaders").within(index, "name").invalid(name, _HEADER_TEXT)


def _port(field: Field, action: JsonObject) -> Iterator[Fault]:
    return port_or_name(field.child("port"), action.get("port"))


def _sleep(field: Field, seconds: int, grace: int | None) -> Iterator[Fault]:
    if grace is not None and not 0 <= seconds <= grace:
        detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield field.within("seconds").invalid(seconds, detail)


_HANDLERS: dict[str, Callable[[Field, JsonObject], Iterator[Fault]]] = {
    "exec": _exec,
    "httpGet": _http_get,
    "tcpSocket": _port,
    "grpc": _port,
}


# Ports of containers.


PROTOCOLS = ("SCTP", "TCP", "UDP")


def port_problems(field: Field, container: JsonObject) -> Iterator[Fault]:
    """Check the ports of one container: names and numbers."""
    names: set[str] = set()
    for at, port in field.items(container, "ports"):
        yield from _name(at.child("name"), text(port, "name"), names)
        container_port = number(port, "containerPort") or 0
        if container_port == 0:
            yield at.child("containerPort").required()
        else:
            yield from in_range(at.child("containerPort"), container_port)
        if host_port := number(port, "hostPort"):
            yield from in_range(at.child("hostPort"), host_port)
        yield from at.one_of(port, "protocol", PROTOCOLS)


def _name(field: Field, name: str, names: set[str]) -> Iterator[Fault]:
    if not name:
        return
    if details := is_valid_port_name(name):
        yield from field.each_invalid(name, details)
    elif name in names:
        yield field.duplicate(name)
    names.add(name)


def in_range(field: Field, port: int) -> Iterator[Fault]:
    """Check the number of a port."""
    if not 1 <= port <= MAX_PORT:
        yield field.invalid(port, between(1, MAX_PORT))


def port_or_name(field: Field, value: Json) -> Iterator[Fault]:
    """Check a reference to a port, a number or a name."""
    if isinstance(value, str):
        yield from field.each_invalid(value, is_valid_port_name(value))
    else:
        yield from in_range(field, value if isinstance(value, int) else 0)


def host_port_conflicts(field: Field, containers: Iterable[JsonObject], *, host_network: bool) -> Iterator[Fault]:
    """Report host ports that two ports of a pod want; with ``host_network`` every port is one of the host."""
    taken: set[str] = set()
    for at, port in _ports(field, containers):
        if host_port := number(port, "hostPort") or (number(port, "containerPort") if host_network else 0):
            key = f"{text(port, 'protocol') or 'TCP'}/{text(port, 'hostIP')}/{host_port}"
            if key in taken:
                yield at.child("hostPort").duplicate(key)
            taken.add(key)


def host_network_ports(field: Field, containers: Iterable[JsonObject]) -> Iterator[Fault]:
    """Report host ports that differ from the container's where the pod is in the host's network."""
    for at, port in _ports(field, containers):
        host_port = number(port, "hostPort") or 0
        if host_port not in (0, number(port, "containerPort")):
            yield at.child("hostPort").invalid(host_port, "must match `containerPort` when `hostNetwork` is true")


def _ports(field: Field, containers: Iterable[JsonObject]) -> Iterator[tuple[Field, JsonObject]]:
    for index, container in enumerate(containers):
        yield from field.index(index).items(container, "ports")


# Security contexts of containers and pods.


SECCOMP_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
PROC_MOUNTS = ("Default", "Unmasked")
GROUP_POLICIES = ("Always", "OnRootMismatch")
SUPPLEMENTAL_POLICIES = ("Merge", "Strict")
MAX_SYSCTL = 253
MAX_PROFILE = 4095
_SYSCTL = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_NAME = rf"({_SYSCTL}[\./])*{_SYSCTL}"
_NAMESPACED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "fs.mqueue.", "kernel.sem")}

# The fields of Go's struct, which the server prints whole, in their order.
_CONTEXT = (
    "capabilities",
    "privileged",
    "seLinuxOptions",
    "windowsOptions",
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "readOnlyRootFilesystem",
    "allowPrivilegeEscalation",
    "procMount",
    "seccompProfile",
    "appArmorProfile",
)


def container_security(field: Field, context: JsonObject, *, host_users: bool) -> Iterator[Fault]:
    """Check a container's security context. That the cluster allows privileged containers is taken for granted."""
    for key in ("runAsUser", "runAsGroup"):
        yield from id_in_range(field.child(key), context.get(key))
    if "procMount" in context:
        proc_mount, at = text(context, "procMount"), field.child("procMount")
        if proc_mount not in PROC_MOUNTS:
            yield at.unsupported(proc_mount, PROC_MOUNTS)
        if host_users and proc_mount == "Unmasked":
            yield at.invalid(proc_mount, "`hostUsers` must be false to use `Unmasked`", typed=True)
    yield from seccomp(field.child("seccompProfile"), context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        yield from _no_escalation(field, context)
    yield from _app_armor(field.child("appArmorProfile"), context.get("appArmorProfile"))


def _no_escalation(field: Field, context: JsonObject) -> Iterator[Fault]:
    at = field.within("allowPrivilegeEscalation")
    if context.get("privileged") is True:
        yield at.invalid(_struct(context), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
    for capability in as_list(get(context, "capabilities", "add")):
        if capability == "CAP_SYS_ADMIN":
            detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield at.invalid(_struct(context), detail)


def _struct(context: JsonObject) -> JsonObject:
    return {_go_name(field): _struct_value(field, context.get(field)) for field in _CONTEXT}


_STRUCTS = {
    "capabilities": ("add", "drop"),
    "seLinuxOptions": ("user", "role", "type", "level"),
    "seccompProfile": ("type", "localhostProfile"),
    "appArmorProfile": ("type", "localhostProfile"),
}


def _struct_value(field: str, value: Json) -> Json:
    if field not in _STRUCTS or not isinstance(value, dict):
        return value
    empty: Json = "" if field == "seLinuxOptions" else None
    return {_go_name(name): value.get(name, empty) for name in _STRUCTS[field]}


def _go_name(field: str) -> str:
    return f"SELinux{field[7:]}" if field.startswith("seLinux") else field[0].upper() + field[1:]


def pod_security(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Check a pod's security context."""
    context = spec.get("securityContext")
    if not isinstance(context, dict):
        return
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from id_in_range(field.child(key), context.get(key))
    for index, group in enumerate(as_list(context.get("supplementalGroups"))):
        yield from id_in_range(field.child("supplementalGroups").index(index), group)
    yield from _sysctls(field, context, spec)
    for key, policies in (
        ("fsGroupChangePolicy", GROUP_POLICIES),
        ("supplementalGroupsPolicy", SUPPLEMENTAL_POLICIES),
    ):
        if key in context and context[key] not in policies:
            yield field.child(key).unsupported(context[key], policies)
    yield from seccomp(field.child("seccompProfile"), context.get("seccompProfile"))
    yield from _app_armor(field.child("appArmorProfile"), context.get("appArmorProfile"))


def _sysctls(field: Field, context: JsonObject, spec: JsonObject) -> Iterator[Fault]:
    names: set[str] = set()
    for item, sysctl in field.items(context, "sysctls"):
        at, name = item.child("name"), text(sysctl, "name")
        if not name:
            yield at.required()
        elif len(name.encode()) > MAX_SYSCTL or not re.fullmatch(_SYSCTL_NAME, name):
            yield at.invalid(name, f"must have at most {MAX_SYSCTL} characters and match regex ^{_SYSCTL_NAME}$")
        elif name in names:
            yield at.duplicate(name)
        names.add(name)
        for host, prefixes in _NAMESPACED.items():
            if spec.get(host) is True and name.replace("/", ".").startswith(prefixes):
                yield at.invalid(name, f"may not be specified when '{host}' is true")


def seccomp(field: Field, profile: Json) -> Iterator[Fault]:
    """Check a seccomp profile; an absent one is fine."""
    if not isinstance(profile, dict):
        return
    kind, at = text(profile, "type"), field.child("localhostProfile")
    if not kind:
        yield field.child("type").required("type is required when seccompProfile is set")
    elif kind not in SECCOMP_TYPES:
        yield field.child("type").unsupported(kind, SECCOMP_TYPES)
    path = profile.get("localhostProfile")
    if kind == "Localhost":
        if isinstance(path, str):
            yield from descending(at, path)
        else:
            yield at.required("must be set when seccomp type is Localhost")
    elif path is not None:
        shown: JsonObject = {"Type": kind, "LocalhostProfile": path}
        yield at.invalid(shown, "can only be set when seccomp type is Localhost")


def _app_armor(field: Field, profile: Json) -> Iterator[Fault]:
    if not isinstance(profile, dict):
        return
    kind, path, at = text(profile, "type"), profile.get("localhostProfile"), field.child("localhostProfile")
    if kind == "Localhost":
        if not isinstance(path, str) or not path:
            yield at.required("must be set when AppArmor type is Localhost")
        elif path != path.strip():
            yield at.invalid(path, "must not be padded with whitespace")
        if isinstance(path, str) and len(path.encode()) > MAX_PROFILE:
            yield at.too_long(MAX_PROFILE)
    elif not kind:
        yield field.child("type").required("type is required when appArmorProfile is set")
    elif kind not in SECCOMP_TYPES:
        yield field.child("type").unsupported(kind, SECCOMP_TYPES)
    elif path is not None:
        yield at.invalid(path, "can only be set when AppArmor type is Localhost")
