"""Pods: the defaults of the Jobs and pods that controllers create, and the requests of a pod.

Sources: k8s.io/kubernetes v1.34 pkg/apis/core/v1/defaults.go, pkg/apis/batch/v1/defaults.go (and the code generated
from the defaults in their types), the admission plugins DefaultTolerationSeconds and ServiceAccount, and PodRequests of
k8s.io/component-helpers v0.36.2 (resource) without any option. Objects must be as Go writes them (kube/gotypes.py).
Volume types that clusters no longer support are omitted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects, put
from trainc.kube.quantity import Quantity, from_json

_MODE: Final = 0o644
_NO_EXECUTE: Final = "NoExecute"
_CONTAINERS: Final = ("initContainers", "containers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_AFFINITIES: Final = ("podAffinity", "podAntiAffinity")
_TERM: Final = "podAffinityTerm"
_EXPRESSIONS: Final = "matchExpressions"
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
_FIELD_REFERENCE: Final[JsonObject] = {"apiVersion": "v1"}
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
        rules: list[Json] = []
        for rule in objects(policy["rules"]):
            conditions = objects(rule.get("onPodConditions"))
            found: list[Json] = [{**each, "status": each.get("status") or "True"} for each in conditions]
            rules.append({**rule, "onPodConditions": found} if "onPodConditions" in rule else rule)
        filled["podFailurePolicy"] = {**policy, "rules": rules}
    return {**job, "spec": filled}


def default_template(spec: JsonObject) -> JsonObject:
    """Return the spec of a pod template with its defaults."""
    filled = {**_SPEC, **_without_gated_fields(spec)}
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        filled |= {"serviceAccountName": account, "serviceAccount": account}  # the second is its old name
    for field in _CONTAINERS:
        if field in filled:
            filled[field] = [_container(container) for container in objects(filled[field])]
    if "volumes" in filled:
        filled["volumes"] = [_volume(volume) for volume in objects(filled["volumes"])]
    if overhead := as_object(spec.get("overhead")):
        filled["overhead"] = rounded(overhead)
    return with_rounded(filled, "resources")


def with_rounded(owner: JsonObject, field: str) -> JsonObject:
    """Return an object with the requests and limits of a field in thousandths, as a server stores them."""
    if not (resources := as_object(owner.get(field))):
        return owner
    lists: JsonObject = {
        kind: rounded(as_object(resources[kind])) for kind in ("requests", "limits") if kind in resources
    }
    return {**owner, field: {**resources, **lists}}


def rounded(amounts: JsonObject) -> JsonObject:
    """Return a list of resources in thousandths, rounded away from zero. Raises QuantityError."""
    return {name: from_json(amount).in_thousandths().canonical() for name, amount in amounts.items()}


_GATES: Final[tuple[tuple[Path, str], ...]] = (
    (("restartPolicyRules",), "ContainerRestartRules"),
    (("lifecycle", "stopSignal"), "ContainerStopSignals"),
)
_POD_GATES: Final = (("hostnameOverride", "HostnameOverride"), ("schedulingGroup", ""))
_PROJECTED_GATES: Final = (
    ("clusterTrustBundle", "ClusterTrustBundleProjection"),
    ("podCertificate", "PodCertificateRequest"),
)


def gated_fields(spec: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the path of each field that Kubernetes 1.34 drops from a pod's spec, and its feature gate.

    The gates are off by default. The gate is empty for a field that 1.34 does not have.
    """
    yield from (((name,), gate) for name, gate in _POD_GATES if spec.get(name) is not None)
    for kind in _CONTAINERS:
        for index, container in enumerate(objects(spec.get(kind))):
            yield from (((kind, index, *path), gate) for path, gate in _GATES if get(container, *path) is not None)
            policy = container.get("restartPolicy")
            if policy is not None and not (policy == "Always" and kind == "initContainers"):
                yield (kind, index, "restartPolicy"), "ContainerRestartRules"
    for index, volume in enumerate(objects(spec.get("volumes"))):
        for number, source in enumerate(objects(get(volume, "projected", "sources"))):
            root: Path = ("volumes", index, "projected", "sources", number)
            yield from (((*root, kind), gate) for kind, gate in _PROJECTED_GATES if kind in source)


def _without_gated_fields(spec: JsonObject) -> JsonObject:
    for path, _ in tuple(gated_fields(spec)):
        owner, name = path[:-1], path[-1]
        if name == "stopSignal" and len(as_object(get(spec, *owner))) == 1:  # nothing is left of the lifecycle
            owner, name = owner[:-1], owner[-1]
        kept = {key: value for key, value in as_object(get(spec, *owner)).items() if key != name}
        spec = put(spec, owner, kept)
    return spec


def default_pod(spec: JsonObject, labels: JsonObject) -> JsonObject:
    """Return the spec of a pod from a template with defaults, with what a server fills in only of pods.

    ``labels`` are the pod's.
    """
    filled: JsonObject = {"enableServiceLinks": True, "serviceAccountName": "default", **spec}
    filled.setdefault("serviceAccount", filled["serviceAccountName"])
    if isinstance(seconds := filled.get("terminationGracePeriodSeconds"), int) and seconds < 0:
        filled["terminationGracePeriodSeconds"] = 1
    for field in _CONTAINERS:
        if field in filled:
            on_host = filled.get("hostNetwork") is True
            filled[field] = [_pod_container(container, on_host) for container in objects(filled[field])]
    for field in _AFFINITIES:
        filled = _with_terms(filled, field, labels)
    if constraints := objects(filled.get("topologySpreadConstraints")):
        filled["topologySpreadConstraints"] = [_with_label_keys(each, labels) for each in constraints]
    existing = objects(filled.get("tolerations"))
    missing = (taint for taint in _TAINTS if not any(_tolerates(each, taint) for each in existing))
    rule: JsonObject = {"operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": 300}
    filled["tolerations"] = [*existing, *({"key": taint, **rule} for taint in missing)]
    return filled


def _with_terms(spec: JsonObject, field: str, labels: JsonObject) -> JsonObject:
    """Return the spec of a pod with complete label selectors in one of its affinities to pods."""
    required, preferred = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
    affinity = as_object(get(spec, "affinity", field))
    if terms := objects(affinity.get(required)):
        affinity = {**affinity, required: [_with_label_keys(term, labels) for term in terms]}
    if weighted := objects(affinity.get(preferred)):
        terms = [_with_label_keys(as_object(each.get(_TERM)), labels) for each in weighted]
        affinity = {**affinity, preferred: [{**each, _TERM: term} for each, term in zip(weighted, terms, strict=True)]}
    return put(spec, ("affinity", field), affinity) if affinity else spec


def _with_label_keys(term: JsonObject, labels: JsonObject) -> JsonObject:
    """Return what selects pods, with the pod's own values of the labels that it names in its selector."""
    selector = term.get("labelSelector")
    kinds = (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
    found: list[Json] = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for field, operator in kinds
        for key in as_list(term.get(field))
        if isinstance(key, str) and key in labels
    ]
    if not isinstance(selector, dict) or not found:
        return term
    return {**term, "labelSelector": {**selector, _EXPRESSIONS: [*as_list(selector.get(_EXPRESSIONS)), *found]}}


def _container(container: JsonObject) -> JsonObject:
    filled: JsonObject = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always" if _is_latest(str(container.get("image", ""))) else "IfNotPresent",
        **container,
    }
    if "ports" in filled:
        filled["ports"] = [{"protocol": "TCP", **port} for port in objects(filled["ports"])]
    if "env" in filled:
        filled["env"] = [_variable(variable) for variable in objects(filled["env"])]
    for field in _PROBES:
        if isinstance(probe := filled.get(field), dict):
            filled[field] = _within(_within({**_PROBE, **probe}, "httpGet", _HTTP), "grpc", {"service": ""})
    if isinstance(hooks := filled.get("lifecycle"), dict):
        filled["lifecycle"] = {name: _within(as_object(hook), "httpGet", _HTTP) for name, hook in hooks.items()}
    return with_rounded(filled, "resources")


def _variable(variable: JsonObject) -> JsonObject:
    source = variable.get("valueFrom")
    if not isinstance(source, dict):
        return variable
    return {**variable, "valueFrom": _within(source, "fieldRef", _FIELD_REFERENCE)}


def _is_latest(image: str) -> bool:
    """Return whether an image has the tag latest, or neither a tag nor a digest."""
    name, _, digest = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    return tag == "latest" if colon else not digest


def _volume(volume: JsonObject) -> JsonObject:
    filled: JsonObject = volume if len(volume) > 1 else {**volume, "emptyDir": {}}
    for field, values in _VOLUMES.items():
        filled = _within(filled, field, values)
    filled = _downward_items(filled)
    if isinstance(projected := filled.get("projected"), dict) and projected.get("sources"):
        sources: list[Json] = [
            _within(_downward_items(source), "serviceAccountToken", {"expirationSeconds": 3600})
            for source in objects(projected["sources"])
        ]
        filled = {**filled, "projected": {**projected, "sources": sources}}
    claim = as_object(as_object(filled.get("ephemeral")).get("volumeClaimTemplate"))
    if not claim:
        return filled
    claim = _within(claim, "spec", _CLAIM)
    claim = {**claim, "spec": with_rounded(as_object(claim.get("spec")), "resources")}
    return {**filled, "ephemeral": {"volumeClaimTemplate": claim}}


def _downward_items(volume: JsonObject) -> JsonObject:
    """Return a volume, or a source of a projected one, with defaults in the items of downwardAPI."""
    value = volume.get("downwardAPI")
    if not isinstance(value, dict) or "items" not in value:
        return volume
    items: list[Json] = [_within(item, "fieldRef", _FIELD_REFERENCE) for item in objects(value["items"])]
    return {**volume, "downwardAPI": {**value, "items": items}}


def _within(data: JsonObject, field: str, defaults: JsonObject) -> JsonObject:
    """Return an object with defaults in one of its fields, if it has that field. Go's null in it is nothing."""
    value = data.get(field)
    if not isinstance(value, dict):
        return data
    given = {key: item for key, item in value.items() if item is not None or key not in defaults}
    return {**data, field: {**defaults, **given}}


def _pod_container(container: JsonObject, on_host: bool) -> JsonObject:
    """Return a container of a pod: requests default to limits, and on the host's network host ports to ports."""
    filled = {**container}
    resources = as_object(container.get("resources"))
    if limits := as_object(resources.get("limits")):
        filled["resources"] = {**resources, "requests": {**limits, **as_object(resources.get("requests"))}}
    if on_host and "ports" in container:
        filled["ports"] = [{"hostPort": port.get("containerPort"), **port} for port in objects(container["ports"])]
    return filled


def _tolerates(toleration: JsonObject, taint: str) -> bool:
    return toleration.get("key", taint) == taint and toleration.get("effect", _NO_EXECUTE) == _NO_EXECUTE


def pod_requests(pod_spec: Json) -> ResourceList:
    """Return the requests of a PodSpec by resource, names sorted; limits do not count.

    The requests of containers and sidecars (init containers that restart always) are added up. An init container runs
    at the same time as the sidecars that started before it, and the largest such sum counts. Pod-level requests for
    cpu, memory and huge pages replace the sum; the overhead is added last.

    Raises QuantityError for an invalid request.
    """
    total: ResourceList = {}
    for container in as_list(get(pod_spec, "containers")):
        _add(total, _resources(get(container, "resources", "requests")))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in as_list(get(pod_spec, "initContainers")):
        requests = _resources(get(container, "resources", "requests"))
        if get(container, "restartPolicy") == "Always":
            _add(total, requests)
            _add(sidecars, requests)
            _raise(peak, sidecars)
        else:
            _add(requests, sidecars)
            _raise(peak, requests)
    _raise(total, peak)
    for name, quantity in _resources(get(pod_spec, "resources", "requests")).items():
        if name in _POD_LEVEL or name.startswith(_HUGE_PAGES):
            total[name] = quantity
    _add(total, _resources(get(pod_spec, "overhead")))
    return {name: total[name] for name in sorted(total)}


def _resources(value: Json) -> ResourceList:
    return {name: from_json(amount) for name, amount in value.items()} if isinstance(value, dict) else {}


def _add(total: ResourceList, more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name].add(quantity) if name in total else quantity


def _raise(peak: ResourceList, other: Mapping[str, Quantity]) -> None:
    """Set each resource of ``peak`` to the greater of both amounts."""
    for name, quantity in other.items():
        if name not in peak or quantity.compare(peak[name]) > 0:
            peak[name] = quantity
