"""Containers and init containers of a pod."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from trainc.admission.fields import MAX_ID, Field, dns_label, internal, local_descending_path, unique
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object
from trainc.checks.functions import MAX_ARGUMENT, read_script
from trainc.checks.pod_environment import validate_env, validate_env_from
from trainc.checks.pod_resources import pod_claims_of, validate_resource_claims, validate_resources
from trainc.checks.pod_volumes import Volumes, validate_volume_mounts
from trainc.kube.names import is_valid_port_name
from trainc.kube.pods import REFERENCE

CONTAINER, ENVIRONMENT, MOUNTS, RESOURCES, SECURITY = "TC805", "TC811", "TC806", "TC807", "TC809"
MAX_PORT = 65535


def validate_containers(spec: Field, volumes: Volumes) -> None:
    """Check the containers and init containers of a pod's spec."""
    containers, init_containers = spec.items("containers"), spec.items("initContainers")
    spec.child("containers").require()
    unique(container.child("name") for container in (*containers, *init_containers))
    claims = pod_claims_of(spec)
    for container in containers:
        _container(container, spec, volumes, claims)
        _probes_and_hooks(container, spec)
    for port, key in host_port_conflicts(containers):
        port.duplicate(key)
    for container in init_containers:
        _container(container, spec, volumes, claims)
        # The server drops other policies, and those of containers, since their feature gate is off.
        if container.text("restartPolicy") == "Always":
            _probes_and_hooks(container, spec)
        else:
            for field in map(container.child, ("lifecycle", *_PROBES)):
                # The server drops stopSignal, and with it a lifecycle that has no other field.
                if field.value is not None and {*as_object(field.value)} != {"stopSignal"}:
                    field.forbidden("may not be set for init containers without restartPolicy=Always")
        # Init containers run one by one, so in this error the server gives each of them index 0.
        for port, key in host_port_conflicts([container.named(f"{spec.name}.initContainers[0]")]):
            port.duplicate(key)


def _container(container: Field, spec: Field, volumes: Volumes, claims: Collection[str]) -> None:
    if container.child("name").require():
        dns_label(container.child("name"))
    container.child("image").require()
    container.child("terminationMessagePolicy").one_of(("File", "FallbackToLogsOnError"))
    _container_ports(container)
    validate_env(container.coded(ENVIRONMENT))
    validate_env_from(container.coded(ENVIRONMENT))
    validate_volume_mounts(container.coded(MOUNTS), volumes)
    container.child("imagePullPolicy").one_of(("Always", "IfNotPresent", "Never"))
    resources = container.coded(RESOURCES).child("resources")
    validate_resources(resources, resources.child("limits"), resources.child("requests"))
    validate_resource_claims(container.coded(RESOURCES), claims)
    _resize_policy(container.coded(RESOURCES), spec.text("restartPolicy"))
    if container.has("securityContext"):
        _security_context(container.coded(SECURITY).child("securityContext"), spec)


def _resize_policy(container: Field, restart_policy: str) -> None:
    """Check the resize policy; the server's names lack the index of the item."""
    policies = container.items("resizePolicy")
    unique(item.child("resourceName").named(item.name) for item in policies)
    for item in policies:
        policy = item.named(f"{container.name}.resizePolicy")
        name, restart = policy.text("resourceName"), policy.text("restartPolicy")
        for value, supported in ((name, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if not value:
                policy.required()
            elif value not in supported:
                policy.unsupported(supported, value)
        if restart_policy == "Never" and restart != "NotRequired":
            policy.invalid("must be 'NotRequired' when `restartPolicy` is 'Never'", restart, typed=True)


# Probes and lifecycle hooks.


_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER = "[-A-Za-z0-9]+"
_HEADER_TEXT = (
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
    f" validation is '{_HEADER}')"
)


def _probes_and_hooks(container: Field, spec: Field) -> None:
    grace = spec.number("terminationGracePeriodSeconds")
    for hook in ("postStart", "preStop"):
        if container.has("lifecycle", hook):
            kinds = ("exec", "httpGet", "tcpSocket", "sleep")
            _handler(container.child("lifecycle", hook), kinds, 30 if grace is None else grace)
    for kind in filter(container.has, _PROBES):
        probe = container.child(kind)
        _handler(probe, ("exec", "httpGet", "tcpSocket", "grpc"))
        for name in _COUNTS:
            probe.child(name).not_negative()
        seconds, threshold = probe.child("terminationGracePeriodSeconds"), probe.child("successThreshold")
        if (number := seconds.number()) is not None and number <= 0:
            seconds.invalid("must be greater than 0")
        if kind != "readinessProbe" and threshold.number() not in (None, 0, 1):
            threshold.invalid("must be 1")
        if kind == "readinessProbe" and number is not None:
            seconds.invalid("must not be set for readinessProbes")


def _handler(handler: Field, kinds: tuple[str, ...], grace: int = 0) -> None:
    """Check that a probe or hook does exactly one thing."""
    given = [*filter(handler.has, kinds)]
    if not given:
        handler.required("must specify a handler type")
    for position, kind in enumerate(given):
        action = handler.child(kind)
        if position:
            action.forbidden("may not specify more than 1 handler type")
        elif kind == "exec":
            action.child("command").require()
        elif kind == "sleep":
            if not 0 <= (seconds := action.number("seconds") or 0) <= grace:
                detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                action.child("seconds").named(action.name).invalid(detail, seconds)
        else:
            port = action.child("port")
            if isinstance(port.value, str):
                port.invalid_each(is_valid_port_name(port.value))
            elif not 1 <= (number := port.number() or 0) <= MAX_PORT:
                port.invalid(f"must be between 1 and {MAX_PORT}, inclusive", number)
            action.child("scheme").one_of(("HTTP", "HTTPS"))
            for header in action.items("httpHeaders"):
                if not re.fullmatch(_HEADER, header.text("name")):
                    header.child("name").named(f"{action.name}.httpHeaders").invalid(_HEADER_TEXT)


# Ports.


def _container_ports(container: Field) -> None:
    ports = container.items("ports")
    names = [port.child("name") for port in ports if port.text("name")]
    unique(name for name in names if not is_valid_port_name(name.text()))
    for name in names:
        name.invalid_each(is_valid_port_name(name.text()))
    for port in ports:
        if (number := port.child("containerPort")).require():
            number.between(1, MAX_PORT)
        if port.number("hostPort"):
            port.child("hostPort").between(1, MAX_PORT)
        port.child("protocol").one_of(("SCTP", "TCP", "UDP"))


def host_port_conflicts(containers: Iterable[Field], *, host_network: bool = False) -> Iterator[tuple[Field, str]]:
    """Yield each hostPort that an earlier port has, with their key. In the host's network, every port is a hostPort."""
    taken: set[str] = set()
    for port in (port for container in containers for port in container.items("ports")):
        if number := port.number("hostPort") or (port.number("containerPort") if host_network else 0):
            key = f"{port.text('protocol') or 'TCP'}/{port.text('hostIP')}/{number}"
            if key in taken:
                yield port.child("hostPort"), key
            taken.add(key)


def validate_host_network_ports(containers: Iterable[Field]) -> None:
    """Check that the ports of a pod in the host's network are those of the host."""
    for port in (port for container in containers for port in container.items("ports")):
        if (port.number("hostPort") or 0) not in (0, port.number("containerPort")):
            port.child("hostPort").invalid("must match `containerPort` when `hostNetwork` is true")


# Security contexts of containers and pods.


_SYSCTL = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL_NAME = rf"({_SYSCTL}[\./])*{_SYSCTL}"
_NAMESPACED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.shm", "kernel.msg", "fs.mqueue.", "kernel.sem")}


def _security_context(context: Field, spec: Field) -> None:
    """Check a container's security context, for a cluster that allows privileged containers."""
    context.child("runAsUser").between(0, MAX_ID)
    context.child("runAsGroup").between(0, MAX_ID)
    proc_mount = context.child("procMount")
    proc_mount.one_of(("Default", "Unmasked"), pointer=True)
    if spec.object().get("hostUsers") is not False and proc_mount.text() == "Unmasked":
        proc_mount.invalid("`hostUsers` must be false to use `Unmasked`", typed=True)
    _seccomp_profile(context.child("seccompProfile"))
    escalation = context.child("allowPrivilegeEscalation").named(context.name)
    if escalation.value is False:
        forbidden = "cannot set `allowPrivilegeEscalation` to false and"
        printed = internal(context.value, "v1.SecurityContext")
        if context.object().get("privileged") is True:
            escalation.invalid(f"{forbidden} `privileged` to true", printed)
        for capability in as_list(context.child("capabilities", "add").value):
            if capability == "CAP_SYS_ADMIN":
                escalation.invalid(f"{forbidden} `capabilities.Add` CAP_SYS_ADMIN", printed)
    _app_armor_profile(context.child("appArmorProfile"))


def validate_pod_security_context(spec: Field) -> None:
    """Check a pod's security context."""
    context = spec.child("securityContext")
    groups = context.items("supplementalGroups")
    for number in (*map(context.child, ("fsGroup", "runAsUser", "runAsGroup")), *groups):
        number.between(0, MAX_ID)
    _sysctls(context, spec)
    context.child("fsGroupChangePolicy").one_of(("Always", "OnRootMismatch"), pointer=True)
    context.child("supplementalGroupsPolicy").one_of(("Merge", "Strict"), pointer=True)
    context.child("seLinuxChangePolicy").one_of(("Recursive",), pointer=True)
    _seccomp_profile(context.child("seccompProfile"))
    _app_armor_profile(context.child("appArmorProfile"))


def _sysctls(context: Field, spec: Field) -> None:
    names = [sysctl.child("name") for sysctl in context.items("sysctls")]
    unique(field for field in names if _is_sysctl(field.text()))
    for field in names:
        if field.require() and not _is_sysctl(field.text()):
            field.invalid(f"must have at most 253 characters and match regex ^{_SYSCTL_NAME}$")
        for host, prefixes in _NAMESPACED.items():
            if spec.object().get(host) is True and field.text().replace("/", ".").startswith(prefixes):
                field.invalid(f"may not be specified when '{host}' is true")


def _is_sysctl(name: str) -> bool:
    return len(name.encode()) <= 253 and re.fullmatch(_SYSCTL_NAME, name) is not None


_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def _seccomp_profile(profile: Field) -> None:
    kind, path = profile.child("type"), profile.child("localhostProfile")
    if profile.has() and not kind.text():
        kind.required("type is required when seccompProfile is set")
    kind.one_of(_PROFILES)
    if kind.text() == "Localhost":
        if path.value is None:
            path.required("must be set when seccomp type is Localhost")
        local_descending_path(path)
    elif path.value is not None:
        path.invalid("can only be set when seccomp type is Localhost", internal(profile.value, "v1.SeccompProfile"))


def _app_armor_profile(profile: Field) -> None:
    kind, path = profile.child("type"), profile.child("localhostProfile")
    if kind.text() == "Localhost":
        if not path.text():
            path.required("must be set when AppArmor type is Localhost")
        elif path.text() != path.text().strip():
            path.invalid("must not be padded with whitespace")
        if len(path.text().encode()) > 4095:
            path.too_long(4095)
    elif profile.has() and not kind.text():
        kind.required("type is required when appArmorProfile is set")
    elif kind.text() not in ("", *_PROFILES):
        kind.unsupported(_PROFILES)
    elif path.value is not None:
        path.invalid("can only be set when AppArmor type is Localhost")


# What the kubelet and the container runtime refuse.


def validate_started_containers(spec: Field) -> None:
    """Check fields of containers that every API server accepts, but with which no node starts them.

    Sources: runc's validateProcessSpec; execve(2) of Linux. Nodes with Windows have other rules.
    """
    if spec.text("os", "name") == "windows":
        return
    for container in (*spec.items("initContainers"), *spec.items("containers")):
        folder = container.coded(CONTAINER).child("workingDir")
        if folder.text() and not folder.text().startswith("/"):
            folder.refused("Cwd must be an absolute path", "must be an absolute path", f"write /{folder.text()}")
        _long_arguments(container)


_TOO_LONG = "argument list too long"


def _long_arguments(container: Field) -> None:
    """Check that Linux starts the program of a container."""
    hint = "put the text into the image, or into a ConfigMap that is mounted as a file"
    for path in too_long(container.object()):
        field = container.child(*path)
        if path[0] == "env":
            message = "Linux starts no program with a variable of 128 KiB or more"
            field.coded(ENVIRONMENT).refused(_TOO_LONG, message, hint, shown=False)
        elif read_script(field.text()) is None:  # TC063 is for those
            message = "Linux starts no program with an argument of 128 KiB or more"
            field.coded(CONTAINER).refused(_TOO_LONG, message, hint, shown=False)


def too_long(container: JsonObject) -> Iterator[Path]:
    """Yield the variables and words with which Linux starts no program; the kubelet has replaced $(NAME) in them."""
    sizes: dict[str, int] = {}
    for index, variable in enumerate(map(as_object, as_list(container.get("env")))):
        name = str(variable.get("name"))
        sizes[name] = _size(variable.get("value"), sizes)
        if sizes[name] + len(name) + 2 > MAX_ARGUMENT:
            yield "env", index, "value"
    for kind in ("command", "args"):
        for index, word in enumerate(as_list(container.get(kind))):
            if _size(word, sizes) >= MAX_ARGUMENT:
                yield kind, index


def _size(text: Json, sizes: Mapping[str, int]) -> int:
    """Return the bytes of a text in which variables of these sizes are replaced; not more than twice the limit."""
    if not isinstance(text, str):
        return 0
    found = REFERENCE.finditer(text) if "$(" in text else ()
    added = sum(sizes[each[2]] - len(each[0]) for each in found if each[2] in sizes)
    return min(len(text.encode("utf-8", "replace")) + added, 2 * MAX_ARGUMENT)
