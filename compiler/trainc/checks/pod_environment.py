"""Environment variables of containers. No value of a variable is ever shown."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.basics.jsonvalues import Json, JsonObject, objects
from trainc.checks.fields import Field, dns_subdomain, qualified_name, text
from trainc.findings.fault import Fault
from trainc.kube.names import is_config_map_key, is_dns1123_subdomain, is_relaxed_env_var_name, mask_trailing_dash
from trainc.kube.quantity import from_json

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
"""What a variable can take of its pod, beside single labels and annotations."""

VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
"""What a file of a downward API volume can take."""

_CONVERTIBLE = {*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_UNITS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")


def env_problems(field: Field, container: JsonObject) -> Iterator[Fault]:
    """Check variables: their names, and where those that have no literal value take theirs from."""
    for at, variable in field.items(container, "env"):
        if not (name := text(variable, "name")):
            yield at.child("name").required()
        else:
            yield from at.child("name").each_invalid(name, is_relaxed_env_var_name(name))
        if isinstance(source := variable.get("valueFrom"), dict):
            yield from _source(at.child("valueFrom"), source, has_value=bool(text(variable, "value")))


def _source(field: Field, source: JsonObject, *, has_value: bool) -> Iterator[Fault]:
    if isinstance(ref := source.get("fieldRef"), dict):
        yield from field_problems(field.child("fieldRef"), ref, ENV_FIELDS)
    if isinstance(ref := source.get("resourceFieldRef"), dict):
        yield from resource_problems(field.child("resourceFieldRef"), ref, volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if isinstance(ref := source.get(kind), dict):
            yield from dns_subdomain(field.child(kind, "name"), text(ref, "name"))
            yield from _key(field.child(kind, "key"), text(ref, "key"))
    count = sum(isinstance(source.get(kind), dict) for kind in SOURCES)
    if count == 0:
        yield field.invalid("", f"must specify one of: {', '.join(f'`{s}`' for s in SOURCES[:-1])} or `{SOURCES[-1]}`")
    elif has_value:
        yield field.invalid("", "may not be specified when `value` is not empty")
    elif count > 1:
        yield field.invalid("", "may not have more than one field specified at a time")


def _key(field: Field, key: str) -> Iterator[Fault]:
    if not key:
        yield field.required()
    else:
        yield from field.each_invalid(key, is_config_map_key(key))


def field_problems(field: Field, ref: JsonObject, allowed: tuple[str, ...]) -> Iterator[Fault]:
    """Check a reference to a field of the pod."""
    version, kind = text(ref, "apiVersion") or "v1", text(ref, "fieldPath")
    at = field.child("fieldPath")
    if not kind:
        yield at.required()
        return
    name, bracket, subscript = kind.partition("['")
    subscripted = bool(name and bracket and kind.endswith("']") and len(subscript) >= 2)
    if version != "v1":
        yield at.invalid(kind, f"error converting fieldPath: unsupported pod version: {version}")
    elif subscripted and name in ("metadata.annotations", "metadata.labels"):
        key = subscript.removesuffix("']")
        yield from qualified_name(field, key.lower() if name == "metadata.annotations" else key)
    elif subscripted:
        yield at.invalid(kind, f"error converting fieldPath: field label does not support subscript: {kind}")
    elif kind not in _CONVERTIBLE and kind != "spec.host":
        yield at.invalid(kind, f"error converting fieldPath: field label not supported: {kind}")
    elif kind not in allowed and not (kind == "spec.host" and "spec.nodeName" in allowed):
        yield at.unsupported("spec.nodeName" if kind == "spec.host" else kind, allowed)


def resource_problems(field: Field, ref: JsonObject, *, volume: bool) -> Iterator[Fault]:
    """Check a reference to a container's resources."""
    resource = text(ref, "resource")
    if volume and not text(ref, "containerName"):
        yield field.child("containerName").required()
    elif not resource:
        yield field.child("resource").required()
    elif resource not in RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield field.child("resource").unsupported(resource, RESOURCES)
    yield from _divisor(field.child("divisor"), resource, ref.get("divisor"))


def _divisor(field: Field, resource: str, divisor: Json) -> Iterator[Fault]:
    if divisor is None or (quantity := from_json(divisor)).is_zero():
        return
    kind = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    if resource not in RESOURCES and kind != "hugepages":
        return
    units = ("1m", "1") if kind == "cpu" else _UNITS
    if quantity.canonical() not in units:
        shown = "1m and 1" if kind == "cpu" else ", ".join(_UNITS)
        called = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        yield field.invalid(resource, f"only divisor's values {shown} are supported with the {called} resource")


def env_from_problems(field: Field, sources: Json) -> Iterator[Fault]:
    """Check what a container takes all variables of."""
    for index, source in enumerate(objects(sources)):
        at = field.index(index)
        if prefix := text(source, "prefix"):
            yield from at.child("prefix").each_invalid(prefix, is_relaxed_env_var_name(prefix))
        given = [kind for kind in ("configMapRef", "secretRef") if isinstance(source.get(kind), dict)]
        for kind in given:
            if not (name := text(source, kind, "name")):
                yield at.child(kind, "name").required()
            else:
                yield from _prefix_name(at.child(kind, "name"), name)
        if not given:
            yield field.within(index).invalid("", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield field.within(index).invalid("", "may not have more than one field specified at a time")


def _prefix_name(field: Field, name: str) -> Iterator[Fault]:
    """Check a name that the server checks as the beginning of one: a dash at the end is fine."""
    return field.each_invalid(name, is_dns1123_subdomain(mask_trailing_dash(name)))
