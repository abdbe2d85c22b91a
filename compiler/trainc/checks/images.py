"""Images that are not what they were: a tag that moves makes another program of the same commit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from trainc.checks.reference import fault_of
from trainc.diagnostics import Diagnostic, report
from trainc.model import Model
from trainc.plugins.base import pod_containers
from trainc.source import Document, JsonObject, Path, as_object, get, objects

CODE = "TC412"
IMAGE: Path = ("spec", "trainer", "image")
KINDS = ("initContainers", "containers")


@lru_cache(maxsize=1024)
def is_unpinned(image: str) -> bool:
    """Tell whether an image has neither a digest nor a tag, or the tag latest."""
    if "@" in image:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag == "latest"


def check_images(model: Model, jobset: JsonObject) -> Iterator[Diagnostic]:
    """Yield a warning for each image of the JobSet that is not pinned, where it is written."""
    lock = model.options.lock
    for job in objects(get(jobset, "spec", "replicatedJobs")):
        pod = as_object(get(job, "template", "spec", "template", "spec"))
        for kind in KINDS:
            for container in objects(pod[kind]) if kind in pod else ():
                image = container.get("image")
                if not isinstance(image, str) or not image.strip() or not is_unpinned(image):
                    continue
                if not is_unpinned(lock.pinned(image)) or fault_of(image):
                    continue
                if (place := _written(model, job, kind, container)) is not None:
                    message = f"image {image} has no fixed version"
                    yield report(CODE, *place, message, found=image, expected="a tag other than latest, or a digest")


def _written(model: Model, job: JsonObject, kind: str, container: JsonObject) -> tuple[Document, Path] | None:
    """Return where the image of a container is written; None for one that a plugin brings."""
    image, name = container.get("image"), container.get("name")
    for i, own in enumerate(objects(get(model.runtime.data, "spec", "template", "spec", "replicatedJobs"))):
        for j, template in enumerate(pod_containers(own, kind) if own.get("name") == job.get("name") else ()):
            if template.get("name") == name and template.get("image") == image:
                path: Path = ("spec", "template", "spec", "replicatedJobs", i, "template")
                return model.runtime, (*path, "spec", "template", "spec", kind, j, "image")
    return (model.job, IMAGE) if get(model.job.data, *IMAGE) == image else None
