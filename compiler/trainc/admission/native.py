"""Errors for which the API server refuses an object of its own kinds that no schema has.

Sources: k8s.io/kubernetes v1.34.4 pkg/apis/core/validation and pkg/apis/rbac/validation, with every feature gate at its
default, after the defaults of v1 and the create strategies in pkg/registry. Names and metadata are checked in
schema/metadata.py, pod templates in checks/pods.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

import msgspec
from msgspec.structs import replace

from trainc.admission.fields import Field, annotation_map, dns_subdomain, label_map, label_selector
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, dotted
from trainc.documents.problems import MAX_NODES, SMALL_TEXT, excess
from trainc.findings.reporting import Fault
from trainc.kube.names import is_config_map_key, is_dns1123_label, is_dns1123_subdomain
from trainc.kube.quantity import from_json
from trainc.schema import Admitted, Resource, unknown_field_hint
from trainc.schema.metadata import SEGMENT
from trainc.upstream import RBAC_GROUP

_TOO_LARGE: Final = "TC022"
_LIMIT: Final = 1024 * 1024
"""core.MaxSecretSize, which is also the limit of ConfigMaps."""


def faults_of(resource: Resource, result: Admitted) -> Iterator[Fault]:
    """Yield the errors of an admitted object that its schema does not have and no misspelt field explains."""
    rule = _RULES.get((resource.api_version, resource.kind))
    if rule is None or any(violation.decode for violation in result.violations):
        return
    root = Field(result.data, (), "", "")
    rule(root)
    known = {(*violation.path, violation.expected) for violation in result.violations if violation.code == "TC103"}
    meant = {(*path[:-1], unknown_field_hint(resource, path)) for path in result.dropped}
    for fault in root.faults:
        is_inside = any(fault.path[:length] in known for length in range(1, len(fault.path) + 1))
        if is_inside or (*fault.path[:-1], f"did you mean '{fault.path[-1]}'?") in meant:
            continue
        yield fault if fault.code == _TOO_LARGE else replace(fault, message=f"{dotted(fault.path)}: {fault.message}")


# ConfigMaps.


def _config_map(root: Field) -> None:
    for bag in ("data", "binaryData"):
        for key in sorted(root.object(bag)):
            entry = root.child(bag).key(key)
            entry.invalid_each(is_config_map_key(key), key)
            if bag == "data" and key in root.object("binaryData"):
                entry.invalid("duplicate of key present in binaryData", key)
    if (refused := oversized(root.object())) is not None:
        root.faults.append(refused)


STORED_LIMIT: Final = 1_572_864
"""The most bytes of a request that etcd accepts by default (--max-request-bytes): 1.5 MiB."""
QUOTED_LIMIT: Final = 524_288
"""The most bytes of a JobSet of which Argo CD can store what the server says if it refuses it.

JobSet's webhook quotes most of a JobSet, or of a claim template. Argo CD v3.5.1 writes that twice into the Application,
and tries until etcd takes it: ten such jobs, and it syncs nothing any more (setOperationState in
controller/appcontroller.go). Beside it, an Application and the managed fields of a JobSet need room, too.
"""


def oversized(data: JsonObject) -> Fault | None:
    """Return the error of a ConfigMap with too large values, or of a JobSet that etcd cannot store, or None.

    A JobSet of which Argo CD could not store a refusal, or that trainc could not read again in out/, to compare it with
    a change, is an error, too; it has no upstream text. The path leads to what is largest. Values of binaryData count
    decoded.
    """
    kind = data.get("kind")
    size = len(msgspec.json.encode(data)) if kind == "JobSet" else 0
    if size > STORED_LIMIT:
        message = f"the JobSet has {size:,} bytes as JSON; etcd stores at most {STORED_LIMIT:,} (1.5 MiB)"
        return Fault(_TOO_LARGE, _largest(data), message, "etcdserver: request is too large")
    if size > QUOTED_LIMIT:
        message = f"the JobSet has {size:,} bytes as JSON, more than {QUOTED_LIMIT:,} (512 KiB)"
        effect = "it may stop Argo CD, or not fit into etcd with its status"
        return Fault(_TOO_LARGE, _largest(data), f"{message}: {effect}")
    if size > SMALL_TEXT and excess(data) is not None:
        return Fault(_TOO_LARGE, _largest(data), f"the JobSet has more than {MAX_NODES:,} keys and items")
    if kind != "ConfigMap" or data.get("apiVersion") != "v1":
        return None
    sizes = dict(_sizes(Field(data, (), "", "")))
    total = sum(sizes.values())
    if total <= _LIMIT:
        return None
    message = f"the ConfigMap has {total:,} bytes; the API server accepts at most {_LIMIT:,} (1 MiB)"
    path = max(sizes, key=lambda path: sizes[path])
    # In ValidateConfigMap the field is field.NewPath(""), for the whole object.
    return Fault(_TOO_LARGE, path, message, f"[]: Too long: may not be more than {_LIMIT} bytes")


def _largest(data: Json) -> Path:
    """Return the path to the part of an object that has more than half of its bytes, as far down as there is one."""
    path: list[str | int] = []
    while isinstance(data, dict | list):
        parts: dict[str | int, Json] = dict(enumerate(data)) if isinstance(data, list) else {}
        parts.update(as_object(data).items())
        sizes = {step: len(msgspec.json.encode(part)) for step, part in parts.items()}
        step = max(sizes, key=lambda step: sizes[step], default=None)
        if step is None or sizes[step] * 2 < sum(sizes.values()):
            break
        path.append(step)
        data = parts[step]
    return tuple(path)


def _sizes(root: Field) -> Iterator[tuple[Path, int]]:
    for key in root.object("data"):
        yield ("data", key), len(root.text("data", key).encode("utf-8", "surrogatepass"))
    for key in root.object("binaryData"):
        text = "".join(root.text("binaryData", key).split())
        yield ("binaryData", key), len(text) * 3 // 4 - text.count("=")


# PersistentVolumeClaims, and the templates from which a JobSet, or a pod with an ephemeral volume, creates them.

CLAIM_DEFAULTS: Final[JsonObject] = {"volumeMode": "Filesystem"}
"""The defaults of a claim's spec."""

_CLAIM: Final = "PersistentVolumeClaim"
_OLD_SOURCES: Final = ((None, _CLAIM), ("", _CLAIM), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
"""Group and kind of what a dataSource without a dataSourceRef may be."""


def validate_claim(spec: Field) -> None:
    """Check a claim's spec, as ValidatePersistentVolumeClaimSpec does."""
    modes, alone = spec.child("accessModes"), "ReadWriteOncePod"
    supported = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", alone)
    modes.require("at least 1 access mode is required")
    label_selector(spec.child("selector"))
    for mode in modes.items():
        mode.named(modes.name).one_of(supported, pointer=True)
    given = {mode for mode in as_list(modes.value) if mode in supported}
    if alone in given and len(given) > 1:
        modes.forbidden(f"may not use {alone} with other access modes")
    # The server's name for the field lacks a step.
    storage = spec.child("resources", "requests", "storage").named(f"{spec.name}.resources[storage]")
    if storage.value is None:
        storage.required()
    elif (quantity := from_json(storage.value)).sign() <= 0:
        storage.invalid("must be greater than zero", quantity.canonical())
    spec.child("volumeMode").one_of(("Block", "Filesystem"), pointer=True)
    for key in ("storageClassName", "volumeAttributesClassName"):
        if spec.text(key):
            dns_subdomain(spec.child(key))
    for key in ("dataSource", "dataSourceRef"):
        if spec.has(key):
            _data_source(spec.child(key))
    source, reference = spec.child("dataSource"), spec.child("dataSourceRef")
    if source.has() and reference.text("namespace"):
        source.named(spec.name).invalid("may not be specified when dataSourceRef.namespace is specified", {})
    elif source.has() and reference.has() and _identity(source) != _identity(reference):
        source.named(spec.name).invalid("must match dataSourceRef", {})


def _identity(source: Field) -> tuple[Json, str, str]:
    return source.child("apiGroup").value, source.text("kind"), source.text("name")


def _data_source(source: Field) -> None:
    for key in ("name", "kind"):
        source.child(key).require()
    group, namespace = source.child("apiGroup"), source.child("namespace")
    if not group.text() and source.text("kind") != _CLAIM:
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        source.invalid(detail, source.text("kind"))
    if group.text():
        group.invalid_each(is_dns1123_subdomain(group.text()))
    if namespace.text():
        namespace.invalid_each(is_dns1123_label(namespace.text()))


def validate_created_claim(spec: Field) -> None:
    """Check the spec of a claim, from which the create strategy first removes some data sources."""
    validate_claim(replace(spec, value=without_dropped_sources(spec.object())))


def without_dropped_sources(spec: JsonObject) -> JsonObject:
    """Return the spec of a claim without the data sources that the API server drops."""
    dropped = dict(dropped_sources(spec))
    return {key: value for key, value in spec.items() if key not in dropped}


def dropped_sources(spec: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the data sources that the API server drops from a claim's spec, and why."""
    source, reference = (Field(spec.get(key), (), "", "") for key in ("dataSource", "dataSourceRef"))
    is_other = reference.text("namespace")
    if is_other:
        yield "dataSourceRef", "the feature gate of its namespace, CrossNamespaceVolumeDataSource, is off by default"
    if source.has() and (is_other or reference.value is None) and _identity(source)[:2] not in _OLD_SOURCES:
        yield "dataSource", "it can be a PersistentVolumeClaim or VolumeSnapshot only; dataSourceRef can be more"


def faults_of_created_claim(template: JsonObject, code: str) -> list[Fault]:
    """Return the errors of the claim that JobSet creates from a template, with its labels and annotations."""
    root = Field(template, (), "", code)
    label_map(root.child("metadata", "labels"))
    annotation_map(root.child("metadata", "annotations"))
    validate_created_claim(root.child("spec"))
    return root.faults


# Role-based access control.


def _role(root: Field, *, namespaced: bool) -> None:
    for rule in root.items("rules"):
        _policy_rule(rule, namespaced=namespaced)
    if root.has("aggregationRule"):  # a Role has no such field
        selectors = root.child("aggregationRule", "clusterRoleSelectors")
        selectors.require("at least one clusterRoleSelector required if aggregationRule is non-nil")
        for selector in selectors.items():
            label_selector(selector)


def _policy_rule(rule: Field, *, namespaced: bool) -> None:
    verbs, urls, groups, resources = map(rule.child, ("verbs", "nonResourceURLs", "apiGroups", "resources"))
    verbs.require("verbs must contain at least one value")
    if urls.value:
        if namespaced:
            urls.invalid("namespaced rules cannot apply to non-resource URLs")
        if groups.value or resources.value or rule.child("resourceNames").value:
            urls.invalid("rules cannot apply to both regular resources and non-resource URLs")
        return
    groups.require("resource rules must supply at least one api group")
    resources.require("resource rules must supply at least one resource")


def _binding(root: Field, roles: tuple[str, ...], *, namespaced: bool) -> None:
    kind, name = root.child("roleRef", "kind"), root.child("roleRef", "name")
    root.child("roleRef", "apiGroup").one_of((RBAC_GROUP,))
    if kind.text() not in roles:
        kind.unsupported(roles)
    if name.require():
        name.invalid_each(SEGMENT[0](name.text()))
    for subject in root.items("subjects"):
        _subject(subject, namespaced=namespaced)


def _subject(subject: Field, *, namespaced: bool) -> None:
    name, kind, group = subject.child("name"), subject.child("kind"), subject.child("apiGroup")
    is_named = name.require()
    if kind.text() == "ServiceAccount":
        if is_named:
            dns_subdomain(name)
        if group.text():
            group.unsupported(("",))
        if not namespaced:
            subject.child("namespace").require()
    elif kind.text() in ("User", "Group"):
        group.one_of((RBAC_GROUP,))
    else:
        kind.unsupported(("ServiceAccount", "User", "Group"))


_RBAC: Final = f"{RBAC_GROUP}/v1"
_RULES: Final[Mapping[tuple[str, str], Callable[[Field], None]]] = {
    ("v1", "ConfigMap"): _config_map,
    ("v1", _CLAIM): lambda root: validate_created_claim(root.child("spec")),
    (_RBAC, "Role"): partial(_role, namespaced=True),
    (_RBAC, "RoleBinding"): partial(_binding, roles=("Role", "ClusterRole"), namespaced=True),
    (_RBAC, "ClusterRole"): partial(_role, namespaced=False),
    (_RBAC, "ClusterRoleBinding"): partial(_binding, roles=("ClusterRole",), namespaced=False),
}
"""By apiVersion and kind. A ServiceAccount has nothing to validate besides its metadata."""
