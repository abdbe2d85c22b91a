"""The order of fields: Kubernetes objects as people write them.

A field name has one rank, in all objects, so the table goes from the outside of an object to the inside. Fields that
are not in the table come last, by name. Maps whose keys are data, not fields (labels, limits, a ConfigMap's data), are
ordered by key.
"""

from __future__ import annotations

from functools import lru_cache

from trainc.basics.jsonvalues import Json

_GROUPS: tuple[tuple[str, ...], ...] = (
    ("apiVersion", "apiGroup", "apiGroups", "kind", "metadata"),
    # The names of list items, and metadata.
    ("name", "generateName", "namespace", "labels", "annotations", "ownerReferences", "finalizers"),
    # The body of an object. Rules of a Role, subjects of a binding and data of a ConfigMap have the position of spec.
    ("type", "immutable", "roleRef", "subjects", "aggregationRule", "rules", "secrets", "imagePullSecrets"),
    # TrainJob and TrainingRuntime.
    ("suspend", "managedBy", "runtimeRef", "initializer", "trainer", "mlPolicy", "podGroupPolicy", "runtimePatches"),
    # JobSet, replicated jobs, Jobs. A template follows the fields that determine how often it runs.
    ("network", "coordinator", "successPolicy", "failurePolicy", "startupPolicy", "volumeClaimPolicies"),
    ("groupName", "numNodes", "numProcPerNode", "replicas", "dependsOn"),
    ("parallelism", "completions", "completionMode", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes"),
    ("podFailurePolicy", "podReplacementPolicy", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "manualSelector"),
    ("selector", "accessModes", "storageClassName", "volumeMode", "volumeName", "dataSource", "dataSourceRef"),
    # A pod: its node and user, then its containers, then their volumes.
    ("restartPolicy", "serviceAccountName", "automountServiceAccountToken", "hostname", "subdomain"),
    ("setHostnameAsFQDN", "hostNetwork", "hostPID", "hostIPC", "hostUsers", "shareProcessNamespace"),
    ("enableServiceLinks", "dnsPolicy", "dnsConfig", "hostAliases", "runtimeClassName", "priorityClassName"),
    ("priority", "preemptionPolicy", "schedulerName", "schedulingGates", "nodeName", "nodeSelector", "affinity"),
    ("tolerations", "topologySpreadConstraints", "resourceClaims", "terminationGracePeriodSeconds"),
    ("initContainers", "containers", "ephemeralContainers"),
    # A container: its program, environment, probes and rights.
    ("image", "imagePullPolicy", "command", "args", "workingDir", "envFrom", "env", "ports", "resourcesPerNode"),
    ("resources", "resizePolicy", "volumeMounts", "volumeDevices"),
    ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle"),
    ("terminationMessagePath", "terminationMessagePolicy", "stdin", "stdinOnce", "tty"),
    ("securityContext", "volumes", "replicatedJobs", "volumeClaimTemplates"),
    # Their parts: env, ports, mounts, tolerations, selectors, resources, references, probes.
    ("prefix", "key", "operator", "value", "values", "valueFrom", "effect", "tolerationSeconds"),
    ("containerPort", "port", "targetPort", "nodePort", "hostPort", "protocol"),
    ("mountPath", "subPath", "subPathExpr", "readOnly"),
    ("resource", "resourceNames", "nonResourceURLs", "verbs"),
    ("limits", "requests", "claims", "matchLabels", "matchExpressions", "matchFields", "path", "mode", "optional"),
    # Argo CD's objects: sources, destinations, options.
    ("goTemplate", "goTemplateOptions", "generators", "description", "sourceRepos", "project", "source"),
    ("repoURL", "targetRevision", "revision", "directories", "destination", "destinations", "syncPolicy"),
    ("action", "targetReplicatedJobs", "templates", "template", "spec"),
    ("data", "binaryData", "stringData", "items", "status"),
)  # fmt: skip

RANK: dict[str, int] = {name: rank for rank, name in enumerate(name for group in _GROUPS for name in group)}
"""The position of each field name in the order."""

DATA_MAPS = frozenset((
    "annotations", "binaryData", "capacity", "data", "hard", "labels", "limits", "matchLabels", "minResources",
    "nodeSelector", "overhead", "requests", "stringData", "volumeAttributes",
))  # fmt: skip
"""Fields with maps whose keys are data."""


@lru_cache(maxsize=4096)
def field_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Put the field names of one mapping in order."""
    last = len(RANK)
    return tuple(sorted(names, key=lambda name: (RANK.get(name, last), name)))


def ordered(data: Json, parent: str = "") -> Json:
    """Return data with the keys of every mapping in order; ``parent`` is the field with that value."""
    if isinstance(data, dict):
        names = sorted(data) if parent in DATA_MAPS else field_order(tuple(data))
        return {name: ordered(data[name], "" if parent in DATA_MAPS else name) for name in names}
    if isinstance(data, list):
        return [ordered(item) for item in data]
    return data
