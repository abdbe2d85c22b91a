"""Pods that every API server accepts, but that no kubelet starts: what they refer to cannot exist.

Sources: Kubernetes 1.34, pkg/apis/core/validation/validation.go, where the claim, Secret or ConfigMap of a volume only
needs a name; pkg/volume/emptydir/empty_dir.go (SetUpAt, getPageSizeMountOption); pkg/kubelet/container/helpers.go
(ExpandContainerVolumeMounts); pkg/api/v1/resource/helpers.go (findContainerInPod).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_object, dotted, get, objects
from trainc.basics.regex import lazy
from trainc.checks.containers import KINDS, containers
from trainc.findings import Finding, Severity
from trainc.findings.display import listed
from trainc.gitops.pods import replicated_pods
from trainc.kube.names import is_config_map_key, is_dns1123_subdomain
from trainc.kube.pods import REFERENCE
from trainc.plugins.model import Model, Object
from trainc.plugins.origins import report_at

VOLUME: Final = "TC806"
VARIABLE: Final = "TC811"

_NAMES: Final = (("persistentVolumeClaim", "claimName"), ("secret", "secretName"), ("configMap", "name"))
_PROJECTED: Final = (("secret", "name"), ("configMap", "name"))
_HUGE_PAGES: Final = "HugePages"
_BY_CLUSTER: Final = lazy(r"JOB_COMPLETION_INDEX|(?=.*_(?:SERVICE|PORT)(?:_|\Z)).*")
"""Variables that the Job controller adds, and those that the kubelet adds for Services of the namespace."""

_NAMED: Final = 20
"""The most containers of the pod that an error names."""

Problem = tuple[str, Path, str, dict[str, Any]]
"""A code, the path of a value in a pod, what is wrong with it, and details of the finding."""


def check_kubelet(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield an error for each value with which no pod of a replicated job starts."""
    for name, at, pod in replicated_pods(jobset.data):
        for code, path, reason, details in (*_volumes(pod), *_containers(pod)):
            message = f"no pod of job {name!r} starts: {dotted(path)}: {reason}"
            yield report_at(code, model, jobset, (*at, *path), message, severity=model.severity, **details)


def _volumes(pod: JsonObject) -> Iterator[Problem]:
    uses_huge_pages = any(name.startswith("hugepages-") for name in requested(pod))
    names = _container_names(pod)
    for index, volume in enumerate(objects(pod.get("volumes"))):
        path: Path = ("volumes", index)
        yield from _sources(volume, _NAMES, path)
        yield from _files(names, as_object(volume.get("downwardAPI")), (*path, "downwardAPI"))
        for number, source in enumerate(objects(get(volume, "projected", "sources"))):
            where: Path = (*path, "projected", "sources", number)
            yield from _sources(source, _PROJECTED, where)
            yield from _files(names, as_object(source.get("downwardAPI")), (*where, "downwardAPI"))
        medium = get(volume, "emptyDir", "medium") or ""
        where = (*path, "emptyDir", "medium")
        if medium == _HUGE_PAGES or str(medium).startswith(f"{_HUGE_PAGES}-"):
            if not uses_huge_pages:
                yield VOLUME, where, "no container requests huge pages", {"found": str(medium)}
        elif medium not in ("", "Memory"):
            hint = "write Memory" if str(medium).lower() == "memory" else "leave it out, for the disk of the node"
            details = {"found": str(medium), "expected": f"Memory or {_HUGE_PAGES}", "hint": hint}
            yield VOLUME, where, "unknown storage medium", details


def requested(pod: JsonObject) -> Iterator[str]:
    """Yield the names of the resources that containers request, or have a limit of."""
    for container in (container for kind in KINDS for container in objects(pod.get(kind))):
        for amounts in ("requests", "limits"):
            yield from as_object(get(container, "resources", amounts))


def _sources(volume: JsonObject, names: tuple[tuple[str, str], ...], path: Path) -> Iterator[Problem]:
    """Yield each name that no claim, Secret or ConfigMap can have, and each key that none can have."""
    for kind, key in names:
        source = as_object(volume.get(kind))
        name = source.get(key)
        if not name or source.get("optional") is True:
            continue
        if any(is_dns1123_subdomain(str(name))):
            expected = "labels of a-z, 0-9 and -, separated by dots"
            hint = "a pod can only use the objects of its own namespace: name one of them" if "/" in str(name) else None
            details = {"found": str(name), "expected": expected, "hint": hint}
            yield VOLUME, (*path, kind, key), "no object can have this name", details
        for index, item in enumerate(objects(source.get("items"))):
            if item.get("key") and any(is_config_map_key(str(item["key"]))):
                details = {"found": str(item["key"])}
                yield VOLUME, (*path, kind, "items", index, "key"), "no object can have this key", details


def _files(names: Collection[str], source: JsonObject, path: Path) -> Iterator[Problem]:
    for index, file in enumerate(objects(source.get("items"))):
        yield from _container_of(names, file, (*path, "items", index), VOLUME)


def _containers(pod: JsonObject) -> Iterator[Problem]:
    names = _container_names(pod)
    for kind in KINDS:
        for index, container in enumerate(objects(pod.get(kind))):
            for number, variable in enumerate(objects(container.get("env"))):
                path: Path = (kind, index, "env", number, "valueFrom")
                yield from _container_of(names, as_object(variable.get("valueFrom")), path, VARIABLE)
            yield from _expressions(container, (kind, index))


def _container_names(pod: JsonObject) -> Collection[str]:
    return dict.fromkeys(str(container.get("name")) for kind in KINDS for container in objects(pod.get(kind)))


def _container_of(names: Collection[str], source: JsonObject, path: Path, code: str) -> Iterator[Problem]:
    """Yield a reference to the resources of a container that the pod does not have."""
    name = get(source, "resourceFieldRef", "containerName")
    if name and str(name) not in names:
        details = {"found": str(name), "expected": listed(names, _NAMED)}
        yield code, (*path, "resourceFieldRef", "containerName"), "the pod has no such container", details


def _expressions(container: JsonObject, path: Path) -> Iterator[Problem]:
    """Yield each subPathExpr with a variable that the container does not have, or that is empty."""
    if container.get("envFrom"):
        return
    known: set[Json] = set()
    for variable in objects(container.get("env")):
        if variable.get("value") or variable.get("valueFrom"):
            known.add(variable.get("name"))
    for index, mount in enumerate(objects(container.get("volumeMounts"))):
        for found in REFERENCE.finditer(str(mount.get("subPathExpr") or "")):
            name = found[2]
            if name is not None and name not in known and not _BY_CLUSTER.fullmatch(name):
                details = {"found": found[0], "hint": f"add the variable {name} to env of the container"}
                yield VOLUME, (*path, "volumeMounts", index, "subPathExpr"), f"there is no variable {name!r}", details


def check_references(model: Model, jobset: Object) -> Iterator[Finding]:
    """Yield a warning for each variable that refers to itself or to a later one: the kubelet leaves the text as it is.

    The Job controller adds the index of the pod as the last variable (pkg/controller/job/indexed_job_utils.go).
    """
    for path, _, container in containers(jobset.data):
        variables = [] if container.get("envFrom") else objects(container.get("env"))  # which has unknown values
        values = [
            (number, str(each["value"])) for number, each in enumerate(variables) if "$(" in str(each.get("value"))
        ]
        positions = {each.get("name"): number for number, each in enumerate(variables)} if values else {}
        for number, value in values:
            own = variables[number].get("name")
            for name in dict.fromkeys(found[2] for found in REFERENCE.finditer(value)):
                if positions.get(name, len(variables) if name == "JOB_COMPLETION_INDEX" else -1) < number:
                    continue
                reason, hint = f"{name} comes later", f"put {name} before it, or write $({name}) in command or args"
                if name == own:
                    reason, hint = (
                        "it has no earlier value, and that of the image is not known",
                        "write the whole value",
                    )
                message = f"variable {own} keeps the text $({name}): {reason}"
                where, details = (*path, "env", number, "value"), {"found": f"$({name})", "hint": hint}
                yield report_at(VARIABLE, model, jobset, where, message, severity=Severity.WARNING, **details)
