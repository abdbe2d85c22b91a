"""Reads and changes the pod templates of emitted objects, and summarizes the objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import is_
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from trainc.admission.base_revision import Identity, identify
from trainc.admission.update import POD_TEMPLATE
from trainc.basics.jsonvalues import Json, JsonObject, Path, as_list, as_object, get, objects, put
from trainc.basics.regex import lazy
from trainc.kube.generated import LONGEST_PREFIX
from trainc.plugins.base import POD_SPEC
from trainc.plugins.model import Object, Objects
from trainc.upstream import EXCLUSIVE

CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_IMAGES: Final[tuple[tuple[str, Path], ...]] = (
    *((kind, ("image",)) for kind in CONTAINERS),
    ("volumes", ("image", "reference")),
)
"""Lists of a pod's spec whose items have an image, and its path in an item."""

_NAMING: Final = {
    **dict.fromkeys(("configMap", "configMapRef", "configMapKeyRef"), "ConfigMap"),
    **dict.fromkeys(("secret", "secretRef", "secretKeyRef"), "Secret"),
    "persistentVolumeClaim": "PersistentVolumeClaim",
}
"""The fields of volumes and variables that name an object, and its kind."""

_LEADER: Final = lazy("-[0-9]+-0$")
"""What the name of a Job's first pod ends with: the index of the Job, and that of the pod."""
_JOBS: Final = ("spec", "replicatedJobs")
_JOB: Final = ("spec", "template", "spec")


def replicated_jobs(jobset: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    """Yield path and value of each replicated job of a JobSet; of other objects none."""
    for index, job in enumerate(as_list(get(jobset, *_JOBS))):
        if isinstance(job, dict):
            yield (*_JOBS, index), job


def pod_specs(data: JsonObject) -> Iterator[tuple[Path, JsonObject]]:
    """Yield path and value of each pod spec in an object: one per replicated job in a JobSet, one in a Job."""
    if data["kind"] == "JobSet":
        yield from ((path, pod) for _, path, pod in replicated_pods(data))
    elif data["kind"] == "Job":
        yield _JOB, as_object(get(data, *_JOB))


def replicated_pods(jobset: JsonObject) -> Iterator[tuple[str, Path, JsonObject]]:
    """Yield the name of each replicated job of a JobSet, with path and value of its pod spec."""
    for path, job in replicated_jobs(jobset):
        yield str(job.get("name")), (*path, *POD_SPEC), as_object(get(job, *POD_SPEC))


def named_by_pods(jobset: JsonObject) -> frozenset[tuple[str, str]]:
    """Return kind and name of the ConfigMaps, Secrets, claims and service accounts that pods of a JobSet use."""
    found: list[tuple[str, Json]] = []
    for _, pod in pod_specs(jobset):
        found.append(("ServiceAccount", pod.get("serviceAccountName") or pod.get("serviceAccount")))
        found += [("Secret", secret.get("name")) for secret in objects(pod.get("imagePullSecrets"))]
        sources = list(objects(pod.get("volumes")))
        sources += [source for volume in sources for source in objects(get(volume, "projected", "sources"))]
        for container in (container for kind in CONTAINERS for container in objects(pod.get(kind))):
            sources += objects(container.get("envFrom"))
            sources += [as_object(variable.get("valueFrom")) for variable in objects(container.get("env"))]
        for source in sources:
            for field in source.keys() & _NAMING.keys():
                reference = as_object(source[field])
                name = reference.get("name") or reference.get("secretName") or reference.get("claimName")
                found.append((_NAMING[field], name))
    return frozenset((kind, name) for kind, name in found if isinstance(name, str))


def claim_templates(jobset: JsonObject) -> Iterator[tuple[Path, JsonObject, JsonObject]]:
    """Yield the path of each template of a claim in a JobSet, its policy, and the template."""
    for number, policy in enumerate(objects(get(jobset, "spec", "volumeClaimPolicies"))):
        for index, template in enumerate(objects(policy.get("templates"))):
            yield ("spec", "volumeClaimPolicies", number, "templates", index), policy, template


def images(data: JsonObject) -> Iterator[tuple[Path, str]]:
    """Yield the images of an object's pods, of containers and of volumes, with their paths."""
    for path, spec in pod_specs(data):
        for kind, inside in _IMAGES:
            for index, item in enumerate(objects(spec.get(kind))):
                if isinstance(image := get(item, *inside), str) and image:
                    yield (*path, kind, index, *inside), image


def with_pods(objs: Objects, change: Callable[[JsonObject], JsonObject]) -> Objects:
    """Return the objects with every pod spec changed. Unchanged objects keep their identity."""
    found = []
    for obj in objs:
        data = obj.data
        for path, spec in pod_specs(obj.data):
            after = change(spec)
            if after is not spec and after != spec:
                data = put(data, path, after)
        found.append(obj if data is obj.data else replace(obj, data=data))
    return objs if all(map(is_, found, objs)) else tuple(found)


def with_images(spec: JsonObject, change: Callable[[str], str]) -> JsonObject:
    """Return a pod spec with the image of every container and volume changed, unless it is empty or not a string."""
    after = spec
    for key, inside in _IMAGES:
        if isinstance(items := spec.get(key), list):
            changed = [_with_image(item, inside, change) for item in items]
            if not all(map(is_, changed, items)):
                after = {**after, key: changed}
    return after


def _with_image(item: Json, inside: Path, change: Callable[[str], str]) -> Json:
    image = get(item, *inside)
    if not isinstance(item, dict) or not isinstance(image, str) or not image:
        return item
    after = change(image)
    return item if after == image else put(item, inside, after)


class Summary(Struct, frozen=True, omit_defaults=True, gc=False):
    """An object's identity (as in ``base.identify``), its namespace, its name without run number, and its images.

    ``created`` has kind and name of the objects that JobSet's controller creates for a JobSet.
    """

    identity: Identity
    namespace: str
    plain: str
    images: tuple[str, ...] = ()
    created: tuple[tuple[str, str], ...] = ()

    @property
    def kind(self) -> str:
        """The object's kind."""
        return self.identity[1]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.identity[3]

    def of_created(self) -> Iterator[Summary]:
        """Yield a summary for each object that JobSet's controller creates."""
        for kind, name in self.created:
            yield Summary(("batch" if kind == "Job" else "", kind, self.namespace, name), self.namespace, name)


def summarize(obj: Object) -> Summary:
    """Return the summary of an object."""
    namespace = get(obj.data, "metadata", "namespace")
    images_of = tuple(dict.fromkeys(image for _, image in images(obj.data)))
    created = tuple(_created_names(obj.data)) if obj.kind == "JobSet" else ()
    return Summary(identify(obj.data), str(namespace or ""), obj.plain, images_of, created)


def _created_names(jobset: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield the first Job of each replicated job, which meets another JobSet's if any does, the Service and claims.

    With exclusive placement, also the name of the first pod, without the random characters at its end: JobSet's webhook
    for pods finds the leader of a Job by it, and admits no other pod of the Job if several pods have it. A pod that may
    be taken for the leader of any Job of a replicated job has the name of that of the first one.
    """
    spec, name = as_object(jobset["spec"]), get(jobset, "metadata", "name")
    for job in objects(spec.get("replicatedJobs")):
        if (replicas := job.get("replicas", 1)) != 0:
            first = f"{name}-{job.get('name')}-0"
            yield "Job", first
            owners = (jobset, job.get("template"), get(job, *POD_TEMPLATE))
            if any(get(owner, "metadata", "annotations", EXCLUSIVE) is not None for owner in owners):
                if get(job, "template", "spec", "completionMode") == "Indexed":
                    yield "Pod", f"{first}-0"
                    continue
                last = f"{first[:-1]}{replicas - 1 if isinstance(replicas, int) else 0}"  # may lose its longer index
                for each in dict.fromkeys((first, last)):
                    yield "Pod", _LEADER.sub("-0-0", f"{each}-"[:LONGEST_PREFIX].rpartition("-")[0])
    if get(spec, "network", "enableDNSHostnames") is not False:
        yield "Service", str(get(spec, "network", "subdomain") or name)
    for _, _, claim in claim_templates(jobset):
        yield "PersistentVolumeClaim", f"{get(claim, 'metadata', 'name')}-{name}"
