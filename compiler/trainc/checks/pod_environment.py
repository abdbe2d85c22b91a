"""Environment variables of containers. No value of a variable is ever shown."""

from __future__ import annotations

from collections.abc import Iterator

from trainc.checks.fields import Place, Problem, dns_subdomain, qualified_name, text
from trainc.kube.names import is_config_map_key, is_dns1123_subdomain, is_relaxed_env_var_name, mask_trailing_dash
from trainc.kube.quantity import from_json
from trainc.source import Json, JsonObject, objects

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


def env_problems(place: Place, variables: Json) -> Iterator[Problem]:
    """Check variables: their names, and where those that have no literal value take theirs from."""
    for index, variable in enumerate(objects(variables)):
        at = place.index(index)
        if not (name := text(variable, "name")):
            yield at.child("name").required()
        else:
            yield from at.child("name").each_invalid(name, is_relaxed_env_var_name(name))
        if isinstance(source := variable.get("valueFrom"), dict):
            yield from _source(at.child("valueFrom"), source, has_value=bool(text(variable, "value")))


def _source(place: Place, source: JsonObject, *, has_value: bool) -> Iterator[Problem]:
    if isinstance(ref := source.get("fieldRef"), dict):
        yield from field_problems(place.child("fieldRef"), ref, ENV_FIELDS)
    if isinstance(ref := source.get("resourceFieldRef"), dict):
        yield from resource_problems(place.child("resourceFieldRef"), ref, volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if isinstance(ref := source.get(kind), dict):
            yield from dns_subdomain(place.child(kind, "name"), text(ref, "name"))
            yield from _key(place.child(kind, "key"), text(ref, "key"))
    count = sum(isinstance(source.get(kind), dict) for kind in SOURCES)
    if count == 0:
        yield place.invalid("", f"must specify one of: {', '.join(f'`{s}`' for s in SOURCES[:-1])} or `{SOURCES[-1]}`")
    elif has_value:
        yield place.invalid("", "may not be specified when `value` is not empty")
    elif count > 1:
        yield place.invalid("", "may not have more than one field specified at a time")


def _key(place: Place, key: str) -> Iterator[Problem]:
    if not key:
        yield place.required()
    else:
        yield from place.each_invalid(key, is_config_map_key(key))


def field_problems(place: Place, ref: JsonObject, allowed: tuple[str, ...]) -> Iterator[Problem]:
    """Check a reference to a field of the pod."""
    version, field = text(ref, "apiVersion") or "v1", text(ref, "fieldPath")
    at = place.child("fieldPath")
    if not field:
        yield at.required()
        return
    name, bracket, subscript = field.partition("['")
    subscripted = bool(name and bracket and field.endswith("']") and len(subscript) >= 2)
    if version != "v1":
        yield at.invalid(field, f"error converting fieldPath: unsupported pod version: {version}")
    elif subscripted and name in ("metadata.annotations", "metadata.labels"):
        key = subscript.removesuffix("']")
        yield from qualified_name(place, key.lower() if name == "metadata.annotations" else key)
    elif subscripted:
        yield at.invalid(field, f"error converting fieldPath: field label does not support subscript: {field}")
    elif field not in _CONVERTIBLE and field != "spec.host":
        yield at.invalid(field, f"error converting fieldPath: field label not supported: {field}")
    elif field not in allowed and not (field == "spec.host" and "spec.nodeName" in allowed):
        yield at.unsupported("spec.nodeName" if field == "spec.host" else field, allowed)


def resource_problems(place: Place, ref: JsonObject, *, volume: bool) -> Iterator[Problem]:
    """Check a reference to a container's resources."""
    resource = text(ref, "resource")
    if volume and not text(ref, "containerName"):
        yield place.child("containerName").required()
    elif not resource:
        yield place.child("resource").required()
    elif resource not in RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield place.child("resource").unsupported(resource, RESOURCES)
    yield from _divisor(place.child("divisor"), resource, ref.get("divisor"))


def _divisor(place: Place, resource: str, divisor: Json) -> Iterator[Problem]:
    if divisor is None or (quantity := from_json(divisor)).is_zero():
        return
    kind = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    if resource not in RESOURCES and kind != "hugepages":
        return
    units = ("1m", "1") if kind == "cpu" else _UNITS
    if quantity.canonical() not in units:
        shown = "1m and 1" if kind == "cpu" else ", ".join(_UNITS)
        called = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        yield place.invalid(resource, f"only divisor's values {shown} are supported with the {called} resource")


def env_from_problems(place: Place, sources: Json) -> Iterator[Problem]:
    """Check what a container takes all variables of."""
    for index, source in enumerate(objects(sources)):
        at = place.index(index)
        if prefix := text(source, "prefix"):
            yield from at.child("prefix").each_invalid(prefix, is_relaxed_env_var_name(prefix))
        given = [kind for kind in ("configMapRef", "secretRef") if isinstance(source.get(kind), dict)]
        for kind in given:
            if not (name := text(source, kind, "name")):
                yield at.child(kind, "name").required()
            else:
                yield from _prefix_name(at.child(kind, "name"), name)
        if not given:
            yield place.within(index).invalid("", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield place.within(index).invalid("", "may not have more than one field specified at a time")


def _prefix_name(place: Place, name: str) -> Iterator[Problem]:
    """Check a name that the server checks as the beginning of one: a dash at the end is fine."""
    return place.each_invalid(name, is_dns1123_subdomain(mask_trailing_dash(name)))
