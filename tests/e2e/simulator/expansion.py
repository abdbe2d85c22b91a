"""What a JobSet becomes: Jobs, a headless Service, claims of volumes.

Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go (constructJob, labelAndAnnotateObject,
createHeadlessSvcIfNecessary) and volume_claim_policy.go.
"""

from __future__ import annotations

import copy
import hashlib
from typing import Any, Final

from .objects import Object

PREFIX: Final = "jobset.sigs.k8s.io/"
JOBSET_NAME: Final = f"{PREFIX}jobset-name"
REPLICATED_JOB: Final = f"{PREFIX}replicatedjob-name"
RESTARTS: Final = f"{PREFIX}restart-attempt"

_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_BY_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"


def jobs(jobset: Object, replicated: Object) -> list[Object]:
    """Return the Jobs of a replicated job, for the JobSet's restart of now."""
    return [_job(jobset, replicated, index) for index in range(replicas(replicated))]


def replicas(replicated: Object) -> int:
    """Return how many Jobs a replicated job has."""
    return int(replicated.get("replicas", 1))


def subdomain(jobset: Object) -> str:
    """Return the name of the headless Service, by which pods of the JobSet have names in DNS."""
    network = jobset["spec"].get("network") or {}
    return str(network.get("subdomain") or jobset["metadata"]["name"])


def service(jobset: Object) -> Object | None:
    """Return the headless Service, or None where the JobSet has no host names.

    The mutating webhook's default of enableDNSHostnames is true, the controller's of publishNotReadyAddresses too.
    """
    network = jobset["spec"].get("network") or {}
    if network.get("enableDNSHostnames", True) is not True:
        return None
    metadata = jobset["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": subdomain(jobset), "namespace": metadata["namespace"], **_owned(jobset)},
        "spec": {
            "clusterIP": "None",
            "selector": {JOBSET_NAME: metadata["name"]},
            "publishNotReadyAddresses": network.get("publishNotReadyAddresses", True) is not False,
        },
    }


def claims(jobset: Object) -> list[Object]:
    """Return the claims of volumes that a JobSet makes."""
    metadata, found = jobset["metadata"], []
    for template in _claim_templates(jobset):
        given = template["metadata"]
        made: Object = {"name": _claim(jobset, template), "namespace": metadata["namespace"]}
        made["labels"] = {**(given.get("labels") or {}), JOBSET_NAME: metadata["name"]}
        made["annotations"] = dict(given.get("annotations") or {})
        found.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": made, "spec": template["spec"]})
    return found


def _job(jobset: Object, replicated: Object, index: int) -> Object:
    metadata = jobset["metadata"]
    name = f"{metadata['name']}-{replicated['name']}-{index}"
    template = copy.deepcopy(replicated["template"])
    spec = template["spec"]
    labels, annotations = _marks(jobset, replicated, index)
    made: Object = {"name": name, "namespace": metadata["namespace"], **_owned(jobset)}
    made |= _marked(template.get("metadata") or {}, labels, annotations)
    pod = spec["template"]
    pod["metadata"] = {
        **(pod.get("metadata") or {}),
        **_marked(pod.get("metadata") or {}, labels, annotations),
    }
    if service(jobset) is not None:
        pod["spec"]["subdomain"] = subdomain(jobset)
    if _EXCLUSIVE in made["annotations"] and _BY_SELECTOR in made["annotations"]:
        _place(pod["spec"], f"{metadata['namespace']}_{name}")
    spec["suspend"] = jobset["spec"].get("suspend") is True
    _add_volumes(jobset, pod["spec"])
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": made, "spec": spec}


def _owned(jobset: Object) -> Object:
    metadata = jobset["metadata"]
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": metadata["name"]}
    return {"ownerReferences": [{**owner, "uid": metadata["uid"], "controller": True, "blockOwnerDeletion": True}]}


def _marked(given: Object, labels: Object, annotations: Object) -> Object:
    return {
        "labels": {**(given.get("labels") or {}), **labels},
        "annotations": {**(given.get("annotations") or {}), **annotations},
    }


def _marks(jobset: Object, replicated: Object, index: int) -> tuple[Object, Object]:
    """Return labels and annotations of the Job of this index and of its pods."""
    metadata, spec, name = jobset["metadata"], jobset["spec"], replicated["name"]
    every = spec["replicatedJobs"]
    group = [each for each in every if _group(each) == _group(replicated)]
    job = f"{metadata['namespace']}/{metadata['name']}-{name}-{index}"
    values = {
        "jobset-name": metadata["name"],
        "jobset-uid": metadata["uid"],
        "replicatedjob-name": name,
        "restart-attempt": (jobset.get("status") or {}).get("restarts", 0),
        "replicatedjob-replicas": replicas(replicated),
        "global-replicas": sum(map(replicas, every)),
        "job-index": index,
        "job-key": hashlib.sha1(job.encode(), usedforsecurity=False).hexdigest(),
        "job-global-index": _before(every, name) + index,
        "group-name": _group(replicated),
        "group-replicas": sum(map(replicas, group)),
        "job-group-index": _before(group, name) + index,
    }
    if coordinator := spec.get("coordinator"):
        place = "-".join(str(coordinator.get(field, 0)) for field in ("replicatedJob", "jobIndex", "podIndex"))
        values["coordinator"] = f"{metadata['name']}-{place}.{subdomain(jobset)}"
    labels = {f"{PREFIX}{key}": str(value) for key, value in values.items()}
    return labels, {**labels, **_exclusive(metadata), **_exclusive(replicated["template"].get("metadata") or {})}


def _group(replicated: Object) -> str:
    return str(replicated.get("groupName") or "default")


def _before(every: list[Object], name: str) -> int:
    """Return the number of Jobs of the replicated jobs before the one of this name."""
    total = 0
    for each in every:
        if each["name"] == name:
            break
        total += replicas(each)
    return total


def _exclusive(metadata: Object) -> Object:
    given = metadata.get("annotations") or {}
    return {key: given[key] for key in (_EXCLUSIVE, _BY_SELECTOR) if key in given and _EXCLUSIVE in given}


def _place(spec: Object, job: str) -> None:
    spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), "alpha.jobset.sigs.k8s.io/namespaced-job": job}
    taint = {"key": "alpha.jobset.sigs.k8s.io/no-schedule", "operator": "Exists", "effect": "NoSchedule"}
    spec["tolerations"] = [*(spec.get("tolerations") or []), taint]


def _claim_templates(jobset: Object) -> list[Any]:
    policies = jobset["spec"].get("volumeClaimPolicies") or []
    return [template for policy in policies for template in policy["templates"]]


def _claim(jobset: Object, template: Object) -> str:
    return f"{template['metadata']['name']}-{jobset['metadata']['name']}"


def _add_volumes(jobset: Object, spec: Object) -> None:
    containers = [*spec["containers"], *(spec.get("initContainers") or [])]
    mounted = {mount["name"] for container in containers for mount in container.get("volumeMounts") or []}
    for template in _claim_templates(jobset):
        name = template["metadata"]["name"]
        if name in mounted:
            source = {"persistentVolumeClaim": {"claimName": _claim(jobset, template)}}
            spec["volumes"] = [*(spec.get("volumes") or []), {"name": name, **source}]
