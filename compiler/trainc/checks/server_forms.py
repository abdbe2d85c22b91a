"""Objects as the API server hands them to admission policies: with its defaults, or those of a webhook.

Built-in kinds that are not listed here, such as a CronJob, stay as they are written.

Sources: k8s.io/kubernetes v1.34 pkg/apis/core/v1, batch/v1, rbac/v1 and scheduling/v1 (defaults.go and conversion.go),
pkg/registry (PrepareForCreate), the admission plugins DefaultStorageClass, StorageObjectInUseProtection,
DefaultTolerationSeconds and ServiceAccount. tests/oracle/serverforms.py asks that code.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from trainc.admission.jobset import default
from trainc.admission.native import CLAIM_DEFAULTS, without_dropped_sources
from trainc.admission.update import OLD_CLASS, PATCHES
from trainc.basics.jsonvalues import JsonObject, Path, as_list, as_object, get, objects, put
from trainc.checks.created_pods import CONTROLLER_UID, CONTROLLERS, controller_labels, only_in_clusters
from trainc.documents.classify import CLAIM_SPEC
from trainc.kube.generated import JOB_UID
from trainc.kube.gotypes import POD_SPEC, GoDecodeError, decode
from trainc.kube.pods import default_job, default_pod, default_template, prepared_pod, with_rounded_resources
from trainc.kube.quantity import QuantityError
from trainc.schema import admit, resource
from trainc.upstream import JOBSET_API, RBAC_GROUP, TRAINER_API


class ServerForm(NamedTuple):
    """An object, and the paths of what in it only a cluster knows, even if they have a value."""

    data: JsonObject
    unknown: tuple[Path, ...] = ()


def server_form(data: JsonObject, *, created: bool = True) -> ServerForm:
    """Return an object as policies see it when it is ``created``, or else updated.

    An object of another kind, or one that Go cannot decode, or whose amounts it cannot add up, is unchanged.
    """
    form = _FORMS.get((str(data["apiVersion"]), str(data["kind"])))
    try:
        return form(data, created) if form is not None else ServerForm(data)
    except (GoDecodeError, QuantityError):
        return ServerForm(data)


def _without_empty(data: JsonObject, *names: str) -> JsonObject:
    """Return data without those of the fields that are empty, which Go omits."""
    return {key: value for key, value in data.items() if value or key not in names}


def _config_map(data: JsonObject, created: bool) -> ServerForm:
    return ServerForm(_without_empty(data, "data", "binaryData"))


def _secret(data: JsonObject, created: bool) -> ServerForm:
    """The values of stringData become values of data."""
    values = {key: str(value).replace("\r", "").replace("\n", "") for key, value in as_object(data.get("data")).items()}
    for key, value in as_object(data.get("stringData")).items():
        values[key] = base64.b64encode(str(value).encode("utf-8", "surrogatepass")).decode()
    rest = {key: value for key, value in data.items() if key != "stringData"}
    return ServerForm(_without_empty({**rest, "data": {**values}, "type": data.get("type") or "Opaque"}, "data"))


def _service_account(data: JsonObject, created: bool) -> ServerForm:
    lists = ("secrets", "imagePullSecrets")
    references: JsonObject = {
        name: [*(_without_empty(each, *each) for each in objects(data.get(name)))] for name in lists
    }
    return ServerForm(_without_empty({**data, **references}, *lists))


_SOURCE, _REFERENCE = "dataSource", "dataSourceRef"
_PROTECTION: Final = "kubernetes.io/pvc-protection"


def _claim(data: JsonObject, created: bool) -> ServerForm:
    given = with_rounded_resources(without_dropped_sources(as_object(decode(data.get("spec"), CLAIM_SPEC))))
    spec = {**CLAIM_DEFAULTS, **given}
    source, reference = spec.get(_SOURCE), spec.get(_REFERENCE)
    if source is not None and reference is None:
        spec[_REFERENCE] = source
    elif source is None and isinstance(reference, dict):
        spec[_SOURCE] = {key: value for key, value in reference.items() if key != "namespace"}
    finalizers = as_list(get(data, "metadata", "finalizers"))
    if _PROTECTION not in finalizers:
        finalizers = [*finalizers, _PROTECTION]
    data = put({**data, "spec": spec}, ("metadata", "finalizers"), finalizers)
    # The default class of the cluster, unless the old annotation names one; the volume that is bound later.
    default_class = ("storageClassName",) if get(data, *OLD_CLASS) is None else ()
    set_later = default_class if created else (*default_class, "volumeName")
    unknown = tuple(("spec", name) for name in set_later if name not in spec)
    return ServerForm({**data, "status": {}} if created else data, unknown)


_ALLOCATED: Final = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")
"""What a Service gets from the API server if it is absent."""

_OMITTED: Final = (
    *("selector", "publishNotReadyAddresses", "ports", "externalIPs", "externalName", "externalTrafficPolicy"),
    *("loadBalancerIP", "loadBalancerSourceRanges", "clusterIP", "clusterIPs", "ipFamilies", "healthCheckNodePort"),
)
"""Fields of a Service that Go omits if they are empty."""

_AFFINITY: Final = "sessionAffinityConfig"
_TIMEOUT: Final[JsonObject] = {"clientIP": {"timeoutSeconds": 10800}}


def _service(data: JsonObject, created: bool) -> ServerForm:
    given = _without_empty(as_object(data.get("spec")), *_OMITTED)
    kind, affinity = given.get("type") or "ClusterIP", given.get("sessionAffinity") or "None"
    spec: JsonObject = {**given, "type": kind, "sessionAffinity": affinity}
    if affinity == "None":
        spec.pop(_AFFINITY, None)
    elif affinity == "ClientIP" and get(spec, _AFFINITY, "clientIP", "timeoutSeconds") is None:
        spec[_AFFINITY] = {**_TIMEOUT}
    balances, exposes = kind == "LoadBalancer", kind in ("NodePort", "LoadBalancer")
    if balances:
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if exposes or (kind == "ClusterIP" and "externalIPs" in spec):
        spec["externalTrafficPolicy"] = spec.get("externalTrafficPolicy") or "Cluster"
    if exposes or kind == "ClusterIP":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    ports = [
        {**port, "protocol": port.get("protocol") or "TCP", "targetPort": port.get("targetPort") or port.get("port")}
        for port in (_without_empty(port, "name", "nodePort") for port in objects(spec.get("ports")))
    ]
    spec |= {"ports": [*ports]} if ports else {}
    allocated: list[Path] = [("spec", name) for name in _ALLOCATED if name not in spec]
    allocated += [
        ("spec", "ports", i, "nodePort") for i, port in enumerate(ports) if exposes and "nodePort" not in port
    ]
    data = {**data, "spec": spec}
    return ServerForm({**data, "status": {"loadBalancer": {}}} if created else data, tuple(allocated))


_UID: Final[Path] = ("metadata", "uid")
_LABELS: Final[Path] = ("metadata", "labels")


def _job(data: JsonObject, created: bool) -> ServerForm:
    job = default_job({**data, "spec": as_object(decode(data.get("spec"), "v1.JobSpec"))})
    template: Path = ("spec", "template", "metadata", "labels")
    places: tuple[Path, ...] = (template,)
    labels = as_object(get(job, *template))
    if labels and not get(job, *_LABELS):
        # In Go, the labels of the Job and of its pods are then the same map, to which the server adds below.
        job, places = put(job, _LABELS, labels), (template, _LABELS)
    job = {**job, "status": {}} if created else job
    if get(job, "spec", "manualSelector") is True:
        return ServerForm(job)
    known = None if created else get(job, *_UID)  # the server sets the uid of a new object
    uid = str(known or JOB_UID)
    own = controller_labels(str(get(job, "metadata", "name")), uid)
    for place in places:
        job = put(job, place, {**labels, **own})
    selector: Path = ("spec", "selector", "matchLabels")
    job = put(job, ("spec", "selector"), {"matchLabels": {CONTROLLER_UID: uid}})
    job = put(job, _UID, uid)
    unknown = (_UID, (*selector, CONTROLLER_UID), *((*place, key) for place in places for key in CONTROLLERS))
    return ServerForm(job, () if known else unknown)


def _pod(data: JsonObject, created: bool) -> ServerForm:
    spec = default_pod(default_template(as_object(decode(data.get("spec"), POD_SPEC))))
    pod = {**data, "spec": spec}
    pod = prepared_pod(pod) if created else pod
    return ServerForm(pod, only_in_clusters(pod))


def _role(data: JsonObject, created: bool) -> ServerForm:
    lists = ("apiGroups", "resources", "resourceNames", "nonResourceURLs")
    rules = [_without_empty(rule, *lists) for rule in objects(data.get("rules"))]
    return ServerForm({**data, "rules": [*rules] if "rules" in data else None})


def _role_binding(data: JsonObject, created: bool) -> ServerForm:
    role = as_object(data.get("roleRef"))
    subjects = [_subject(subject) for subject in objects(data.get("subjects"))]
    filled: JsonObject = {**data, "roleRef": {**role, "apiGroup": role.get("apiGroup") or RBAC_GROUP}}
    return ServerForm(_without_empty({**filled, "subjects": [*subjects]}, "subjects"))


def _subject(subject: JsonObject) -> JsonObject:
    group = RBAC_GROUP if subject.get("kind") in ("User", "Group") else ""
    return _without_empty({**subject, "apiGroup": subject.get("apiGroup") or group}, "apiGroup", "namespace")


_FINALIZER: Final = "kubernetes"


def _namespace(data: JsonObject, created: bool) -> ServerForm:
    name = str(get(data, "metadata", "name"))
    data = put(data, ("metadata", "labels", "kubernetes.io/metadata.name"), name)
    finalizers = as_list(get(data, "spec", "finalizers"))
    if _FINALIZER not in finalizers:
        data = put(data, ("spec", "finalizers"), [*finalizers, _FINALIZER])
    return ServerForm({**data, "status": {"phase": "Active"}} if created else data)


def _priority_class(data: JsonObject, created: bool) -> ServerForm:
    filled: JsonObject = {"value": 0, "preemptionPolicy": "PreemptLowerPriority", **data}
    return ServerForm(_without_empty(filled, "globalDefault", "description"))


def _trainjob(data: JsonObject, created: bool) -> ServerForm:
    """Trainer's webhook sets the times of runtime patches; on an update, unchanged ones keep their times."""
    patches = objects(get(data, *PATCHES)) if created else []
    timed = (index for index, patch in enumerate(patches) if "time" not in patch)
    return ServerForm(data, tuple((*PATCHES, index, "time") for index in timed))


def _jobset(data: JsonObject, created: bool) -> ServerForm:
    changed = default(data)
    return ServerForm(data if changed is data else admit(resource("JobSet"), changed).data)


_RBAC: Final = f"{RBAC_GROUP}/v1"
_FORMS: Final[Mapping[tuple[str, str], Callable[[JsonObject, bool], ServerForm]]] = {
    ("v1", "ConfigMap"): _config_map,
    ("v1", "Secret"): _secret,
    ("v1", "ServiceAccount"): _service_account,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("v1", "Pod"): _pod,
    ("v1", "Service"): _service,
    ("v1", "Namespace"): _namespace,
    ("batch/v1", "Job"): _job,
    (_RBAC, "Role"): _role,
    (_RBAC, "ClusterRole"): _role,
    (_RBAC, "RoleBinding"): _role_binding,
    (_RBAC, "ClusterRoleBinding"): _role_binding,
    ("scheduling.k8s.io/v1", "PriorityClass"): _priority_class,
    (JOBSET_API, "JobSet"): _jobset,
    (TRAINER_API, "TrainJob"): _trainjob,
}
