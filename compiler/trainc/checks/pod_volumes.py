"""Checks of a pod's volumes and their mounts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from trainc.admission.fields import (
    Field,
    annotation_map,
    dns_label,
    dns_subdomain,
    file_mode,
    label_map,
    local_descending_path,
    local_non_reserved_path,
    no_backsteps,
)
from trainc.admission.native import validate_claim
from trainc.basics.jsonvalues import as_object
from trainc.checks.pod_environment import VOLUME_FIELDS, validate_field_ref, validate_resource_ref
from trainc.findings import suggest
from trainc.kube.names import is_dns1123_subdomain
from trainc.kube.quantity import from_json
from trainc.schema.formats import matcher

TWO_SOURCES = "may not specify more than 1 volume type"

Volumes = Mapping[str, Field]
"""The volumes by name."""


def validate_volumes(volumes: Field) -> Volumes:
    """Check volumes; return those without errors, since the server counts the others as missing."""
    found: dict[str, Field] = {}
    for volume in volumes.items():
        before, name = len(volume.faults), volume.child("name")
        for position, kind in enumerate(sources_of(volume)):
            if position:
                # For two kinds, the name in this error is misspelt in the server.
                named = {"downwardAPI": "downwarAPI", "cephfs": "cephFS"}.get(kind, kind)
                volume.child(kind).named(f"{volume.name}.{named}").forbidden(TWO_SOURCES)
                continue
            name_of = "persistentDisk" if kind == "gcePersistentDisk" else kind
            source, (required, check) = volume.child(kind).named(f"{volume.name}.{name_of}"), SOURCES[kind]
            for field in required:
                source.child(field).require()
            if check is not None:
                check(source)
        if name.require():
            dns_label(name)
        if name.text() in found:
            name.duplicate()
        if len(volume.faults) == before:
            found[name.text()] = volume
    return found


def sources_of(volume: Field) -> list[str]:
    """Return the sources of a volume, in the server's order; without any, it is an emptyDir."""
    return [kind for kind in SOURCES if volume.has(kind)]


def _empty_dir(source: Field) -> None:
    limit = source.child("sizeLimit")
    if limit.value is not None and from_json(limit.value).sign() < 0:
        limit.forbidden("SizeLimit field must be a valid resource quantity")


def _host_path(source: Field) -> None:
    if source.text("path"):
        no_backsteps(source.child("path"))
        kinds = ("BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
        if (kind := source.child("type")).text() not in ("", *kinds):
            kind.unsupported(("", *kinds))


def _files(source: Field) -> None:
    file_mode(source.child("defaultMode"))
    for item in source.items("items"):
        _key_to_path(item)


def _key_to_path(item: Field) -> None:
    item.child("key").require()
    item.child("path").require()
    local_non_reserved_path(item.child("path"))
    file_mode(item.child("mode"))


def _nfs(source: Field) -> None:
    if not source.text("path").startswith("/"):
        source.child("path").invalid("must be an absolute path")


def _disk(source: Field) -> None:
    if not 0 <= (source.number("partition") or 0) <= 255:
        source.child("partition").invalid("must be between 1 and 255, inclusive")


_INITIATORS = {
    "iqn": r"iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$",
    "eui": r"^eui.[[:alnum:]]{16}$",
    "naa": r"^naa.[[:alnum:]]{32}$",
}
"""The API server's patterns for the names of iSCSI targets and initiators, by how they start."""


def _iscsi(source: Field) -> None:
    if not 0 <= (source.number("lun") or 0) <= 255:
        source.child("lun").invalid("must be between 0 and 255, inclusive")
    has_auth = True in (source.child("chapAuthDiscovery").value, source.child("chapAuthSession").value)
    if has_auth and not source.has("secretRef"):
        source.child("secretRef").required()
    if source.text("iqn"):
        _initiator(source.child("iqn"))
    initiator = source.child("initiatorName")
    if isinstance(initiator.value, str):
        _initiator(initiator.named(f"{source.name}.initiatorname"))


def _initiator(field: Field) -> None:
    pattern = _INITIATORS.get(field.text()[:3])
    if pattern is None:
        field.invalid("must be valid format starting with iqn, eui, or naa")
    elif (fits := matcher(pattern)) is None or not fits(field.text()):
        field.invalid("must be valid format")


def _fibre_channel(source: Field) -> None:
    names, lun = source.child("targetWWNs"), source.child("lun")
    if not names.value and not source.child("wwids").value:
        names.required("must specify either targetWWNs or wwids, but not both")
    elif names.value and source.child("wwids").value:
        names.invalid("targetWWNs and wwids can not be specified simultaneously")
    if names.value and lun.value is None:
        lun.required("lun is required if targetWWNs is specified")
    elif names.value:
        lun.between(0, 255)


def _csi(source: Field) -> None:
    driver, secret = source.child("driver"), source.child("nodePublishSecretRef", "name")
    if len(driver.text().encode()) > 63:
        driver.too_long(63)
    driver.invalid_each(is_dns1123_subdomain(driver.text().lower()))
    if source.has("nodePublishSecretRef") and secret.require():
        dns_subdomain(secret.named(f"{source.name}.name"))


def _cinder(source: Field) -> None:
    if source.has("secretRef"):
        source.child("secretRef", "name").require()


def _ephemeral(source: Field) -> None:
    template = source.child("volumeClaimTemplate")
    if not template.has():
        template.required()
        return
    metadata = template.child("metadata")
    label_map(metadata.child("labels"))
    annotation_map(metadata.child("annotations"))
    for key in metadata.object():
        if key not in ("labels", "annotations", "creationTimestamp"):
            metadata.child(key).forbidden("cannot be set")
    validate_claim(template.child("spec"))


def _downward_api(source: Field) -> None:
    file_mode(source.child("defaultMode"))
    for file in source.items("items"):
        _downward_api_file(file.named(source.name))  # the server omits the index


def _downward_api_file(file: Field) -> None:
    path, field, resource = map(file.child, ("path", "fieldRef", "resourceFieldRef"))
    path.require()
    local_non_reserved_path(path)
    if field.has():
        validate_field_ref(field, VOLUME_FIELDS)
        if resource.has():
            file.invalid("fieldRef and resourceFieldRef can not be specified simultaneously", "resource")
    elif resource.has():
        validate_resource_ref(resource, volume=True)
    else:
        file.required("one of fieldRef and resourceFieldRef is required")
    file_mode(file.child("mode"))


_PROJECTIONS = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def _projected(source: Field) -> None:
    file_mode(source.child("defaultMode"))
    paths: set[str] = set()

    def check_unique(item: Field, shown: str) -> None:
        path = item.text("path")
        if path and path in paths:
            item.named(source.name).invalid("conflicting duplicate paths", shown)
        paths.add(path)

    for projection in source.items("sources"):
        for kind in ("secret", "configMap"):
            if projection.has(kind):
                projection.child(kind, "name").require()
                for item in projection.items(kind, "items"):
                    _key_to_path(item)
                    check_unique(item, projection.text(kind, "name"))
        for item in projection.items("downwardAPI", "items"):
            _downward_api_file(item.named(f"{projection.name}.downwardAPI"))
            check_unique(item, item.text("path"))
        if projection.has("serviceAccountToken"):
            _token(projection.child("serviceAccountToken"), source.name)
        if sum(map(projection.has, _PROJECTIONS)) > 1:
            projection.forbidden("may not specify more than 1 volume type per source")


def _flex(source: Field) -> None:
    options = source.child("options")
    for name in as_object(options.value):
        namespace = f".{name.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            options.key(name).invalid("kubernetes.io and k8s.io namespaces are reserved", name)


def _token(token: Field, volume: str) -> None:
    seconds, path = token.child("expirationSeconds"), token.child("path").named(f"{volume}.path")
    count = seconds.number()
    if count is not None and count < 600:
        seconds.invalid("may not specify a duration less than 10 minutes")
    if count is not None and count > 2**32:
        seconds.invalid("may not specify a duration larger than 2^32 seconds")
    if path.require():
        local_non_reserved_path(path)


SOURCES: dict[str, tuple[tuple[str, ...], Callable[[Field], None] | None]] = {
    "emptyDir": ((), _empty_dir),
    "hostPath": (("path",), _host_path),
    "gitRepo": (("repository",), lambda source: local_descending_path(source.child("directory"))),
    "gcePersistentDisk": (("pdName",), _disk),
    "awsElasticBlockStore": (("volumeID",), _disk),
    "secret": (("secretName",), _files),
    "nfs": (("server", "path"), _nfs),
    "iscsi": (("targetPortal", "iqn"), _iscsi),
    "glusterfs": (("endpoints", "path"), None),
    "flocker": ((), None),
    "persistentVolumeClaim": (("claimName",), None),
    "rbd": (("monitors", "image"), None),
    "cinder": (("volumeID",), _cinder),
    "cephfs": (("monitors",), None),
    "quobyte": ((), None),
    "downwardAPI": ((), _downward_api),
    "fc": ((), _fibre_channel),
    "flexVolume": (("driver",), _flex),
    "configMap": (("name",), _files),
    "azureFile": (("secretName", "shareName"), None),
    "vsphereVolume": (("volumePath",), None),
    "photonPersistentDisk": (("pdID",), None),
    "portworxVolume": (("volumeID",), None),
    "azureDisk": ((), None),
    "storageos": ((), None),
    "projected": ((), _projected),
    "scaleIO": ((), None),
    "csi": (("driver",), _csi),
    "ephemeral": ((), _ephemeral),
    "image": ((), None),
}
"""Every source of Kubernetes 1.34, in the server's order: the required fields, and the check of the other fields.

Sources whose drivers have been removed from Kubernetes have no such check.
"""


# Volume mounts and devices of containers.


def validate_volume_mounts(container: Field, volumes: Volumes) -> None:
    """Check the volume mounts and volume devices of a container."""
    mounts, devices = container.items("volumeMounts"), container.items("volumeDevices")
    used_by_devices = _names_and_paths(devices, "devicePath")
    used_by_mounts = _names_and_paths(mounts, "mountPath")
    privileged = container.object("securityContext").get("privileged") is True
    seen: set[str] = set()
    for mount in mounts:
        name, path = mount.child("name"), mount.child("mountPath")
        _check_name(name, path, volumes, used_by_devices, "volumeDevices")
        if path.text() in seen:
            path.invalid("must be unique")
        seen.add(path.text())
        _mount_options(mount, f"{container.name}.volumeMounts", privileged=privileged)
    _volume_devices(devices, volumes, used_by_mounts)


_Others = tuple[Collection[str], Collection[str]]
"""The names and paths of the mounts, or of the devices, of a container."""


def _names_and_paths(fields: list[Field], key: str) -> _Others:
    """Return the names, and the paths under a key; of several with one name, the path of the last one."""
    paths = {field.text("name"): field.text(key) for field in fields}
    return paths.keys(), frozenset(paths.values())


def _check_name(name: Field, path: Field, volumes: Volumes, others: _Others, kind: str) -> None:
    """Check that the volume exists, and that neither it nor the path is mounted both as files and as a block device."""
    name.require()
    if name.text() not in volumes:
        name.not_found(name.text(), message="the pod has no such volume", hint=suggest(name.text(), volumes))
    names, paths = others
    if name.text() in names:
        name.invalid(f"must not already exist in {kind}")
    path.require()
    if path.text() in paths:
        path.invalid(f"must not already exist as a path in {kind}")


def _mount_options(mount: Field, mounts: str, *, privileged: bool) -> None:
    sub_path, expression = mount.child("subPath"), mount.child("subPathExpr")
    # In some errors, the server omits the index of the mount.
    local_descending_path(sub_path.named(f"{mounts}.subPath"))
    if expression.text() and sub_path.text():
        expression.invalid("subPathExpr and subPath are mutually exclusive")
    local_descending_path(expression.named(f"{mounts}.subPathExpr"))
    propagation = mount.child("mountPropagation").named(f"{mounts}.mountPropagation")
    propagation.one_of(("Bidirectional", "HostToContainer", "None"), pointer=True)
    if propagation.text() == "Bidirectional" and not privileged:
        propagation.forbidden("Bidirectional mount propagation is available only to privileged containers")
    read_only = mount.child("recursiveReadOnly").named(f"{mounts}.recursiveReadOnly")
    read_only.one_of(("Disabled", "Enabled", "IfPossible"), pointer=True)
    if read_only.text() in ("Enabled", "IfPossible"):
        if mount.object().get("readOnly") is not True:
            read_only.forbidden("may only be specified when readOnly is true")
        if propagation.text() not in ("", "None"):
            read_only.forbidden("may only be specified when mountPropagation is None or not specified")


def _volume_devices(devices: list[Field], volumes: Volumes, mounts: _Others) -> None:
    names: set[str] = set()
    paths: set[str] = set()
    for device in devices:
        name, path = device.child("name"), device.child("devicePath")
        _check_name(name, path, volumes, mounts, "volumeMounts")
        if name.text() in names:
            name.invalid("must be unique")
        if name.text() in volumes and sources_of(volumes[name.text()]) not in (
            ["persistentVolumeClaim"],
            ["ephemeral"],
        ):
            name.invalid("can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
        if path.text() in paths:
            path.invalid("must be unique")
        if ".." in path.text().split("/"):
            path.invalid("can not contain backsteps ('..')")
        else:
            paths.add(path.text())
        names |= {name.text()} - {""}
