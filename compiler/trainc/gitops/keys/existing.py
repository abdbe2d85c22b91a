"""Pods that mount keys which are in the cluster already."""

from __future__ import annotations

from trainc.gitops.base import jobset_of, with_jobset
from trainc.model import Objects
from trainc.source import Json, JsonObject, as_object, get, objects


def renamed(made: Objects, secret: str, name: str) -> Objects:
    """Return the objects with the volumes of one Secret as volumes of another."""
    jobset = jobset_of(made)
    if jobset is None or secret == name:
        return made
    jobs: list[Json] = [_job(job, secret, name) for job in objects(get(jobset.data, "spec", "replicatedJobs"))]
    spec: JsonObject = {**as_object(jobset.data["spec"]), "replicatedJobs": jobs}
    return with_jobset(made, {**jobset.data, "spec": spec})


def _job(job: JsonObject, secret: str, name: str) -> JsonObject:
    """Return a replicated job with another Secret; the very one where it mounts none."""
    template = as_object(job.get("template"))
    spec = as_object(template.get("spec"))
    pod = as_object(spec.get("template"))
    pod_spec = as_object(pod.get("spec"))
    old = objects(pod_spec.get("volumes"))
    volumes: list[Json] = [_volume(volume, secret, name) for volume in old]
    if volumes == old:
        return job
    pod = {**pod, "spec": {**pod_spec, "volumes": volumes}}
    return {**job, "template": {**template, "spec": {**spec, "template": pod}}}


def _volume(volume: JsonObject, secret: str, name: str) -> JsonObject:
    source = volume.get("secret")
    if not isinstance(source, dict) or source.get("secretName") != secret:
        return volume
    return {**volume, "secret": {**source, "secretName": name}}
