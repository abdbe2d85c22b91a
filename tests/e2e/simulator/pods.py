"""The pods of a Job, as the Job controller and the API server make them.

Source: Kubernetes 1.34 pkg/controller/job (job_controller.go manageJob, indexed_job_utils.go) and
plugin/pkg/admission/serviceaccount.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Mapping
from typing import Any, Final

from .errors import ApiError
from .objects import Object

INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAME: Final = "batch.kubernetes.io/job-name"

_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of random ends of names (k8s.io/apimachinery/pkg/util/rand)."""

_LONGEST: Final = 63 - 5
_VARIABLE: Final = {"name": "JOB_COMPLETION_INDEX"}


def indexed(job: Object) -> bool:
    """Say whether pods of a Job have numbers."""
    return bool(job["spec"].get("completionMode", "NonIndexed") == "Indexed")


def index_of(pod: Object) -> int | None:
    """Return the number of a pod of an Indexed Job."""
    number = (pod["metadata"].get("annotations") or {}).get(INDEX)
    return None if number is None else int(number)


def pod(job: Object, index: int | None) -> Object:
    """Return a new pod of a Job: with an index, where the Job is Indexed."""
    metadata = job["metadata"]
    template = copy.deepcopy(job["spec"]["template"])
    given, spec = template.get("metadata") or {}, template["spec"]
    labels: Object = {**(given.get("labels") or {}), "job-name": metadata["name"], JOB_NAME: metadata["name"]}
    labels |= dict.fromkeys(("controller-uid", "batch.kubernetes.io/controller-uid"), metadata["uid"])
    annotations: Object = dict(given.get("annotations") or {})
    prefix = f"{metadata['name']}-"
    if index is not None:
        labels[INDEX] = annotations[INDEX] = str(index)
        spec["hostname"] = f"{metadata['name']}-{index}"
        prefix = f"{prefix}{index}-"
        if len(prefix) > _LONGEST:
            end = f"-{index}-"
            prefix = f"{metadata['name']}"[: _LONGEST - len(end)] + end
        for container in [*spec["containers"], *(spec.get("initContainers") or [])]:
            _number(container)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
    made: Object = {
        "name": prefix[:_LONGEST] + random_end(),
        "generateName": prefix,
        "namespace": metadata["namespace"],
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }
    status = {"phase": "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": spec, "status": status}


def random_end() -> str:
    """Return five letters as the API server puts them after a generateName."""
    return "".join(secrets.choice(_SAFE) for _ in range(5))


def admit(found: Object, accounts: Mapping[str, Object]) -> Object:
    """Return a pod with its service account, as admission leaves it.

    Args:
        found: The pod.
        accounts: The service accounts of its namespace by name.

    Raises:
        ApiError: There is no such account (403 Forbidden).
    """
    metadata = found["metadata"]
    spec: Object = {"serviceAccountName": "default", **found["spec"]}
    name = spec["serviceAccountName"]
    if name not in accounts:
        why = f'error looking up service account {metadata["namespace"]}/{name}: serviceaccount "{name}" not found'
        raise ApiError(403, "Forbidden", f'pods "{metadata["name"]}" is forbidden: {why}')
    return {**found, "spec": spec}


def _number(container: dict[str, Any]) -> None:
    env = container.get("env") or []
    if any(each["name"] == _VARIABLE["name"] for each in env):
        return
    source = {"fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}}
    container["env"] = [*env, {**_VARIABLE, "valueFrom": source}]
