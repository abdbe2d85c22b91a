"""Environment variables of containers. No value of a variable is ever shown."""

from __future__ import annotations

from trainc.admission.fields import Field, dns_subdomain, qualified_name
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
"""The fields of a pod that a variable can refer to, besides single labels and annotations."""

VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
"""The fields of a pod that a file of a downward API volume can refer to."""

_CONVERTIBLE = {*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_UNITS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")


def validate_env(container: Field) -> None:
    """Check variables: their names, and the sources of those without a literal value."""
    for variable in container.items("env"):
        name = variable.child("name")
        if name.require():
            name.invalid_each(is_relaxed_env_var_name(name.text()))
        if variable.has("valueFrom"):
            _value_from(variable.child("valueFrom"), has_value=bool(variable.text("value")))


def _value_from(source: Field, *, has_value: bool) -> None:
    if source.has("fieldRef"):
        validate_field_ref(source.child("fieldRef"), ENV_FIELDS)
    if source.has("resourceFieldRef"):
        validate_resource_ref(source.child("resourceFieldRef"))
    for ref in (source.child(kind) for kind in ("configMapKeyRef", "secretKeyRef") if source.has(kind)):
        dns_subdomain(ref.child("name"))
        if (key := ref.child("key")).require():
            key.invalid_each(is_config_map_key(key.text()))
    count = sum(map(source.has, _SOURCES))
    if count == 0:
        supported = ", ".join(f"`{kind}`" for kind in _SOURCES[:-1])
        source.invalid(f"must specify one of: {supported} or `{_SOURCES[-1]}`", "")
    elif has_value:
        source.invalid("may not be specified when `value` is not empty", "")
    elif count > 1:
        source.invalid("may not have more than one field specified at a time", "")


def validate_field_ref(ref: Field, allowed: tuple[str, ...]) -> None:
    """Check a reference to a field of the pod."""
    version, field = ref.text("apiVersion") or "v1", ref.child("fieldPath")
    if not field.require():
        return
    path = field.text()
    name, bracket, subscript = path.partition("['")
    has_subscript = bool(name and bracket and path.endswith("']") and len(subscript) >= 2)
    if version != "v1":
        field.invalid(f"error converting fieldPath: unsupported pod version: {version}")
    elif has_subscript and name in ("metadata.annotations", "metadata.labels"):
        key = subscript.removesuffix("']")
        qualified_name(ref, key.lower() if name == "metadata.annotations" else key)
    elif has_subscript:
        field.invalid(f"error converting fieldPath: field label does not support subscript: {path}")
    elif path not in _CONVERTIBLE and path != "spec.host":
        field.invalid(f"error converting fieldPath: field label not supported: {path}")
    elif path not in allowed and not (path == "spec.host" and "spec.nodeName" in allowed):
        field.unsupported(allowed, "spec.nodeName" if path == "spec.host" else path)


def validate_resource_ref(ref: Field, *, volume: bool = False) -> None:
    """Check a reference to a container's resources; a volume has to name the container."""
    resource, divisor = ref.child("resource"), ref.child("divisor")
    name = resource.text()
    has_huge_pages = name.startswith(_HUGE_PAGES)
    if (not volume or ref.child("containerName").require()) and resource.require() and not has_huge_pages:
        resource.one_of(_RESOURCES)
    if divisor.value is None or not (has_huge_pages or name in _RESOURCES):
        return
    kind = "hugepages" if has_huge_pages else name.partition(".")[2]
    quantity = from_json(divisor.value)
    if not quantity.is_zero() and quantity.canonical() not in (("1m", "1") if kind == "cpu" else _UNITS):
        units = "1m and 1" if kind == "cpu" else ", ".join(_UNITS)
        kind = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        divisor.invalid(f"only divisor's values {units} are supported with the {kind} resource", name)


def validate_env_from(container: Field) -> None:
    """Check the ConfigMaps and Secrets whose keys become variables."""
    for source in container.items("envFrom"):
        prefix = source.child("prefix")
        if prefix.text():
            prefix.invalid_each(is_relaxed_env_var_name(prefix.text()))
        refs = [source.child(kind) for kind in ("configMapRef", "secretRef") if source.has(kind)]
        for name in (ref.child("name") for ref in refs):
            if name.require():  # the server checks it as a prefix, which may end with a dash
                name.invalid_each(is_dns1123_subdomain(mask_trailing_dash(name.text())))
        whole = source.named(f"{container.name}.envFrom")
        if not refs:
            whole.invalid("must specify one of: `configMapRef` or `secretRef`", "")
        elif len(refs) > 1:
            whole.invalid("may not have more than one field specified at a time", "")
