"""Volumes of a pod: their names, and that each has one source which is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from trainc.basics.jsonvalues import Json, JsonObject, as_list, as_object, get, objects
from trainc.checks.fields import (
    Field,
    descending,
    dns_label,
    dns_subdomain,
    file_below,
    label_selector,
    labels,
    mode,
    no_backsteps,
    number,
    text,
)
from trainc.checks.pod_environment import VOLUME_FIELDS, field_problems, resource_problems
from trainc.findings import suggest
from trainc.findings.fault import Fault
from trainc.kube.quantity import from_json

TWO_SOURCES = "may not specify more than 1 volume type"
MAX_DRIVER = 63
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_TOKEN_SECONDS = (600, 2**32)

Check = Callable[[Field, JsonObject], Iterator[Fault]]


def volume_problems(field: Field, volumes: Json) -> tuple[dict[str, JsonObject], list[Fault]]:
    """Return the volumes that can be mounted, by name, and what is wrong with the others.

    A volume that is refused counts as missing where it is mounted, as the server has it.
    """
    found: dict[str, JsonObject] = {}
    problems: list[Fault] = []
    for index, volume in enumerate(objects(volumes)):
        at, name = field.index(index), text(volume, "name")
        wrong = [*_sources(at, volume)]
        wrong += dns_label(at.child("name"), name) if name else (at.child("name").required(),)
        if name in found:
            wrong.append(at.child("name").duplicate(name))
        if not wrong:
            found[name] = volume
        problems += wrong
    return found, problems


def _sources(field: Field, volume: JsonObject) -> Iterator[Fault]:
    """Check the first source, in the server's order, and refuse the others; without any it is an emptyDir."""
    given = [kind for kind in SOURCES if isinstance(volume.get(kind), dict)]
    for position, kind in enumerate(given):
        source, at = as_object(volume[kind]), field.child(kind)
        if position:
            yield at.named(f"{field.name}.{_MISSPELT.get(kind, kind)}").forbidden(TWO_SOURCES)
        else:
            named = at.named(f"{field.name}.{_CALLED.get(kind, kind)}")
            yield from SOURCES[kind](named, source)


def _empty_dir(field: Field, source: JsonObject) -> Iterator[Fault]:
    limit = source.get("sizeLimit")
    if limit is not None and from_json(limit).sign() < 0:
        yield field.child("sizeLimit").forbidden("SizeLimit field must be a valid resource quantity")


def _host_path(field: Field, source: JsonObject) -> Iterator[Fault]:
    path, kind = text(source, "path"), text(source, "type")
    if not path:
        yield field.child("path").required()
        return
    yield from no_backsteps(field.child("path"), path)
    if kind not in _HOST_PATH_TYPES:
        yield field.child("type").unsupported(kind, _HOST_PATH_TYPES)


def _secret(field: Field, source: JsonObject) -> Iterator[Fault]:
    yield from _required(field, source, "secretName")
    yield from _files(field, source)


def _config_map(field: Field, source: JsonObject) -> Iterator[Fault]:
    yield from _required(field, source, "name")
    yield from _files(field, source)


def _files(field: Field, source: JsonObject) -> Iterator[Fault]:
    yield from mode(field.child("defaultMode"), source.get("defaultMode"))
    for at, item in field.items(source, "items"):
        yield from _item(at, item)


def _item(field: Field, item: JsonObject) -> Iterator[Fault]:
    yield from _required(field, item, "key", "path")
    yield from file_below(field.child("path"), text(item, "path"))
    yield from mode(field.child("mode"), item.get("mode"))


def _required(field: Field, source: JsonObject, *fields: str) -> Iterator[Fault]:
    return (field.child(key).required() for key in fields if not source.get(key))


def _needs(*fields: str) -> Check:
    return lambda field, source: _required(field, source, *fields)


def _nfs(field: Field, source: JsonObject) -> Iterator[Fault]:
    yield from _required(field, source, "server", "path")
    if not (path := text(source, "path")).startswith("/"):
        yield field.child("path").invalid(path, "must be an absolute path")


def _disk(key: str) -> Check:
    def check(field: Field, source: JsonObject) -> Iterator[Fault]:
        yield from _required(field, source, key)
        partition = number(source, "partition") or 0
        if not 0 <= partition <= 255:
            yield field.child("partition").invalid(partition, "must be between 1 and 255, inclusive")

    return check


def _csi(field: Field, source: JsonObject) -> Iterator[Fault]:
    driver, at = text(source, "driver"), field.child("driver")
    if not driver:
        yield at.required()
    if len(driver.encode()) > MAX_DRIVER:
        yield at.too_long(MAX_DRIVER)
    for problem in dns_subdomain(at, driver.lower()):
        yield at.invalid(driver, problem.message)
    if isinstance(source.get("nodePublishSecretRef"), dict):
        if not (secret := text(source, "nodePublishSecretRef", "name")):
            yield field.child("nodePublishSecretRef", "name").required()
        else:
            named = field.within("nodePublishSecretRef", "name").named(f"{field.name}.name")
            yield from dns_subdomain(named, secret)


def _ephemeral(field: Field, source: JsonObject) -> Iterator[Fault]:
    template, at = source.get("volumeClaimTemplate"), field.child("volumeClaimTemplate")
    if not isinstance(template, dict):
        yield at.required()
        return
    yield from labels(at.child("metadata", "labels"), as_object(get(template, "metadata", "labels")))
    yield from claim_problems(at.child("spec"), as_object(template.get("spec")))


def _downward(field: Field, source: JsonObject) -> Iterator[Fault]:
    yield from mode(field.child("defaultMode"), source.get("defaultMode"))
    for index, file in enumerate(objects(source.get("items"))):
        # The server leaves the number of the item out.
        yield from _downward_file(field.within("items", index), file)


def _downward_file(field: Field, file: JsonObject) -> Iterator[Fault]:
    yield from _required(field, file, "path")
    yield from file_below(field.child("path"), text(file, "path"))
    key, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if isinstance(key, dict):
        yield from field_problems(field.child("fieldRef"), key, VOLUME_FIELDS)
        if isinstance(resource, dict):
            yield field.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif isinstance(resource, dict):
        yield from resource_problems(field.child("resourceFieldRef"), resource, volume=True)
    else:
        yield field.required("one of fieldRef and resourceFieldRef is required")
    yield from mode(field.child("mode"), file.get("mode"))


def _projected(field: Field, source: JsonObject) -> Iterator[Fault]:
    yield from mode(field.child("defaultMode"), source.get("defaultMode"))
    taken: set[str] = set()
    for index, part in enumerate(objects(source.get("sources"))):
        at = field.child("sources").index(index)
        for kind in ("secret", "configMap"):
            if isinstance(own := part.get(kind), dict):
                yield from _required(at.child(kind), own, "name")
                for i, item in enumerate(objects(own.get("items"))):
                    yield from _item(at.child(kind, "items").index(i), item)
                    inside = field.within("sources", index, kind, "items", i)
                    yield from _taken(inside, text(item, "path"), text(own, "name"), taken)
        if isinstance(own := part.get("downwardAPI"), dict):
            for i, file in enumerate(objects(own.get("items"))):
                yield from _downward_file(at.child("downwardAPI").within("items", i), file)
                inside = field.within("sources", index, "downwardAPI", "items", i)
                yield from _taken(inside, text(file, "path"), text(file, "path"), taken)
        if isinstance(own := part.get("serviceAccountToken"), dict):
            yield from _token(at.child("serviceAccountToken"), own, field.name)
        if sum(isinstance(part.get(kind), dict) for kind in PROJECTIONS) > 1:
            yield at.forbidden("may not specify more than 1 volume type per source")


def _taken(field: Field, path: str, shown: str, taken: set[str]) -> Iterator[Fault]:
    if path and path in taken:
        yield field.invalid(shown, "conflicting duplicate paths")
    taken.add(path)


def _token(field: Field, token: JsonObject, volume: str) -> Iterator[Fault]:
    seconds, path = number(token, "expirationSeconds"), text(token, "path")
    least, most = _TOKEN_SECONDS
    at = field.child("expirationSeconds")
    if seconds is not None and seconds < least:
        yield at.invalid(seconds, "may not specify a duration less than 10 minutes")
    if seconds is not None and seconds > most:
        yield at.invalid(seconds, "may not specify a duration larger than 2^32 seconds")
    named = field.child("path").named(f"{volume}.path")
    if not path:
        yield named.required()
    else:
        yield from file_below(named, path)


def sources_of(volume: Mapping[str, Json]) -> list[str]:
    """Return the sources that a volume has, in the server's order."""
    return [kind for kind in SOURCES if isinstance(volume.get(kind), dict)]


def _unchecked(field: Field, source: JsonObject) -> Iterator[Fault]:
    return iter(())


SOURCES: dict[str, Check] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _needs("repository"),
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "secret": _secret,
    "nfs": _nfs,
    "iscsi": _unchecked,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _unchecked,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _needs("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _unchecked,
    "downwardAPI": _downward,
    "fc": _unchecked,
    "flexVolume": _needs("driver"),
    "configMap": _config_map,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _unchecked,
    "storageos": _unchecked,
    "projected": _projected,
    "scaleIO": _unchecked,
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _unchecked,
}
"""Every source of Kubernetes 1.34, in the order in which the server looks at them, and what checks it.

Those that need a driver which has left Kubernetes are told apart, but not looked into.
"""

PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_CALLED = {"gcePersistentDisk": "persistentDisk"}
_MISSPELT = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}
"""What the server calls a source in its errors where that is not its name: as the first one, and as a further one."""


# Where containers mount volumes.


PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
READ_ONLY = ("Disabled", "Enabled", "IfPossible")

Volumes = Mapping[str, JsonObject]


def mount_problems(field: Field, container: JsonObject, volumes: Volumes) -> Iterator[Fault]:
    """Check the volume mounts and devices of a container; ``volumes`` are those that can be mounted, by name."""
    mounts, devices = objects(container.get("volumeMounts")), objects(container.get("volumeDevices"))
    device_paths = {text(device, "name"): text(device, "devicePath") for device in devices}
    mount_paths = {text(mount, "name"): text(mount, "mountPath") for mount in mounts}
    privileged = get(container, "securityContext", "privileged") is True
    at = field.child("volumeMounts")
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        yield from _mount(at.index(index), mount, volumes, seen)
        yield from _overlap(at.index(index), mount, device_paths, "mountPath", "volumeDevices")
        yield from _options(at, index, mount, privileged=privileged)
    yield from _devices(field.child("volumeDevices"), devices, volumes, mount_paths)


def _mount(field: Field, mount: JsonObject, volumes: Volumes, seen: set[str]) -> Iterator[Fault]:
    name, path = text(mount, "name"), text(mount, "mountPath")
    if not name:
        yield field.child("name").required()
    if name not in volumes:
        yield _missing(field.child("name"), name, volumes)
    if not path:
        yield field.child("mountPath").required()
    if path in seen:
        yield field.child("mountPath").invalid(path, "must be unique")
    seen.add(path)


def _missing(field: Field, name: str, volumes: Volumes) -> Fault:
    return replace(field.not_found(name, ours="the pod has no such volume"), hint=suggest(name, volumes))


def _overlap(field: Field, item: JsonObject, others: Mapping[str, str], key: str, kind: str) -> Iterator[Fault]:
    """Report a volume, or a path, that is mounted both as files and as a block device."""
    name, path = text(item, "name"), text(item, key)
    if name in others:
        yield field.child("name").invalid(name, f"must not already exist in {kind}")
    if path in others.values():
        yield field.child(key).invalid(path, f"must not already exist as a path in {kind}")


def _options(field: Field, index: int, mount: JsonObject, *, privileged: bool) -> Iterator[Fault]:
    """Check what a mount may have besides; for some of it the server leaves the number of the mount out."""
    sub_path, expression = text(mount, "subPath"), text(mount, "subPathExpr")
    if sub_path:
        yield from descending(_unnumbered(field, index, "subPath"), sub_path)
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield field.index(index).child("subPathExpr").invalid(expression, detail)
        yield from descending(_unnumbered(field, index, "subPathExpr"), expression)
    propagation, at = text(mount, "mountPropagation"), _unnumbered(field, index, "mountPropagation")
    if "mountPropagation" in mount and propagation not in PROPAGATIONS:
        yield at.unsupported(propagation, PROPAGATIONS)
    if propagation == "Bidirectional" and not privileged:
        yield at.forbidden("Bidirectional mount propagation is available only to privileged containers")
    if "recursiveReadOnly" in mount:
        yield from _recursive(_unnumbered(field, index, "recursiveReadOnly"), mount)


def _unnumbered(field: Field, index: int, key: str) -> Field:
    return field.within(index, key).named(f"{field.name}.{key}")


def _recursive(field: Field, mount: JsonObject) -> Iterator[Fault]:
    value = text(mount, "recursiveReadOnly")
    if value not in READ_ONLY:
        yield field.unsupported(value, ("Disabled", "Enabled", "IfPossible"))
    elif value != "Disabled":
        if mount.get("readOnly") is not True:
            yield field.forbidden("may only be specified when readOnly is true")
        if text(mount, "mountPropagation") not in ("", "None"):
            yield field.forbidden("may only be specified when mountPropagation is None or not specified")


def _devices(field: Field, devices: list[JsonObject], volumes: Volumes, mounts: Mapping[str, str]) -> Iterator[Fault]:
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        at, name, path = field.index(index), text(device, "name"), text(device, "devicePath")
        if not name:
            yield at.child("name").required()
        if name in names:
            yield at.child("name").invalid(name, "must be unique")
        if name not in volumes:
            yield _missing(at.child("name"), name, volumes)
        elif sources_of(volumes[name]) not in (["persistentVolumeClaim"], ["ephemeral"]):
            detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            yield at.child("name").invalid(name, detail)
        if not path:
            yield at.child("devicePath").required()
        if path in paths:
            yield at.child("devicePath").invalid(path, "must be unique")
        if path and [*no_backsteps(at, path)]:
            yield at.child("devicePath").invalid(path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        yield from _overlap(at, device, mounts, "devicePath", "volumeMounts")
        names |= {name} - {""}


# PersistentVolumeClaims: those that a JobSet makes, and those of ephemeral volumes.


ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
ALONE = "ReadWriteOncePod"


def claim_problems(field: Field, spec: JsonObject) -> Iterator[Fault]:
    """Check a claim's spec.

    Source: k8s.io/kubernetes v1.34.4 pkg/apis/core/validation, ValidatePersistentVolumeClaimSpec, without data sources.
    """
    modes, at = as_list(spec.get("accessModes")), field.child("accessModes")
    if not modes:
        yield at.required("at least 1 access mode is required")
    yield from label_selector(field.child("selector"), spec.get("selector"))
    for index, access in enumerate(modes):
        if access not in ACCESS_MODES:
            yield at.within(index).unsupported(access, ACCESS_MODES)
    if ALONE in modes and any(access in ACCESS_MODES and access != ALONE for access in modes):
        yield at.forbidden(f"may not use {ALONE} with other access modes")
    yield from _storage(field, spec)
    if storage_class := text(spec, "storageClassName"):
        yield from dns_subdomain(field.child("storageClassName"), storage_class)
    volume_mode = spec.get("volumeMode")
    if volume_mode is not None and volume_mode not in VOLUME_MODES:
        yield field.child("volumeMode").unsupported(volume_mode, VOLUME_MODES)


def _storage(field: Field, spec: JsonObject) -> Iterator[Fault]:
    # The server's name for the field lacks a step.
    at = field.child("resources").within("requests").named(f"{field.name}.resources[storage]")
    storage = get(spec, "resources", "requests", "storage")
    if storage is None:
        yield at.required()
        return
    quantity = from_json(storage)
    if quantity.sign() <= 0:
        yield at.within("storage").invalid(quantity.canonical(), "must be greater than zero")
