"""Pods: the defaults of the Jobs and pods that controllers create, and the requests of a pod.

Sources: k8s.io/kubernetes v1.34 pkg/apis/core/v1/defaults.go, pkg/apis/batch/v1/defaults.go (and the code generated
from the defaults in their types), pkg/apis/core/v1/conversion.go, pkg/registry/core/pod/strategy.go (PrepareForCreate),
the admission plugins DefaultTolerationSeconds and ServiceAccount, and PodRequests of k8s.io/component-helpers v0.36.2
(resource) without any option. Objects must be as Go writes them (kube/gotypes.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects, put
from trainc.basics.regex import lazy
from trainc.kube.gojson import trim_space
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
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "scaleIO": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}
_CLAIM: Final[JsonObject] = {"volumeMode": "Filesystem"}
_PROBE: Final[JsonObject] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP: Final[JsonObject] = {"path": "/", "scheme": "HTTP"}
_FIELD_REFERENCE: Final[JsonObject] = {"apiVersion": "v1"}
_POD_LEVEL = frozenset({"cpu", "memory"})
_HUGE_PAGES = "hugepages-"

REFERENCE: Final = lazy(r"(\$\$)+|\$\((?:([^)]*+)\)|[^)]*+\Z)")
"""Escapes in the value of a variable, and variables by their names, as the kubelet reads them; without a name, the rest
of a text in which a bracket is not closed."""

ResourceList = dict[str, Quantity]


def default_job(job: JsonObject, *, gated: bool = False) -> JsonObject:
    """Return a Job with the defaults of its spec, its pod template included. ``gated`` is for ``default_template``."""
    spec = as_object(job.get("spec"))
    counts: JsonObject = {"parallelism": 1}
    if "parallelism" not in spec:
        counts["completions"] = 1
    template = _without_old_annotations(as_object(spec.get("template")))
    filled: JsonObject = {
        **counts,
        "backoffLimit": _MAX_INT32 if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        "manualSelector": False,
        **spec,
        "template": {**template, "spec": default_template(as_object(template.get("spec")), gated=gated)},
    }
    if isinstance(policy := filled.get("podFailurePolicy"), dict) and "rules" in policy:
        rules: list[Json] = []
        for rule in objects(policy["rules"]):
            conditions = objects(rule.get("onPodConditions"))
            found: list[Json] = [{**each, "status": each.get("status") or "True"} for each in conditions]
            rules.append({**rule, "onPodConditions": found} if "onPodConditions" in rule else rule)
        filled["podFailurePolicy"] = {**policy, "rules": rules}
    return {**job, "spec": filled}


def default_template(spec: JsonObject, *, gated: bool = False) -> JsonObject:
    """Return the spec of a pod template with its defaults, and with ``gated``, as if all feature gates were on."""
    filled = {**_SPEC, **(spec if gated else _without_gated_fields(spec))}
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        filled |= {"serviceAccountName": account, "serviceAccount": account}  # the second is its old name
    for field in _CONTAINERS:
        if field in filled:
            filled[field] = [_container(container) for container in objects(filled[field])]
    if "volumes" in filled:
        filled["volumes"] = [_volume(volume) for volume in objects(filled["volumes"])]
    if overhead := as_object(spec.get("overhead")):
        filled["overhead"] = rounded(overhead)
    return with_rounded_resources(filled)


def with_rounded_resources(owner: JsonObject) -> JsonObject:
    """Return an object with the requests and limits of its resources in thousandths, as a server stores them."""
    if not (resources := as_object(owner.get("resources"))):
        return owner
    lists: JsonObject = {
        kind: rounded(as_object(resources[kind])) for kind in ("requests", "limits") if kind in resources
    }
    return {**owner, "resources": {**resources, **lists}}


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
IMAGE: Final = "image"
"""The source of a volume that Kubernetes 1.34 drops with the volume and its mounts."""


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
        if volume.get(IMAGE) is not None:
            yield ("volumes", index, IMAGE), "ImageVolume"
        for number, source in enumerate(objects(get(volume, "projected", "sources"))):
            root: Path = ("volumes", index, "projected", "sources", number)
            yield from (((*root, kind), gate) for kind, gate in _PROJECTED_GATES if kind in source)


def _without_gated_fields(spec: JsonObject) -> JsonObject:
    dropped = {path for path, _ in gated_fields(spec)}
    if not dropped:
        return spec
    names = {get(spec, *path[:-1], "name") for path in dropped if path[-1] == IMAGE}
    return as_object(_without(spec, dropped.union(_volumes_and_mounts(spec, names))))


def _volumes_and_mounts(spec: JsonObject, names: set[Json]) -> Iterator[Path]:
    """Yield the paths of the volumes with these names, and of their mounts."""
    lists: list[Path] = [("volumes",)]
    for kind in _CONTAINERS:
        lists += ((kind, index, "volumeMounts") for index in range(len(as_list(spec.get(kind)))))
    for path in lists:
        yield from ((*path, i) for i, item in enumerate(objects(get(spec, *path))) if item.get("name") in names)


def _without(value: Json, dropped: set[Path], path: Path = ()) -> Json:
    """Return a value without what is at the paths ``dropped``, and without fields that are empty then."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if (*path, key) not in dropped}
        rest = {key: _without(item, dropped, (*path, key)) for key, item in kept.items()}
        return {key: item for key, item in rest.items() if item or not kept[key]}
    if isinstance(value, list):
        return [_without(item, dropped, (*path, i)) for i, item in enumerate(value) if (*path, i) not in dropped]
    return value


def default_pod(spec: JsonObject) -> JsonObject:
    """Return the spec of a pod from a template with defaults, with the defaults that only pods get."""
    filled: JsonObject = {"enableServiceLinks": True, "serviceAccountName": "default", **spec}
    filled.setdefault("serviceAccount", filled["serviceAccountName"])
    if filled.get("hostNetwork") is True:
        for field in (field for field in _CONTAINERS if field in filled):
            filled[field] = [_with_host_ports(container) for container in objects(filled[field])]
    existing = objects(filled.get("tolerations"))
    missing = (taint for taint in _TAINTS if not any(_tolerates(each, taint) for each in existing))
    rule: JsonObject = {"operator": "Exists", "effect": _NO_EXECUTE, "tolerationSeconds": 300}
    filled["tolerations"] = [*existing, *({"key": taint, **rule} for taint in missing)]
    return with_requests(filled)


def with_requests(spec: JsonObject) -> JsonObject:
    """Return the spec of a pod with the requests that only pods get: those of its containers, and its own.

    Source: SetDefaults_Pod in pkg/apis/core/v1/defaults.go. Raises QuantityError.
    """
    lists = {field: spec[field] for field in _CONTAINERS if field in spec}
    return _with_own_resources({**spec, **{field: [*map(_requesting, objects(lists[field]))] for field in lists}})


def _requesting(container: JsonObject) -> JsonObject:
    """Return a container whose requests default to its limits."""
    resources = as_object(container.get("resources"))
    if not (limits := as_object(resources.get("limits"))):
        return container
    return {**container, "resources": {**resources, "requests": {**limits, **as_object(resources.get("requests"))}}}


def _with_own_resources(spec: JsonObject) -> JsonObject:
    """Return the spec of a pod whose own resources, if there are any, are complete.

    Limits of huge pages, and with limits also requests, are those of the containers. Other requests are the limits.
    """
    own = as_object(spec.get("resources"))
    limits, requests = as_object(own.get("limits")), as_object(own.get("requests"))
    if not limits and not requests:
        return spec
    pages = _texts(of_containers(spec, "limits"), lambda name: name.startswith(_HUGE_PAGES) and name not in requests)
    if limits := {**pages, **limits}:
        used = _texts(of_containers(spec, "requests"), _POD_LEVEL.__contains__)
        requests = {**{name: limit for name, limit in limits.items() if _is_pod_level(name)}, **used, **requests}
    lists = (("limits", limits), ("requests", requests))
    return {**spec, "resources": {**own, **{key: amounts for key, amounts in lists if amounts}}}


def _is_pod_level(name: str) -> bool:
    """Return whether a pod, and not only its containers, may request a resource."""
    return name in _POD_LEVEL or name.startswith(_HUGE_PAGES)


def _texts(amounts: ResourceList, is_wanted: Callable[[str], bool]) -> JsonObject:
    return {name: amount.canonical() for name, amount in amounts.items() if is_wanted(name)}


APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
"""The prefix of the annotation that was a container's AppArmor profile, before it became a field."""
APP_ARMOR_LOCAL: Final = "localhost/"
_LONGEST_PROFILE: Final = 4095
_OLD_ANNOTATIONS: Final = frozenset(
    f"pod.{stage}.kubernetes.io/{name}"
    for stage in ("alpha", "beta")
    for name in ("init-containers", "init-container-statuses")
)


def prepared_pod(pod: JsonObject) -> JsonObject:
    """Return a pod with what the registry changes before policies see it.

    These are the AppArmor profiles that annotations name, the values of the labels whose keys a selector names, and a
    grace period of one second for a negative one.
    """
    pod = _without_old_annotations(pod)
    spec = as_object(pod.get("spec"))
    labels, annotations = (as_object(get(pod, "metadata", field)) for field in ("labels", "annotations"))
    if get(spec, "os", "name") != "windows":
        default = get(spec, "securityContext", "appArmorProfile")
        for field in _CONTAINERS:
            if field in spec:
                named: list[Json] = [
                    _with_profile(container, annotations, default) for container in objects(spec[field])
                ]
                spec = {**spec, field: named}
    if isinstance(seconds := spec.get("terminationGracePeriodSeconds"), int) and seconds < 0:
        spec = {**spec, "terminationGracePeriodSeconds": 1}
    for path in _SELECTING:
        spec = _with_label_keys(spec, path, labels)
    return {**pod, "spec": spec}


def _without_old_annotations(data: JsonObject) -> JsonObject:
    """Return a pod, or its template, without the annotations that were its init containers."""
    metadata = as_object(data.get("metadata"))
    annotations = as_object(metadata.get("annotations"))
    if _OLD_ANNOTATIONS.isdisjoint(annotations):
        return data
    kept: JsonObject = {key: value for key, value in annotations.items() if key not in _OLD_ANNOTATIONS}
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**data, "metadata": {**rest, "annotations": kept} if kept else rest}


def _with_profile(container: JsonObject, annotations: JsonObject, default: Json) -> JsonObject:
    """Return a container with the AppArmor profile of its annotation, if it has none and differs from the pod's."""
    profile = _profile(str(annotations.get(f"{APP_ARMOR}{container.get('name')}") or ""))
    context = as_object(container.get("securityContext"))
    if profile is None or profile == default or context.get("appArmorProfile") is not None:
        return container
    return {**container, "securityContext": {**context, "appArmorProfile": profile}}


def _profile(annotation: str) -> JsonObject | None:
    """Return the AppArmor profile that an annotation names; None if it names none that is valid."""
    if annotation in ("unconfined", "runtime/default"):
        return {"type": "Unconfined" if annotation == "unconfined" else "RuntimeDefault"}
    name = annotation.removeprefix(APP_ARMOR_LOCAL)
    valid = name != annotation and name and trim_space(name) == name and len(name.encode()) <= _LONGEST_PROFILE
    return {"type": "Localhost", "localhostProfile": name} if valid else None


_SELECTING: Final[tuple[Path, ...]] = (
    ("topologySpreadConstraints",),
    *(
        ("affinity", kind, f"{how}DuringSchedulingIgnoredDuringExecution")
        for kind in ("podAffinity", "podAntiAffinity")
        for how in ("required", "preferred")
    ),
)
"""The lists of terms that select pods by their labels."""


def _with_label_keys(spec: JsonObject, path: Path, labels: JsonObject) -> JsonObject:
    """Return the spec of a pod with its labels in the selectors of a list, for the keys that its terms name."""
    terms = objects(get(spec, *path))
    found: list[Json] = []
    for term in terms:
        inner = term.get("podAffinityTerm")
        merged = _with_requirements(as_object(inner) if inner is not None else term, labels)
        found.append(merged if inner is None else {**term, "podAffinityTerm": merged})
    return spec if found == terms else put(spec, path, found)


def _with_requirements(term: JsonObject, labels: JsonObject) -> JsonObject:
    added: list[Json] = [
        {"key": key, "operator": operator, "values": [labels[str(key)]]}
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in as_list(term.get(field))
        if key in labels
    ]
    selector = term.get("labelSelector")
    if not added or not isinstance(selector, dict):
        return term
    return {
        **term,
        "labelSelector": {**selector, "matchExpressions": [*as_list(selector.get("matchExpressions")), *added]},
    }


def _container(container: JsonObject) -> JsonObject:
    filled: JsonObject = {
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": _pull_policy(container.get("image", "")),
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
        filled["lifecycle"] = {
            name: _within(hook, "httpGet", _HTTP) if isinstance(hook, dict) else hook for name, hook in hooks.items()
        }
    return with_rounded_resources(filled)


def _variable(variable: JsonObject) -> JsonObject:
    source = variable.get("valueFrom")
    if not isinstance(source, dict):
        return variable
    return {**variable, "valueFrom": _within(source, "fieldRef", _FIELD_REFERENCE)}


def _pull_policy(image: Json) -> str:
    """Return the default for an image: Always if it has the tag latest, or neither a tag nor a digest."""
    name, _, digest = str(image).partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    return "Always" if (tag == "latest" if colon else not digest) else "IfNotPresent"


def _volume(volume: JsonObject) -> JsonObject:
    filled: JsonObject = volume if len(volume) > 1 else {**volume, "emptyDir": {}}
    for field, values in _VOLUMES.items():
        filled = _within(filled, field, values)
    filled = _downward_items(filled)
    if isinstance(image := filled.get(IMAGE), dict):
        filled = {**filled, IMAGE: {"pullPolicy": _pull_policy(image.get("reference", "")), **image}}
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
    claim = {**claim, "spec": with_rounded_resources(as_object(claim.get("spec")))}
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


def _with_host_ports(container: JsonObject) -> JsonObject:
    """Return a container in the host's network, whose host ports default to its ports."""
    if "ports" not in container:
        return container
    ports = objects(container["ports"])
    return {**container, "ports": [{"hostPort": port.get("containerPort"), **port} for port in ports]}


def _tolerates(toleration: JsonObject, taint: str) -> bool:
    return toleration.get("key", taint) == taint and toleration.get("effect", _NO_EXECUTE) == _NO_EXECUTE


def pod_requests(pod_spec: Json) -> ResourceList:
    """Return the requests of a PodSpec by resource, names sorted; limits do not count.

    Pod-level requests for cpu, memory and huge pages replace those of the containers; the overhead is added last.

    Raises QuantityError for an invalid request.
    """
    total = of_containers(pod_spec, "requests")
    for name, quantity in _resources(get(pod_spec, "resources", "requests")).items():
        if _is_pod_level(name):
            total[name] = quantity
    _add(total, _resources(get(pod_spec, "overhead")))
    return {name: total[name] for name in sorted(total)}


def of_containers(pod_spec: Json, kind: str) -> ResourceList:
    """Return the requests or the limits of the containers of a PodSpec by resource.

    Those of containers and sidecars (init containers that restart always) are added up. An init container runs at the
    same time as the sidecars that started before it, and the largest such sum counts. Raises QuantityError.
    """
    total: ResourceList = {}
    for container in as_list(get(pod_spec, "containers")):
        _add(total, _resources(get(container, "resources", kind)))
    sidecars: ResourceList = {}
    peak: ResourceList = {}
    for container in as_list(get(pod_spec, "initContainers")):
        amounts = _resources(get(container, "resources", kind))
        if get(container, "restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = {name: sidecars[name] for name in amounts}
        else:
            _add(amounts, {name: sidecars[name] for name in amounts if name in sidecars})
        _raise(peak, amounts)  # other resources are as after an earlier container
    _raise(total, peak)
    return total


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
