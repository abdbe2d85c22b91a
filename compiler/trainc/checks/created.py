"""The Jobs that the JobSet controller makes of a JobSet, as far as they are not its templates unchanged.

Source: JobSet v0.12.0 pkg/controllers/jobset_controller.go, constructJob.
"""

from __future__ import annotations

from trainc.source import Json, JsonObject, as_list, as_object, get, objects


def created_job(jobset: JsonObject, job: JsonObject) -> JsonObject:
    """Return metadata and spec of the Jobs of a replicated job, without the labels and annotations that JobSet adds.

    Every pod gets the subdomain of the JobSet, and a volume for each claim that the JobSet makes and a container
    mounts.
    """
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod_spec = as_object(pod.get("spec"))
    jobset_spec = as_object(jobset.get("spec"))
    network = as_object(jobset_spec.get("network"))
    if network.get("enableDNSHostnames") is not False:
        pod_spec = {**pod_spec, "subdomain": network.get("subdomain") or get(jobset, "metadata", "name")}
    policies = objects(jobset_spec.get("volumeClaimPolicies"))
    if policies and (volumes := _claimed(jobset, policies, pod_spec)):
        pod_spec = {**pod_spec, "volumes": [*as_list(pod_spec.get("volumes")), *volumes]}
    changed: JsonObject = {**pod, "spec": pod_spec}
    return {"metadata": template.get("metadata") or {}, "spec": {**spec, "template": changed}}


def _claimed(jobset: JsonObject, policies: list[JsonObject], pod_spec: JsonObject) -> list[Json]:
    """Return the volumes of the claims that a container mounts, in order of the claims."""
    containers = [c for kind in ("initContainers", "containers") for c in objects(pod_spec.get(kind))]
    mounted = {mount.get("name") for c in containers for mount in objects(c.get("volumeMounts"))}
    owner = get(jobset, "metadata", "name")
    names = [get(template, "metadata", "name") for policy in policies for template in objects(policy.get("templates"))]
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{owner}"}} for name in names if name in mounted
    ]
