"""Where containers mount volumes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainc.checks.pod.volumes import sources_of
from trainc.checks.problem import Place, Problem
from trainc.checks.rules import descending, no_backsteps, text
from trainc.diagnostics import suggest
from trainc.records import replace
from trainc.source import JsonObject, get, objects

PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
READ_ONLY = ("Disabled", "Enabled", "IfPossible")

Volumes = Mapping[str, JsonObject]


def mount_problems(place: Place, container: JsonObject, volumes: Volumes) -> Iterator[Problem]:
    """Check the volume mounts and devices of a container; ``volumes`` are those that can be mounted, by name."""
    mounts, devices = objects(container.get("volumeMounts")), objects(container.get("volumeDevices"))
    device_paths = {text(device, "name"): text(device, "devicePath") for device in devices}
    mount_paths = {text(mount, "name"): text(mount, "mountPath") for mount in mounts}
    privileged = get(container, "securityContext", "privileged") is True
    at = place.child("volumeMounts")
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        yield from _mount(at.index(index), mount, volumes, seen)
        yield from _overlap(at.index(index), mount, device_paths, "mountPath", "volumeDevices")
        yield from _options(at, index, mount, privileged=privileged)
    yield from _devices(place.child("volumeDevices"), devices, volumes, mount_paths)


def _mount(place: Place, mount: JsonObject, volumes: Volumes, seen: set[str]) -> Iterator[Problem]:
    name, path = text(mount, "name"), text(mount, "mountPath")
    if not name:
        yield place.child("name").required()
    if name not in volumes:
        yield _missing(place.child("name"), name, volumes)
    if not path:
        yield place.child("mountPath").required()
    if path in seen:
        yield place.child("mountPath").invalid(path, "must be unique")
    seen.add(path)


def _missing(place: Place, name: str, volumes: Volumes) -> Problem:
    return replace(place.not_found(name, ours="the pod has no such volume"), hint=suggest(name, volumes))


def _overlap(place: Place, item: JsonObject, others: Mapping[str, str], field: str, kind: str) -> Iterator[Problem]:
    """Report a volume, or a path, that is mounted both as files and as a block device."""
    name, path = text(item, "name"), text(item, field)
    if name in others:
        yield place.child("name").invalid(name, f"must not already exist in {kind}")
    if path in others.values():
        yield place.child(field).invalid(path, f"must not already exist as a path in {kind}")


def _options(place: Place, index: int, mount: JsonObject, *, privileged: bool) -> Iterator[Problem]:
    """Check what a mount may have besides; for some of it the server leaves the number of the mount out."""
    sub_path, expression = text(mount, "subPath"), text(mount, "subPathExpr")
    if sub_path:
        yield from descending(_unnumbered(place, index, "subPath"), sub_path)
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            yield place.index(index).child("subPathExpr").invalid(expression, detail)
        yield from descending(_unnumbered(place, index, "subPathExpr"), expression)
    propagation, at = text(mount, "mountPropagation"), _unnumbered(place, index, "mountPropagation")
    if "mountPropagation" in mount and propagation not in PROPAGATIONS:
        yield at.unsupported(propagation, PROPAGATIONS)
    if propagation == "Bidirectional" and not privileged:
        yield at.forbidden("Bidirectional mount propagation is available only to privileged containers")
    if "recursiveReadOnly" in mount:
        yield from _recursive(_unnumbered(place, index, "recursiveReadOnly"), mount)


def _unnumbered(place: Place, index: int, field: str) -> Place:
    return place.within(index, field).named(f"{place.field}.{field}")


def _recursive(place: Place, mount: JsonObject) -> Iterator[Problem]:
    value = text(mount, "recursiveReadOnly")
    if value not in READ_ONLY:
        yield place.unsupported(value, ("Disabled", "Enabled", "IfPossible"))
    elif value != "Disabled":
        if mount.get("readOnly") is not True:
            yield place.forbidden("may only be specified when readOnly is true")
        if text(mount, "mountPropagation") not in ("", "None"):
            yield place.forbidden("may only be specified when mountPropagation is None or not specified")


def _devices(place: Place, devices: list[JsonObject], volumes: Volumes, mounts: Mapping[str, str]) -> Iterator[Problem]:
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(devices):
        at, name, path = place.index(index), text(device, "name"), text(device, "devicePath")
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
