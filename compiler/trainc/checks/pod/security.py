"""Security contexts of containers and pods."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trainc.checks.problem import Place, Problem
from trainc.checks.rules import descending, id_in_range, text
from trainc.source import Json, JsonObject, as_list, get, objects

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


def container_security(place: Place, context: JsonObject, *, host_users: bool) -> Iterator[Problem]:
    """Check a container's security context. That the cluster allows privileged containers is taken for granted."""
    for field in ("runAsUser", "runAsGroup"):
        yield from id_in_range(place.child(field), context.get(field))
    if "procMount" in context:
        proc_mount, at = text(context, "procMount"), place.child("procMount")
        if proc_mount not in PROC_MOUNTS:
            yield at.unsupported(proc_mount, PROC_MOUNTS)
        if host_users and proc_mount == "Unmasked":
            yield at.invalid(proc_mount, "`hostUsers` must be false to use `Unmasked`", typed=True)
    yield from seccomp(place.child("seccompProfile"), context.get("seccompProfile"))
    if context.get("allowPrivilegeEscalation") is False:
        yield from _no_escalation(place, context)
    yield from _app_armor(place.child("appArmorProfile"), context.get("appArmorProfile"))


def _no_escalation(place: Place, context: JsonObject) -> Iterator[Problem]:
    at = place.within("allowPrivilegeEscalation")
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


def pod_security(place: Place, spec: JsonObject) -> Iterator[Problem]:
    """Check a pod's security context."""
    context = spec.get("securityContext")
    if not isinstance(context, dict):
        return
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from id_in_range(place.child(field), context.get(field))
    for index, group in enumerate(as_list(context.get("supplementalGroups"))):
        yield from id_in_range(place.child("supplementalGroups").index(index), group)
    yield from _sysctls(place.child("sysctls"), context, spec)
    for field, policies in (
        ("fsGroupChangePolicy", GROUP_POLICIES),
        ("supplementalGroupsPolicy", SUPPLEMENTAL_POLICIES),
    ):
        if field in context and context[field] not in policies:
            yield place.child(field).unsupported(context[field], policies)
    yield from seccomp(place.child("seccompProfile"), context.get("seccompProfile"))
    yield from _app_armor(place.child("appArmorProfile"), context.get("appArmorProfile"))


def _sysctls(place: Place, context: JsonObject, spec: JsonObject) -> Iterator[Problem]:
    names: set[str] = set()
    for index, sysctl in enumerate(objects(context.get("sysctls"))):
        at, name = place.index(index).child("name"), text(sysctl, "name")
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


def seccomp(place: Place, profile: Json) -> Iterator[Problem]:
    """Check a seccomp profile; an absent one is fine."""
    if not isinstance(profile, dict):
        return
    kind, at = text(profile, "type"), place.child("localhostProfile")
    if not kind:
        yield place.child("type").required("type is required when seccompProfile is set")
    elif kind not in SECCOMP_TYPES:
        yield place.child("type").unsupported(kind, SECCOMP_TYPES)
    path = profile.get("localhostProfile")
    if kind == "Localhost":
        if isinstance(path, str):
            yield from descending(at, path)
        else:
            yield at.required("must be set when seccomp type is Localhost")
    elif path is not None:
        shown: JsonObject = {"Type": kind, "LocalhostProfile": path}
        yield at.invalid(shown, "can only be set when seccomp type is Localhost")


def _app_armor(place: Place, profile: Json) -> Iterator[Problem]:
    if not isinstance(profile, dict):
        return
    kind, path, at = text(profile, "type"), profile.get("localhostProfile"), place.child("localhostProfile")
    if kind == "Localhost":
        if not isinstance(path, str) or not path:
            yield at.required("must be set when AppArmor type is Localhost")
        elif path != path.strip():
            yield at.invalid(path, "must not be padded with whitespace")
        if isinstance(path, str) and len(path.encode()) > MAX_PROFILE:
            yield at.too_long(MAX_PROFILE)
    elif not kind:
        yield place.child("type").required("type is required when appArmorProfile is set")
    elif kind not in SECCOMP_TYPES:
        yield place.child("type").unsupported(kind, SECCOMP_TYPES)
    elif path is not None:
        yield at.invalid(path, "can only be set when AppArmor type is Localhost")
