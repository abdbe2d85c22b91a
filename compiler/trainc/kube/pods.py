"""Pods: the defaults of the Jobs and pods that controllers create, and the requests of a pod.

Sources: k8s.io/kubernetes v1.34 pkg/apis/core/v1/defaults.go, pkg/apis/batch/v1/defaults.go (and what is generated of
the defaults in their types), the admission plugins DefaultTolerationSeconds and ServiceAccount, and PodRequests of
k8s.io/component-helpers v0.36.2 (resource) without any option. Objects come as Go writes them (kube/gotypes.py). Of
volume types, those that a cluster of today has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, as_object, get, objects
from trainc.kube.quantity import Quantity, from_json

_MODE: Final = 0o644
_NO_EXECUTE: Final = "NoExecute"
_CONTAINERS: Final = ("initContainers", "containers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_MAX_INT32: Final = 2**31 - 1

_SPEC: Final[JsonObject] = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
_VOLUMES: Final[Mapping[str, JsonObject]] = {
    "hostPath": {"type": ""},
    "secret": {"defaultMode": _MODE},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE},
}
_CLAIM: Final[JsonObject] = {"volumeMode": "Filesystem"}
_PROBE: Final[JsonObject] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP: Final[JsonObject] = {"path": "/", "scheme": "HTTP"}
_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"

ResourceList = dict[str, Quantity]


def default_job(job: JsonObject) -> JsonObject:
    """Return a Job with the defaults of its spec, its pod template included."""
    spec = as_object(job.get("spec"))
    counts: JsonObject = {"parallelism": 1}
    if "parallelism" not in spec:
        counts["completions"] = 1
    template = as_object(spec.get("template"))
    filled: JsonObject = {
        **counts,
        "backoffLimit": _MAX_INT32 if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        "manualSelector": False,
        **spec,
        "template": {**template, "spec": default_template(as_object(template.get("spec")))},
    }
    if isinstance(policy := filled.get("podFailurePolicy"), dict) and "rules" in policy:
        filled["podFailurePolicy"] = {**policy, "rules": [_failure_rule(rule) for rule in objects(policy["rules"])]}
    return {**job, "spec": filled}


def _failure_rule(given: JsonObject) -> JsonObject:
    """Return a rule whose conditions have status True by default."""
    if "onPodConditions" not in given:
        return given
    asked: list[Json] = [{**each, "status": each.get("status") or "True"} for each in objects(given["onPodConditions"])]
    return {**given, "onPodConditions": asked}


def default_template(spec: JsonObject) -> JsonObject:
    """Return the spec of a pod template with its defaults."""
    filled = {**_SPEC, **spec}
    if account := spec.get("serviceAccountName"):
        filled.setdefault("serviceAccount", account)
    for field in _CONTAINERS:
        if field in filled:
            filled[field] = [_container(container) for container in objects(filled[field])]
    if "volumes" in filled:
        filled["volumes"] = [_volume(volume) for volume in objects(filled["volumes"])]
    return filled


def default_pod(spec: JsonObject) -> JsonObject:
    """Return the spec of a pod from a template with defaults, with the defaults that only pods get."""
    filled: JsonObject = {"enableServiceLinks": True, "serviceAccountName": "default", **spec}
    filled.setdefault("serviceAccount", filled["serviceAccountName"])
    for field in _CONTAINERS:
        if field in filled:
            found = map(_requesting, objects(filled[field]))
            filled[field] = [_on_host(each) if filled.get("hostNetwork") is True else each for each in found]
    filled["tolerations"] = _tolerations(objects(filled.get("tolerations")))
    return filled


def _container(given: JsonObject) -> JsonObject:
    filled: JsonObject = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always" if _is_latest(str(given.get("image", ""))) else "IfNotPresent",
        **given,
    }
    if "ports" in filled:
        filled["ports"] = [{"protocol": "TCP", **port} for port in objects(filled["ports"])]
    if "env" in filled:
        filled["env"] = [_referring(variable, "valueFrom") for variable in objects(filled["env"])]
    for field in _PROBES:
        if isinstance(probe := filled.get(field), dict):
            filled[field] = _within(_within({**_PROBE, **probe}, "httpGet", _HTTP), "grpc", {"service": ""})
    if isinstance(hooks := filled.get("lifecycle"), dict):
        filled["lifecycle"] = {name: _within(as_object(hook), "httpGet", _HTTP) for name, hook in hooks.items()}
    return filled


def _is_latest(image: str) -> bool:
    """Tell whether an image has neither digest nor a tag but latest."""
    name, _, digest = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    return tag == "latest" if colon else not digest


def _volume(given: JsonObject) -> JsonObject:
    filled: JsonObject = given if len(given) > 1 else {**given, "emptyDir": {}}
    for field, values in _VOLUMES.items():
        filled = _within(filled, field, values)
    filled = _items(filled, "downwardAPI")
    if isinstance(projected := filled.get("projected"), dict) and "sources" in projected:
        sources: list[Json] = [
            _within(_items(source, "downwardAPI"), "serviceAccountToken", {"expirationSeconds": 3600})
            for source in objects(projected["sources"])
        ]
        filled = {**filled, "projected": {**projected, "sources": sources}}
    claim = as_object(as_object(filled.get("ephemeral")).get("volumeClaimTemplate"))
    return {**filled, "ephemeral": {"volumeClaimTemplate": _within(claim, "spec", _CLAIM)}} if claim else filled


def _items(given: JsonObject, field: str) -> JsonObject:
    value = given.get(field)
    if not isinstance(value, dict) or "items" not in value:
        return given
    return {**given, field: {**value, "items": [_referring(item) for item in objects(value["items"])]}}


def _referring(given: JsonObject, field: str = "") -> JsonObject:
    """Return the values that may refer to a field of the pod, directly or in one of their fields."""
    if not field:
        return _within(given, "fieldRef", {"apiVersion": "v1"})
    value = given.get(field)
    return {**given, field: _referring(value)} if isinstance(value, dict) else given


def _within(given: JsonObject, field: str, values: JsonObject) -> JsonObject:
    """Return an object with defaults in one of its fields, if it has that."""
    value = given.get(field)
    return {**given, field: {**values, **value}} if isinstance(value, dict) else given


def _requesting(container: JsonObject) -> JsonObject:
    """Return a container whose requests default to its limits."""
    resources = as_object(container.get("resources"))
    limits = as_object(resources.get("limits"))
    if not limits:
        return container
    requests: JsonObject = {**limits, **as_object(resources.get("requests"))}
    return {**container, "resources": {**resources, "requests": requests}}


def _on_host(container: JsonObject) -> JsonObject:
    if "ports" not in container:
        return container
    ports: list[Json] = [{"hostPort": port.get("containerPort"), **port} for port in objects(container["ports"])]
    return {**container, "ports": ports}


def _tolerations(given: list[JsonObject]) -> list[Json]:
    missing = (taint for taint in _TAINTS if not any(_tolerates(each, taint) for each in given))
    rule: JsonObject = {"operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": 300}
    return [*given, *({"key": taint, **rule} for taint in missing)]


def _tolerates(toleration: JsonObject, taint: str) -> bool:
    return toleration.get("key", taint) == taint and toleration.get("effect", _NO_EXECUTE) == _NO_EXECUTE


def pod_requests(pod_spec: Json) -> ResourceList:
    """Return the requests of a PodSpec by resource, names sorted; limits do not count.

    Containers and sidecars (init containers that restart always) run together
    and add up. An init container runs beside the sidecars started before it,
    and the largest such moment counts. Pod-level requests for cpu, memory and
    huge pages replace the sum; the overhead is added last.

    Raises QuantityError for a request that is no quantity.
    """
    total: ResourceList = {}
    for container in _containers(pod_spec, "containers"):
        _add(total, _resources(get(container, "resources", "requests")))
    _add_init_containers(total, pod_spec)
    on_pod = {
        name: quantity
        for name, quantity in _resources(get(pod_spec, "resources", "requests")).items()
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES)
    }
    total.update(on_pod)
    _add(total, _resources(get(pod_spec, "overhead")))
    return {name: total[name] for name in sorted(total)}


def _add_init_containers(total: ResourceList, pod_spec: Json) -> None:
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in _containers(pod_spec, "initContainers"):
        requests = _resources(get(container, "resources", "requests"))
        if get(container, "restartPolicy") == "Always":
            _add(total, requests)
            _add(sidecars, requests)
            _raise(peak, sidecars)
        else:
            _add(requests, sidecars)
            _raise(peak, requests)
    _raise(total, peak)


def _containers(pod_spec: Json, key: str) -> Iterator[Json]:
    containers = get(pod_spec, key)
    yield from containers if isinstance(containers, list) else ()


def _resources(value: Json) -> ResourceList:
    return {name: from_json(amount) for name, amount in value.items()} if isinstance(value, dict) else {}


def _add(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name].add(quantity) if name in total else quantity


def _raise(peak: ResourceList, other: Mapping[str, Quantity]) -> None:
    """Set each resource of peak to the greater of both."""
    for name, quantity in other.items():
        if name not in peak or quantity.compare(peak[name]) > 0:
            peak[name] = quantity
